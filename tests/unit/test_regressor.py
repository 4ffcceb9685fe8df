"""The scikit-learn estimator: its contract, names of columns, warm starts, display and messages."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from sr_harness import SymbolicRegressor
from sr_harness.engine import Expression, evaluate, parse, render
from sr_harness.errors import ImportDataError, ProblemError
from sr_harness.evaluator import make_split
from sr_harness.search import Strategy, ahead, discovery
from sr_harness.search.workspace import Workspace

CHEAP = ["constant", "linear", "power_law"]


def cheap(**settings: Any) -> SymbolicRegressor:
    return SymbolicRegressor(**{"work": 500, "strategies": CHEAP, **settings})


LAW = "3*x0**2*x1"


def shown(model: SymbolicRegressor) -> str:
    """The formula without the last digits, which are rounding."""
    return render(model.expression_, digits=10)


def power_law(rows: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).uniform(1.0, 4.0, (rows, 2))
    return X, 3.0 * X[:, 0] ** 2 * X[:, 1]


@parametrize_with_checks(
    [SymbolicRegressor(work=300), SymbolicRegressor(work=300, warm_start=True, n_jobs=2)]
)
def test_it_is_a_scikit_learn_estimator(estimator: SymbolicRegressor, check: Callable[[Any], None]) -> None:
    check(estimator)


# --- what a fit gives -----------------------------------------------------------------------------------


def test_a_formula_is_found_and_exported() -> None:
    X, y = power_law()
    model = cheap().fit(X, y)
    assert model.stop_reason_ == "exact"
    assert 0 < model.work_used_ <= 500
    assert parse(model.formula_) == model.expression_
    assert float(model.sympy().subs({"x0": 2, "x1": 5})) == pytest.approx(60.0)
    assert {str(symbol) for symbol in model.sympy().free_symbols} == {"x0", "x1"}
    assert model.latex(digits=10) == r"3 \, {x_{0}}^{2} \, x_{1}"
    assert model.variables_ == {"x0": "x0", "x1": "x1"}
    assert not hasattr(model, "feature_names_in_")
    new, truth = power_law(7, seed=1)
    np.testing.assert_allclose(model.predict(new), truth, rtol=1e-12)
    assert model.score(new, truth) == pytest.approx(1.0)


def test_the_front_is_a_data_frame() -> None:
    X, y = power_law()
    front = cheap().fit(X, y).pareto_front_
    assert list(front.columns) == [
        "formula", "complexity", "nrmse", "r2", "description_length", "origin", "selected",
    ]  # fmt: skip
    assert front["selected"].sum() == 1
    chosen = front[front["selected"]].iloc[0]
    assert chosen["nrmse"] < 1e-7 < front["nrmse"].drop(chosen.name).min()
    assert chosen["description_length"] == front["description_length"].min()
    np.testing.assert_allclose(front["r2"], 1 - front["nrmse"] ** 2, atol=1e-12)
    columns = {"x0": X[:, 0], "x1": X[:, 1]}
    for formula, nrmse in zip(front["formula"], front["nrmse"], strict=True):
        error = evaluate(parse(formula), columns) - y
        assert np.sqrt(np.mean(error**2)) / np.std(y) == pytest.approx(nrmse, abs=1e-12)


@pytest.mark.parametrize("random_state", [0, 7])
def test_the_same_fit_gives_the_same_formulas(random_state: int) -> None:
    X, y = power_law(60)
    y = y + np.random.default_rng(1).normal(size=60)
    first, second = (SymbolicRegressor(work=1500, random_state=random_state).fit(X, y) for _ in range(2))
    pd.testing.assert_frame_equal(first.pareto_front_, second.pareto_front_)
    assert first.work_used_ == second.work_used_


def test_random_states_draw_seeds() -> None:
    X, y = power_law()
    assert shown(cheap(random_state=np.random.RandomState(3)).fit(X, y)) == LAW
    assert shown(cheap(random_state=None).fit(X, y)) == LAW


def test_rows_are_held_out_where_there_are_enough() -> None:
    X, y = power_law(40)
    assert all(kept.rows == 32 and kept.validation_nmse is not None for kept in cheap().fit(X, y).candidates_)
    whole = cheap(validation_fraction=0).fit(X, y).candidates_
    assert all(kept.rows == 40 and kept.validation_nmse is None for kept in whole)


def test_a_constant_target_is_a_constant() -> None:
    X, _ = power_law()
    model = cheap().fit(X, np.full(len(X), 7.25))
    assert model.formula_ == "7.25"
    assert model.predict(X[:3]).tolist() == [7.25] * 3
    assert model.score(X, np.full(len(X), 7.25)) == 1.0
    assert model.pareto_front_["nrmse"].tolist() == [0.0]


def test_columns_that_never_change_explain_nothing() -> None:
    model = cheap().fit(np.ones((6, 2)), np.arange(6.0))
    assert model.formula_ == "2.5"


def test_one_column() -> None:
    x = np.linspace(1.0, 5.0, 25)
    model = cheap().fit(x[:, None], 2.0 * x - 1.0)
    assert shown(model) == "2*x0 - 1"
    assert model.predict([[10.0]]) == pytest.approx([19.0])


def test_a_hundred_thousand_rows() -> None:
    X, y = power_law(100_000)
    model = cheap(work=3000, warm_start=True).fit(X, y)
    assert shown(model) == LAW
    assert model.predict(X).shape == (100_000,)
    # measuring a formula on so many rows costs more than this budget
    assert shown(model.set_params(work=1).fit(X, y)) == LAW


def test_jobs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "START_AFTER", 0.0)
    X, y = power_law(60)
    y = np.tanh(y) + np.sin(X[:, 0])
    strategies = ["linear", "rational", "trigonometric", "composite"]
    alone, several = (
        SymbolicRegressor(work=2_000, strategies=strategies, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2)
    )
    pd.testing.assert_frame_equal(several.pareto_front_, alone.pareto_front_)
    assert several.work_used_ == alone.work_used_


@pytest.mark.parametrize(("limit", "reason"), [({"time_limit": 1e-9}, "time"), ({"work": 1}, "work")])
def test_a_search_that_ends_at_once_still_gives_the_mean(limit: dict[str, float], reason: str) -> None:
    X, y = power_law(2000)
    model = cheap(strategies=["linear"], **limit).fit(X, y)
    assert model.stop_reason_ == reason
    assert model.expression_.op == "num"
    assert abs(model.score(X, y)) < 0.01


def test_it_works_with_pipelines_cross_validation_and_pickle() -> None:
    X, y = power_law(45)
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), cheap(work=3000))
    assert cross_val_score(pipeline, X**2, y, cv=3).min() > 1 - 1e-9
    model = cheap().fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    assert restored.candidates_ == model.candidates_
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))


def test_weights_of_rows_count_in_the_score() -> None:
    X, y = power_law()
    model = cheap().fit(X, y)
    wrong = y.copy()
    wrong[0] += 100.0
    weights = np.ones(len(y))
    weights[0] = 0.0
    assert model.score(X, wrong) < 0.99
    assert model.score(X, wrong, sample_weight=weights) == pytest.approx(1.0)


# --- names of columns -----------------------------------------------------------------------------------

HEADERS = [" wind speed", "temp (°C)", "CO₂/ppm", "x", "X", "température", "N", "lambda", "exp"]
VARIABLES = ["wind_speed", "temp_C", "CO2_ppm", "x", "X", "température", "N", "lambda", "exp"]


def weather(rows: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(rng.uniform(1.0, 3.0, (rows, len(HEADERS))), columns=HEADERS)


def test_column_names_are_kept_and_mapped_the_same_way_at_fit_and_predict() -> None:
    table = weather()
    y = pd.Series(2.0 * table[" wind speed"] * table["N"] / table["temp (°C)"], name="evaporation rate")
    model = cheap(work=2000).fit(table, y)
    assert list(model.feature_names_in_) == HEADERS
    assert model.variables_ == dict(zip(HEADERS, VARIABLES, strict=True))
    assert model.target_name_ == "evaporation rate"
    assert {str(symbol) for symbol in model.sympy().free_symbols} == {"wind_speed", "N", "temp_C"}
    np.testing.assert_allclose(model.predict(table.iloc[::-1]), y[::-1], rtol=1e-12)


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        (["a", "b", "a"], "columns 1 and 3 have the same header 'a'"),
        (["x", "y", "x "], "columns 1 and 3: the headers 'x' and 'x ' would both become the variable 'x'"),
        (["wind speed", "wind_speed", "z"], "'wind speed' and 'wind_speed' would both become"),
        (["a", "", "b"], "column 2: the header is empty"),
        (["__class__", "a", "b"], "'__class__' is reserved"),
    ],
)
def test_unusable_names_are_refused_whatever_the_values(headers: list[str], said: str) -> None:
    for fill in (1.0, np.nan):
        table = pd.DataFrame(np.full((8, 3), fill), columns=headers)
        with pytest.raises(ImportDataError) as caught:
            cheap().fit(table, np.arange(8.0))
        assert said in str(caught.value)
        assert "NaN" not in str(caught.value)


@pytest.mark.parametrize("change", [{" wind speed": "wind_speed"}, {"N": "n"}, {"temp (°C)": "temp (°F)"}])
def test_other_names_at_predict_are_named(change: dict[str, str]) -> None:
    table = weather()
    model = cheap().fit(table, table["N"])
    [(old, new)] = change.items()
    with pytest.raises(ValueError, match="feature names should match") as caught:
        model.predict(table.rename(columns=change))
    assert old in str(caught.value)
    assert new in str(caught.value)
    assert "NaN" not in str(caught.value)


def test_a_repeated_column_at_predict_is_named() -> None:
    table = weather()
    model = cheap().fit(table, table["N"])
    with pytest.raises(ImportDataError, match=r"columns 1 and 2 have the same header ' wind speed'"):
        model.predict(table.iloc[:, [0, 0, *range(1, len(HEADERS))]])


# --- messages -------------------------------------------------------------------------------------------


def test_missing_values_are_named_with_column_and_rows() -> None:
    table = weather(12)
    model = cheap().fit(table, table["x"])
    table.loc[[2, 7], "temp (°C)"] = np.nan
    table.loc[list(range(6)), "N"] = np.inf
    said = (
        r"X holds NaN or infinite values: column 'temp \(°C\)' in 2 rows \(2, 7\); "
        r"'N' in 6 rows \(0, 1, 2, 3, 4, …\)\. Repair these rows or leave them out"
    )
    with pytest.raises(ProblemError, match=said):
        model.predict(table)
    with pytest.raises(ProblemError, match=said):
        cheap().fit(table, table["x"])
    with pytest.raises(ProblemError, match=r"column 'x1' in 1 row \(0\)"):
        cheap().fit([[1.0, np.nan], [1.0, 2.0]], [0.0, 1.0])


def test_text_columns_are_named() -> None:
    table = weather(4).assign(X=["a", "b", "c", "d"])
    with pytest.raises(ProblemError, match=r"column 'X' does not hold numbers \(.*'a'.*or leave it out"):
        cheap().fit(table, np.arange(4.0))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"work": 0}, "work must be a whole number of at least 1, got 0"),
        ({"work": 1.5}, "work must be a whole number of at least 1, got 1.5"),
        ({"time_limit": 0}, "time_limit must be seconds above 0 or None, got 0"),
        ({"strategies": "linear"}, "strategies must be a list of names"),
        ({"strategies": []}, "strategies must be a list of names"),
        ({"strategies": ["magic"]}, "there is no strategy 'magic'; choose from constant, linear"),
        ({"validation_fraction": 0.9}, "validation_fraction must be a share from 0 to 0.5, got 0.9"),
        ({"random_state": -1}, "random_state must be a seed of at least 0, got -1"),
    ],
)
def test_bad_parameters_are_refused_at_fit(settings: dict[str, Any], said: str) -> None:
    X, y = power_law()
    with pytest.raises(ValueError, match=said):
        cheap(**settings).fit(X, y)


def test_before_a_fit_there_is_nothing() -> None:
    model = SymbolicRegressor()
    for use in (
        lambda: model.predict([[1.0]]),
        model.sympy,
        model.latex,
        lambda: model.pareto_front_,
        lambda: model.score([[1.0]], [1.0]),
    ):
        with pytest.raises(NotFittedError, match="SymbolicRegressor instance is not fitted yet"):
            use()


def test_without_its_extra_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; sys.modules['sklearn'] = None\nfrom sr_harness import SymbolicRegressor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: SymbolicRegressor needs scikit-learn" in done.stderr
    assert "pip install 'ari-research[sklearn]'" in done.stderr
    X, y = power_law()
    model = cheap().fit(X, y)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pareto_front_ needs pandas .*ari-research\[sklearn\]"):
        _ = model.pareto_front_


# --- warm start -----------------------------------------------------------------------------------------


class Proposer(Strategy):
    """Yields the formulas that a test gives it."""

    name: ClassVar[str] = "proposer"
    summary: ClassVar[str] = "whatever the test says"
    texts: tuple[str, ...] = ()

    def propose(self, space: Workspace) -> Iterator[Expression]:
        for text in self.texts:
            yield parse(text)


@pytest.fixture
def proposer(monkeypatch: pytest.MonkeyPatch) -> Proposer:
    strategy = Proposer()
    monkeypatch.setattr(discovery, "STRATEGIES", {**discovery.STRATEGIES, "proposer": strategy})
    return strategy


BAD = ("x0", "x0 + x1", "sin(x0)*1000", "0*x0", "log(x0 - 100)", "x0**2*x1*2.9")


@pytest.mark.parametrize("work", [1, 5, 500])
@pytest.mark.parametrize("rows", [30, 3000])
def test_a_warm_start_with_bad_proposals_loses_nothing(proposer: Proposer, rows: int, work: int) -> None:
    X, y = power_law(rows)
    model = cheap(work=3000, warm_start=True).fit(X, y)
    assert shown(model) == LAW
    formula, before = model.formula_, model.pareto_front_
    proposer.texts = BAD
    model.set_params(work=work, strategies=["proposer"]).fit(X, y)
    assert model.formula_ == formula
    pd.testing.assert_frame_equal(model.pareto_front_, before)


def test_a_warm_start_keeps_what_was_fitted_to_many_rows(proposer: Proposer) -> None:
    X, y = power_law(3000)
    y = y + np.random.default_rng(3).normal(size=len(y))
    model = cheap(work=3000, warm_start=True).fit(X, y)
    assert model.candidates_[-1].rows == 2400
    formula, before = model.formula_, model.pareto_front_
    proposer.texts = BAD
    model.set_params(strategies=["proposer"]).fit(X, y)
    assert model.formula_ == formula
    new = [kept for kept in model.candidates_ if kept.origin == "proposer"]
    old = model.pareto_front_[model.pareto_front_["origin"] != "proposer"]
    for row in before.itertuples():
        beaten = any(kept.weight <= row.complexity and kept.r2 >= row.r2 for kept in new)
        assert beaten or row.formula in set(old["formula"])


def test_an_inexact_formula_survives_bad_proposals_and_yields_to_a_better_one(proposer: Proposer) -> None:
    X, y = power_law()
    proposer.texts = ("2.5*x0**2*x1 + 3", "7*x0")
    model = cheap(warm_start=True, strategies=["proposer"]).fit(X, y)
    kept = model.formula_
    proposer.texts = ("x0", "1e6*x0", "sqrt(-x0)")
    model.fit(X, y)
    assert model.formula_ == kept
    assert "7*x0" in set(model.pareto_front_["formula"])
    proposer.texts = (LAW,)
    assert shown(model.fit(X, y)) == LAW
    proposer.texts = ("x0", "sin(x1)")
    assert shown(clone(model).fit(X, y)) != LAW
    assert shown(model.set_params(warm_start=False).fit(X, y)) != LAW


def test_a_warm_start_measures_earlier_formulas_on_the_data_it_is_given() -> None:
    X, y = power_law()
    model = cheap(warm_start=True).fit(X, y)
    model.set_params(strategies=["constant"]).fit(X, 2.0 * y)
    [place] = [place for place, kept in enumerate(model.candidates_) if kept.formula(10) == LAW]
    row = model.pareto_front_.iloc[place]
    assert row["nrmse"] == pytest.approx(np.sqrt(np.mean(y**2)) / np.std(2.0 * y))
    assert row["origin"] == "power_law"


def test_what_holds_on_held_out_rows_is_not_lost_to_what_fits_the_others(proposer: Proposer) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(1.0, 2.0, 50)
    held_out = make_split(50, seed=0, fractions=(0.8, 0.2, 0.0)).validation
    y = 1.2 * x + rng.normal(scale=0.02, size=50)
    y[held_out] = 2.0 * x[held_out] + rng.normal(scale=0.02, size=10)
    # fitted on all rows, this slope is worse where the next search fits and better where it is judged
    proposer.texts = ("1.36123*x0",)
    model = cheap(strategies=["proposer"], warm_start=True, validation_fraction=0).fit(x[:, None], y)
    earlier = model.expression_
    proposer.texts = ("1.2*x0", "1.20123*x0")
    model.set_params(validation_fraction=0.2).fit(x[:, None], y)
    [kept] = [candidate for candidate in model.candidates_ if candidate.expression == earlier]
    rivals = [candidate for candidate in model.candidates_ if candidate is not kept]
    assert any(rival.weight <= kept.weight and rival.nmse < kept.nmse for rival in rivals)
    assert model.expression_ == earlier
    assert model.pareto_front_["selected"].sum() == 1


def test_a_fit_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    table = weather()
    model = cheap(warm_start=True).fit(table, table["N"] * 2.0)
    before = dict(vars(model))
    with pytest.raises(ProblemError, match="holds NaN"):
        model.fit(table.iloc[:, :3] * np.nan, table["N"])
    said = r"goes on from formulas of the columns ' wind speed', .* but these data have 'x0', 'x1'; set warm"
    with pytest.raises(ProblemError, match=said):
        model.fit(*power_law())

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sr_harness.regressor.discover", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(warm_start=False).fit(*power_law())
    assert vars(model) == {**before, "warm_start": False}


# --- formulas without a value ---------------------------------------------------------------------------


def test_rows_without_a_value_are_counted(proposer: Proposer) -> None:
    x = np.linspace(1.0, 9.0, 20)
    proposer.texts = ("log(x0)",)
    model = cheap(strategies=["proposer"]).fit(x[:, None], np.log(x))
    with pytest.warns(RuntimeWarning, match=r"log\(x0\) has no finite value in 2 rows \(0, 2\) of X"):
        predicted = model.predict([[-1.0], [1.0], [0.0]])
    assert np.isnan(predicted[0])
    assert predicted[1:].tolist() == [0.0, -np.inf]
    with pytest.raises(
        ProblemError, match=r"there is no R²: the formula log\(x0\) has no finite value in 1 row"
    ):
        model.score([[-1.0], [1.0]], [0.0, 0.0])


# --- display --------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_formula_and_the_front() -> None:
    table = weather().rename(columns={"N": "<script>alert(1)</script> & $$"})
    y = pd.Series(2.5 * table.iloc[:, 6], name="</code>$$<b>")
    model = cheap().fit(table, y)
    html = model._repr_html_()
    assert model._repr_mimebundle_()["text/html"] == html
    assert "= 2.5 \\, " in html
    assert html.count("<tr>") == len(model.candidates_) + 1
    assert html.count("→") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; $$</code>" in html
    assert "<script" not in html
    assert "<b>" not in html
    # the target's dollars are escaped, so the formula ends where it ends
    assert "\\$\\$" in html.split("$$")[1]


def test_a_long_front_is_cut_in_the_display() -> None:
    from sr_harness.notebook import MOST_ROWS, fitted_html

    row = {
        "formula": "x",
        "complexity": 1,
        "nrmse": float("nan"),
        "r2": 0.5,
        "origin": "a",
        "selected": False,
    }
    html = fitted_html("title", "y = x", [row] * (MOST_ROWS + 2), {})
    assert html.count("<tr>") == MOST_ROWS + 1
    assert "and 2 more in" in html
    assert "nan" not in html


def test_before_a_fit_or_as_text_the_display_is_that_of_scikit_learn() -> None:
    assert "sk-top-container" in SymbolicRegressor()._repr_html_()
    model = cheap().fit(*power_law())
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()


def test_the_example_of_the_documentation_is_true() -> None:
    import doctest

    import sr_harness.regressor as module

    assert Path(str(module.__file__)).name == "regressor.py"
    found = doctest.testmod(module)
    assert found.attempted >= 4
    assert found.failed == 0
