"""Genetic programming for what no closed family covers, by the C++ engine of the package `pyoperon`.

The engine runs on one thread and is limited by evaluations, never by time, so its answer depends on the
seed alone. It computes in short floats: whatever it proposes is fitted again in float64 before it counts.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sr_harness.engine import Expression, build
from sr_harness.search.forms import scaled
from sr_harness.search.polish import refit
from sr_harness.search.problem import Problem
from sr_harness.search.sparse import least_squares
from sr_harness.search.strategies.base import Strategy
from sr_harness.search.workspace import Workspace

Floats = NDArray[np.float64]

POPULATION = 500
ROUND_WORK = 20_000
"""Work of one round; each round begins with another population."""

EVALUATIONS_A_UNIT = 5
"""The engine evaluates about this many formulas in the time of one unit of work."""

FITTING_WORK = 1_500
"""Kept back from each round for fitting its front again."""

MOST_ROUNDS = 20
LONGEST = 30
SHORTEST_TARGET = 4

BINARY = {"Add": build.add, "Sub": build.sub, "Mul": build.mul, "Div": build.div}
UNARY = {"Exp": "exp", "Log": "log", "Sin": "sin", "Cos": "cos", "Sqrt": "sqrt", "Tanh": "tanh"}


class Genetic(Strategy):
    """Many rounds of multi-objective genetic programming with fitted constants."""

    name: ClassVar[str] = "genetic"
    summary: ClassVar[str] = "genetic programming over + - * / exp log sin cos sqrt tanh"
    share: ClassVar[float] = 1.0
    parts: ClassVar[int] = MOST_ROUNDS

    def obstacle(self, problem: Problem) -> str | None:
        """It needs the optional package, inputs and a few rows."""
        if importlib.util.find_spec("pyoperon") is None:
            return "not installed (pip install 'ari-research[gp]')"
        if problem.rows < SHORTEST_TARGET:
            return f"fewer than {SHORTEST_TARGET} rows"
        return super().obstacle(problem)

    def propose(self, space: Workspace) -> Iterator[Expression]:
        """The rounds in turn."""
        for part in range(self.parts):
            yield from self.propose_part(space, part)

    def propose_part(self, space: Workspace, part: int) -> Iterator[Expression]:
        """The front of one round, every member fitted again."""
        columns = {name: values for name, values in space.sample.data.items() if np.ptp(values) > 0}
        if not columns or np.ptp(space.sample.target) == 0:
            return
        work = space.allowance(ROUND_WORK, FITTING_WORK)
        evaluations = work * EVALUATIONS_A_UNIT
        if evaluations < 2 * POPULATION:
            return
        seed = int(space.rng("genetic").integers(1, 2**31, MOST_ROUNDS)[part])
        space.charge(work)
        for expression in _round(columns, space.sample.target, seed, evaluations):
            yield expression
            fitted = refit(expression, space)
            if fitted is not None:
                yield fitted


class _Scaled(NamedTuple):
    """Columns brought near 1 for the engine, with the factors that undo it."""

    matrix: Floats
    factors: list[float]


def _near_one(columns: Mapping[str, Floats]) -> _Scaled:
    factors = []
    for values in columns.values():
        magnitude = float(np.median(np.abs(values))) or float(np.max(np.abs(values)))
        usual = 1e-3 <= magnitude <= 1e3
        factors.append(1.0 if usual else float(10.0 ** -round(np.log10(magnitude))))
    stacked = [values * factor for values, factor in zip(columns.values(), factors, strict=True)]
    return _Scaled(np.column_stack(stacked), factors)


def _round(columns: Mapping[str, Floats], target: Floats, seed: int, evaluations: int) -> list[Expression]:
    """Formulas of one round's front, with scale and offset fitted to the target."""
    import pyoperon as op

    inputs = _near_one(columns)
    height = float(np.std(target / np.max(np.abs(target)))) * float(np.max(np.abs(target))) or 1.0
    table = np.asfortranarray(np.column_stack([inputs.matrix, target / height]))
    data = op.Dataset(table)
    front = _evolve(op, data, seed, evaluations)
    by_hash = {}
    for variable in data.Variables:
        if variable.Index < len(columns):
            name = list(columns)[variable.Index]
            by_hash[variable.Hash] = scaled(build.var(name), inputs.factors[variable.Index])
    found = []
    for individual in front:
        expression = _expression(individual.Genotype.Nodes, by_hash)
        if expression is not None:
            found.append(expression)
    return [scaled_to(expression, columns, target) for expression in found]


def _evolve(op: ModuleType, data: Any, seed: int, evaluations: int) -> list[Any]:  # noqa: ANN401
    """One run of the engine; the parts that it holds by pointer live as long as this frame."""
    target = max(data.Variables, key=lambda variable: variable.Index)
    problem = op.Problem(data)
    problem.TrainingRange = op.Range(0, data.Rows)
    problem.TestRange = op.Range(data.Rows - 1, data.Rows)
    problem.Target = target
    problem.InputHashes = [variable.Hash for variable in data.Variables if variable.Hash != target.Hash]
    symbols = 0
    for name in ("Constant", "Variable", *BINARY, *UNARY):
        symbols |= int(getattr(op.NodeType, name))
    problem.ConfigurePrimitiveSet(symbols)
    inputs, primitives = problem.InputHashes, problem.PrimitiveSet
    creator = op.BalancedTreeCreator(primitives, inputs, 0.0)
    coefficients = op.NormalCoefficientInitializer()
    coefficients.ParameterizeDistribution(0, 1)
    table = op.DispatchTable()
    optimizer = op.LMOptimizer(table, problem, 5, 0)
    error, length = op.Evaluator(problem, table, op.R2(), True), op.LengthEvaluator(problem)
    both = op.MultiEvaluator(problem)
    for part in (error, length):
        part.Budget = evaluations
        both.Add(part)
    both.Budget = evaluations
    comparison = op.CrowdedComparison()
    selector = op.TournamentSelector(comparison)
    selector.TournamentSize = 5
    crossover = op.SubtreeCrossover(0.9, 10, LONGEST)
    point = op.NormalOnePointMutation()
    point.ParameterizeDistribution(0, 1)
    kinds = [
        (point, 1.0),
        (op.ChangeVariableMutation(inputs), 1.0),
        (op.ChangeFunctionMutation(primitives), 1.0),
        (op.ReplaceSubtreeMutation(creator, coefficients, 10, LONGEST), 1.0),
        (op.InsertSubtreeMutation(creator, coefficients, 10, LONGEST), 1.0),
        (op.RemoveSubtreeMutation(primitives), 1.0),
    ]
    mutation = op.MultiMutation()
    for kind, weight in kinds:
        mutation.Add(kind, weight)
    local = op.CoefficientOptimizer(optimizer)
    generator = op.BasicOffspringGenerator(both, crossover, mutation, selector, selector, local)
    reinserter = op.KeepBestReinserter(comparison)
    trees = op.UniformLengthTreeInitializer(creator)
    trees.ParameterizeDistribution(2, 10)
    trees.MinDepth, trees.MaxDepth = 1, 1000
    config = op.GeneticAlgorithmConfig(
        generations=10_000,
        max_evaluations=evaluations,
        local_iterations=5,
        population_size=POPULATION,
        pool_size=POPULATION,
        p_crossover=1.0,
        p_mutation=0.25,
        p_local=1.0,
        p_lamarck=1.0,
        epsilon=1e-6,
        seed=seed,
    )
    sorter = op.RankSorter()
    engine = op.NSGA2Algorithm(config, problem, trees, coefficients, generator, reinserter, sorter)
    engine.Run(op.RandomGenerator(seed), None, 1, False)
    return list(engine.BestFront)


def _expression(nodes: list[Any], by_hash: Mapping[int, Expression]) -> Expression | None:
    """From postfix nodes; None for a symbol that the language lacks or a number that is not finite."""
    stack: list[Expression] = []
    for node in nodes:
        kind = node.Type.name
        if not np.isfinite(node.Value):
            return None
        if kind == "Constant":
            stack.append(build.num(float(node.Value)))
        elif kind == "Variable":
            stack.append(scaled(by_hash[node.HashValue], float(node.Value)))
        elif kind in UNARY:
            stack.append(build.call(UNARY[kind], stack.pop()))
        elif kind in BINARY and node.Arity == 2:
            # The operand that stands right before the operator is its first one.
            first = stack.pop()
            stack.append(BINARY[kind](first, stack.pop()))
        else:
            return None
    return stack[0] if len(stack) == 1 else None


def scaled_to(expression: Expression, columns: Mapping[str, Floats], target: Floats) -> Expression:
    """`b · expression + a` with a and b by least squares; unchanged where the formula is not finite."""
    from sr_harness import engine

    values = np.broadcast_to(engine.evaluate(expression, columns), target.shape)
    if not np.isfinite(values).all():
        return expression
    weights, _ = least_squares(np.column_stack([values, np.ones(target.size)]), target)
    factor, offset = float(weights[0]), float(weights[1])
    result = expression if factor == 1.0 else build.mul(build.num(factor), expression)
    negligible = abs(offset) <= 1e-9 * float(np.max(np.abs(target)))
    return result if negligible else build.add(result, build.num(offset))
