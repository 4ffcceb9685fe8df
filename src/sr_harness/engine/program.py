"""A formula compiled to a straight line of array operations.

Owns common sub-expressions (each is computed once), the life time of intermediate arrays (each is dropped
after its last use, so memory stays bounded however long the formula is) and forward-mode derivatives.
What the leaves mean and how data reach them is the business of `evaluation`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from . import kernels
from .expression import Expression
from .kernels import Value

Context = tuple[str, tuple[str, ...]] | None
"""Where a value lives: None for nodes and rows of a table, else the relation whose
rows carry it and its index letters."""


class Leaf(NamedTuple):
    """An input register: a variable, group or parameter, and the context in which it is read."""

    register: int
    node: Expression
    context: Context

    @property
    def column(self) -> str:
        """The column of the data that the leaf reads; of a parameter, its name."""
        return (self.node.args[0].name if self.node.op == "group" else self.node.name) or ""


class Step(NamedTuple):
    """One operation: `registers[out] = op(registers[a], registers[b])`, then `dead` are dropped.

    `b` is -1 for a unary operation and for a power whose constant exponent has its own kernel.
    """

    out: int
    op: str
    a: int
    b: int
    node: Expression
    context: Context
    dead: tuple[int, ...]
    exponent: float | None


@dataclass(frozen=True)
class Program:
    """The compiled formula; `constants` are registers with their numbers, the last register is the result."""

    size: int
    constants: tuple[tuple[int, np.float64], ...]
    leaves: tuple[Leaf, ...]
    steps: tuple[Step, ...]
    result: int
    kernels: tuple[kernels.Kernel | None, ...]

    @property
    def has_graph(self) -> bool:
        """Whether any step runs over a relation or along time."""
        return any(kernel is None for kernel in self.kernels)


@dataclass
class _Compiler:
    registers: dict[object, int]
    constants: list[tuple[int, np.float64]]
    leaves: list[Leaf]
    steps: list[list[Any]]

    def new(self, key: object) -> int:
        register = len(self.registers)
        self.registers[key] = register
        return register

    def leaf(self, node: Expression, context: Context) -> int:
        register = self.new((node, context))
        if node.op in ("num", "const"):
            assert node.value is not None
            self.constants.append((register, np.float64(node.value)))
        else:
            self.leaves.append(Leaf(register, node, context))
        return register

    def operation(self, node: Expression, context: Context, args: list[int]) -> int:
        if node.op in ("min", "max"):
            current = args[0]
            for position, arg in enumerate(args[1:]):
                key: object = (node, context) if position == len(args) - 2 else (node.op, current, arg)
                current = self.emit(key, node.op, (current, arg), node, context)
            return current
        second = args[1] if len(args) > 1 else -1
        return self.emit((node, context), node.op, (args[0], second), node, context)

    def emit(
        self, key: object, op: str, operands: tuple[int, int], node: Expression, context: Context
    ) -> int:
        done = self.registers.get(key)
        if done is not None:
            return done
        register = self.new(key)
        exponent = node.args[1].value if op == "pow" and node.args[1].op == "num" else None
        a, b = operands
        if exponent in kernels.POWERS:
            b = -1
        self.steps.append([register, op, a, b, node, context, exponent])
        return register


@lru_cache(maxsize=512)
def compile_program(expr: Expression) -> Program:
    """Compile `expr`; equal sub-expressions in the same context share one register."""
    compiler = _Compiler({}, [], [], [])
    registers = compiler.registers
    stack: list[tuple[Expression, Context, bool]] = [(expr, None, False)]
    while stack:
        node, context, ready = stack.pop()
        if (node, context) in registers:
            continue
        if not node.args or node.op == "group":
            compiler.leaf(node, context)
            continue
        inner: Context = (node.name or "", node.index) if node.op in ("sum", "gather") else context
        if not ready:
            stack.append((node, context, True))
            stack.extend((arg, inner, False) for arg in reversed(node.args))
            continue
        compiler.operation(node, context, [registers[arg, inner] for arg in node.args])
    return _finish(compiler, registers[expr, None])


def _finish(compiler: _Compiler, result: int) -> Program:
    last_use: dict[int, int] = {}
    for position, step in enumerate(compiler.steps):
        last_use[step[2]] = position
        last_use[step[3]] = position
    constants = {register for register, _ in compiler.constants}
    steps = []
    for position, (out, op, a, b, node, context, exponent) in enumerate(compiler.steps):
        used = {a, b} - {-1}
        dead = tuple(
            r for r in sorted(used) if last_use[r] == position and r != result and r not in constants
        )
        steps.append(Step(out, op, a, b, node, context, dead, exponent))
    return Program(
        size=len(compiler.registers),
        constants=tuple(compiler.constants),
        leaves=tuple(compiler.leaves),
        steps=tuple(steps),
        result=result,
        kernels=tuple(_kernel(step) for step in steps),
    )


def _kernel(step: Step) -> kernels.Kernel | None:
    if step.op == "pow" and step.exponent in kernels.POWERS:
        return kernels.POWERS[step.exponent]
    return kernels.UNARY.get(step.op) or kernels.BINARY.get(step.op)


GraphStep = Callable[[Step, Value], Value]
"""Computes a step that runs over a relation or along time, from the value of its operand."""


def _refuse(step: Step, value: Value) -> Value:
    raise AssertionError(f"{step.op} reached an executor without structure")


class Scratch:
    """Memory for intermediate results: the result's own, then arrays used again once their values are dead.

    Fresh memory costs as much as the arithmetic on it, so the same few arrays serve all blocks of rows and,
    for up to `KEPT` of them, the next formulas too; they stay in the processor's cache. Every kernel writes
    its `out` in its last operation, element by element, so a step may overwrite its own operand. One object
    serves one thread, and one formula at a time.
    """

    KEPT: Final = 8

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self.size = 0
        self.free: list[Value] = []
        self.lent: dict[int, Value] = {}
        self.result: Value = None
        self.result_is_free = False

    def start(self, result: Value) -> None:
        """Serve a run that ends in `result`."""
        self.end()
        self.result, self.result_is_free = result, True
        if result.shape != self.shape:
            self.shape, self.size = result.shape, result.size
            self.free = [array for array in self.free if array.size >= self.size][: self.KEPT]

    def end(self) -> None:
        """Take everything back but the result, which is the caller's."""
        self.free.extend(array for array in self.lent.values() if array is not self.result)
        self.lent.clear()
        self.result = None

    def lend(self, register: int, operands: tuple[int, int], dead: tuple[int, ...]) -> Value:
        """An array for the value of `register`: that of an operand which dies with this step, if any."""
        for operand in operands:
            if operand in dead and operand in self.lent:
                array = self.lent.pop(operand)
                break
        else:
            if self.result_is_free:
                array, self.result_is_free = self.result, False
            else:
                array = self.free.pop() if self.free else np.empty(self.size)
        self.lent[register] = array
        return array if array.shape == self.shape else array[: self.size].reshape(self.shape)

    def take_back(self, register: int) -> None:
        """The value of `register` is dead."""
        array = self.lent.pop(register, None)
        if array is None:
            return
        if array is self.result:
            self.result_is_free = True
        else:
            self.free.append(array)


def execute(
    program: Program,
    leaves: Sequence[Value],
    graph: GraphStep = _refuse,
    out: Value = None,
    scratch: Scratch | None = None,
) -> Value:
    """Run the program on the values of its leaves.

    Args:
        program: The compiled formula.
        leaves: One value per `program.leaves`, all broadcastable against each other.
        graph: How graph steps are computed.
        out: An array that receives the result, where it has the result's shape.
        scratch: Memory for intermediate results of the shape of `out`.

    Returns:
        The result (`out`, where given and used).
    """
    registers: list[Value] = [None] * program.size
    for register, number in program.constants:
        registers[register] = number
    for leaf, value in zip(program.leaves, leaves, strict=True):
        registers[leaf.register] = value
    if scratch is not None:
        scratch.start(out)
    for step, kernel in zip(program.steps, program.kernels, strict=True):
        target, _, a, b, _, _, dead, _ = step
        args = (registers[a],) if b < 0 else (registers[a], registers[b])
        if kernel is None:
            registers[target] = graph(step, *args)
        elif out is not None and target == program.result and out.shape in [arg.shape for arg in args]:
            registers[target] = kernel(*args, out=out)  # straight into the result
        elif scratch is not None and scratch.shape in [arg.shape for arg in args]:
            registers[target] = kernel(*args, out=scratch.lend(target, (a, b), dead))
        else:
            registers[target] = kernel(*args)
        for register in dead:
            registers[register] = None
            if scratch is not None:
                scratch.take_back(register)
    if scratch is not None:
        scratch.end()
    return registers[program.result]


class Tangents(NamedTuple):
    """A value and its derivatives; a parameter that the value does not depend on has no entry."""

    value: Value
    tangents: dict[int, Value]


def differentiate(
    program: Program, leaves: Sequence[Value], seeds: dict[int, int], graph: GraphStep = _refuse
) -> Tangents:
    """Run the program forward together with its derivatives.

    Args:
        program: The compiled formula.
        leaves: One value per `program.leaves`.
        seeds: Leaf position -> number of the parameter it is.
        graph: How graph steps are computed; they are linear, so tangents pass through them the same way.

    Returns:
        The value and the derivative by each parameter, of shapes broadcastable to the value's.
    """
    registers: list[Value] = [None] * program.size
    tangents: list[dict[int, Value]] = [{} for _ in range(program.size)]
    for register, number in program.constants:
        registers[register] = number
    for position, (leaf, value) in enumerate(zip(program.leaves, leaves, strict=True)):
        registers[leaf.register] = value
        if position in seeds:
            tangents[leaf.register] = {seeds[position]: np.float64(1.0)}
    for step, kernel in zip(program.steps, program.kernels, strict=True):
        a = registers[step.a]
        if kernel is None:
            registers[step.out] = graph(step, a)
            tangents[step.out] = {p: graph(step, t) for p, t in tangents[step.a].items()}
        elif step.b < 0:
            registers[step.out] = y = kernel(a)
            tangents[step.out] = _chain_unary(step, a, y, tangents[step.a])
        else:
            b = registers[step.b]
            registers[step.out] = y = kernel(a, b)
            tangents[step.out] = _chain_binary(step, a, b, y, left=tangents[step.a], right=tangents[step.b])
        for register in step.dead:
            registers[register] = None
            tangents[register] = {}
    return Tangents(registers[program.result], tangents[program.result])


def _chain_unary(step: Step, a: Value, y: Value, inner: dict[int, Value]) -> dict[int, Value]:
    if not inner:
        return {}
    if step.op == "pow":
        assert step.exponent is not None
        by_a, _ = kernels.slopes("pow", a, np.float64(step.exponent), y, need_a=True, need_b=False)
    else:
        by_a = kernels.slope(step.op, a, y)
    return {p: by_a * t for p, t in inner.items()}


def _chosen(
    op: str, a: Value, b: Value, *, left: dict[int, Value], right: dict[int, Value]
) -> dict[int, Value]:
    """Tangents of a minimum or maximum: those of the operand that is chosen, whatever the other's are."""
    first = np.less_equal(a, b) if op == "min" else np.greater_equal(a, b)
    zero = np.float64(0.0)
    return {p: np.where(first, left.get(p, zero), right.get(p, zero)) for p in {**left, **right}}


def _chain_binary(
    step: Step, a: Value, b: Value, y: Value, *, left: dict[int, Value], right: dict[int, Value]
) -> dict[int, Value]:
    if not left and not right:
        return {}
    if step.op in ("min", "max"):
        return _chosen(step.op, a, b, left=left, right=right)
    if step.op in ("add", "sub"):
        return _summed(step, left=left, right=right)
    by_a, by_b = kernels.slopes(step.op, a, b, y, need_a=bool(left), need_b=bool(right))
    result = {p: by_a * t for p, t in left.items()}
    for p, t in right.items():
        part = by_b * t
        result[p] = result[p] + part if p in result else part
    return result


def _summed(step: Step, *, left: dict[int, Value], right: dict[int, Value]) -> dict[int, Value]:
    """Tangents of a sum or difference; a long chain of them passes one dictionary on."""
    reusable = step.a in step.dead and step.a != step.b
    result = left if reusable else dict(left)
    for p, t in right.items():
        part = t if step.op == "add" else np.negative(t)
        result[p] = result[p] + part if p in result else part
    return result
