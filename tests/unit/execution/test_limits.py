from __future__ import annotations

import pytest

from ari.errors import ConfigError
from ari.execution.limits import Limits


def test_none_is_no_limit():
    limits = Limits(wall_s=None, memory_bytes=None)
    assert limits.wall_s is None and limits.memory_bytes is None


@pytest.mark.parametrize("value", [0, -1.5, float("nan")])
def test_a_limit_is_above_zero(value):
    with pytest.raises(ConfigError, match=r"limit wall_s is .*above zero"):
        Limits(wall_s=value)


@pytest.mark.parametrize(
    ("own", "asked", "result"), [(10.0, 3.0, 3.0), (2.0, 3.0, 2.0), (None, 3.0, 3.0), (2.0, None, 2.0)]
)
def test_tightened_never_loosens(own, asked, result):
    assert Limits(wall_s=own).tightened(wall_s=asked).wall_s == result
