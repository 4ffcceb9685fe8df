"""A target or an input that does not exist: the message leads to the one that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from ari.errors import ExperimentError
from ari.evaluation.data import choose_inputs
from sr_harness.core import AgentContext
from sr_harness.data import import_table


@pytest.mark.parametrize(
    ("target", "inputs", "said"),
    [
        (
            "wind speed [m/s]",
            None,
            "The column 'wind speed [m/s]' is called wind_speed_m_s here. Variables there: ",
        ),
        ("powr", None, "Did you mean 'power'? Variables there: wind_speed_m_s, power."),
        ("power", ["wind speed [m/s]"], "is called wind_speed_m_s here."),
        ("quite else", None, "to explain\n  Variables there: "),
    ],
)
def test_an_unknown_name_is_answered_with_the_one_meant(
    tmp_path: Path, target: str, inputs: list[str] | None, said: str
) -> None:
    table = tmp_path / "wind.csv"
    table.write_text("wind speed [m/s],power\n1,2\n2,3\n3,5\n")
    import_table(table, tmp_path / "c")
    with pytest.raises(ExperimentError) as caught:
        choose_inputs(AgentContext.from_directory(tmp_path / "c"), target, inputs)
    assert said in str(caught.value)
