"""gplearn: genetic programming in Python with a scikit-learn interface.

A population of 1,000 with a small parsimony coefficient, one generation at a time, until the processor time
is used up or a formula is exact. Its protected functions are read as the functions they are on the data at
hand: division, and logarithm and root of the absolute value.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from sr_harness.bench.methods import Answer, Incumbent, Progress, Task, make_problem, measure_all
from sr_harness.engine import Expression, build

SETTINGS: Final[Mapping[str, Any]] = {
    "population_size": 1000,
    "tournament_size": 20,
    "function_set": ("add", "sub", "mul", "div", "sqrt", "log", "sin", "cos"),
    "const_range": (-5.0, 5.0),
    "init_depth": (2, 6),
    "parsimony_coefficient": 0.001,
    "stopping_criteria": 0.0,
    "metric": "mse",
    "warm_start": True,
    "low_memory": True,
}

_BINARY: Final = {"add": build.add, "sub": build.sub, "mul": build.mul, "div": build.div}
_PLAIN: Final = ("sin", "cos")
_OF_ABSOLUTE: Final = ("log", "sqrt")


def solve(task: Task, progress: Progress) -> Answer:
    """Breed generations until the time is up or a formula is exact."""
    kind = import_module("gplearn.genetic").SymbolicRegressor
    problem = make_problem(task)
    inputs = np.column_stack([problem.data[name] for name in problem.names])
    regressor = kind(**SETTINGS, generations=1, n_jobs=task.clock.threads, random_state=task.seed)
    incumbent = Incumbent(progress)
    generations = 0
    while not (task.clock.is_up or incumbent.is_exact):
        generations += 1
        regressor.set_params(generations=generations)
        with warnings.catch_warnings():  # overflow in a bred formula is its own business
            warnings.simplefilter("ignore")
            regressor.fit(inputs, problem.target)
        found = expression_of(regressor._program.program, problem.names)
        incumbent.add(measure_all(problem, [found], "gplearn"))
    reason = "exact" if incumbent.is_exact else "time"
    evaluations = generations * int(SETTINGS["population_size"])
    return Answer(incumbent.front, incumbent.best, evaluations, "evaluations", reason)


def expression_of(program: Sequence[Any], names: Sequence[str]) -> Expression:
    """From its prefix list of functions, indices of inputs (int) and constants (float)."""
    stack: list[Expression] = []
    for item in reversed(program):
        if hasattr(item, "arity"):
            stack.append(_applied(str(item.name), [stack.pop() for _ in range(item.arity)]))
        elif isinstance(item, (int, np.integer)):
            stack.append(build.var(names[int(item)]))
        else:
            stack.append(build.num(float(item)))
    return stack[0]


def _applied(name: str, arguments: list[Expression]) -> Expression:
    if name in _BINARY:
        return _BINARY[name](arguments[0], arguments[1])
    if name in _OF_ABSOLUTE:
        return build.call(name, build.call("abs", arguments[0]))
    if name in _PLAIN:
        return build.call(name, arguments[0])
    raise ValueError(f"gplearn returned the function {name!r}, which it was not given")
