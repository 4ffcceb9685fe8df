"""pyoperon: genetic programming in C++ with fitted constants, through its scikit-learn interface.

Multi-objective (error, length) with five steps of local search on every offspring. Its ceiling is wall time,
so it runs in rounds that grow, each going on from the population of the one before, until the processor time
is used up or a formula is exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from sr_harness.bench.methods import Answer, Incumbent, Progress, Task, make_problem, measure_all
from sr_harness.engine import Expression, build

SYMBOLS: Final = "add,sub,mul,div,square,sqrt,exp,log,sin,cos,tanh,asin,acos,constant,variable"
SETTINGS: Final[Mapping[str, Any]] = {
    "allowed_symbols": SYMBOLS,
    "objectives": ["r2", "length"],
    "optimizer_iterations": 5,
    "population_size": 1000,
    "max_length": 50,
    "generations": 10**6,
    "max_evaluations": 10**9,
    "epsilon": 1e-6,
    "warm_start": True,
}
FIRST_ROUND_SECONDS: Final = 1.0
"""Rounds are whole seconds, because its ceiling is."""

_BINARY: Final = {"Add": build.add, "Sub": build.sub, "Mul": build.mul, "Div": build.div}
_UNARY: Final = {
    "Exp": "exp",
    "Log": "log",
    "Sin": "sin",
    "Cos": "cos",
    "Sqrt": "sqrt",
    "Tanh": "tanh",
    "Asin": "arcsin",
    "Acos": "arccos",
}


def solve(task: Task, progress: Progress) -> Answer:
    """Run rounds until the time is up or a formula is exact."""
    from pyoperon.sklearn import SymbolicRegressor

    problem = make_problem(task)
    inputs = np.column_stack([problem.data[name] for name in problem.names])
    regressor = SymbolicRegressor(**SETTINGS, n_threads=task.clock.threads, random_state=task.seed + 1)
    incumbent = Incumbent(progress)
    seconds, evaluations = FIRST_ROUND_SECONDS, 0
    while not (task.clock.is_up or incumbent.is_exact):
        regressor.set_params(max_time=max(1, round(min(seconds, task.clock.left))))
        with warnings.catch_warnings():  # it warns of models without variables, which are no concern here
            warnings.simplefilter("ignore")
            regressor.fit(inputs, problem.target)
        evaluations += int(regressor.stats_["residual_evaluations"])
        incumbent.add(measure_all(problem, _formulas(regressor, problem.names), "pyoperon"))
        seconds *= 2
    reason = "exact" if incumbent.is_exact else "time"
    return Answer(incumbent.front, incumbent.best, evaluations, "evaluations", reason)


def _formulas(regressor: Any, names: Sequence[str]) -> list[Expression]:  # noqa: ANN401
    by_hash = dict(zip(regressor.variables_, names, strict=True))
    found = [expression_of(model["tree"].Nodes, by_hash) for model in regressor.pareto_front_]
    return [expression for expression in found if expression is not None]


def expression_of(nodes: Sequence[Any], by_hash: Mapping[int, str]) -> Expression | None:
    """From its postfix nodes; None for a symbol that the language lacks or a number that is not finite."""
    stack: list[Expression] = []
    for node in nodes:
        kind = node.Type.name
        if not np.isfinite(node.Value):
            return None
        if kind == "Constant":
            stack.append(build.num(float(node.Value)))
        elif kind == "Variable":
            variable = build.var(by_hash[node.HashValue])
            factor = float(node.Value)
            stack.append(variable if factor == 1.0 else build.mul(build.num(factor), variable))
        elif kind == "Square":
            stack.append(build.pow_(stack.pop(), 2.0))
        elif kind in _UNARY:
            stack.append(build.call(_UNARY[kind], stack.pop()))
        elif kind in _BINARY and node.Arity == 2:
            first = stack.pop()  # the operand that stands right before the operator is its first one
            stack.append(_BINARY[kind](first, stack.pop()))
        else:
            return None
    return stack[0] if len(stack) == 1 else None
