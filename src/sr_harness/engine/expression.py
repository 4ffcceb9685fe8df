"""The expression tree: an immutable, hashable node, and walks over it that never recurse.

Promises: equality and hash are structural; every walk uses an explicit stack, so a tree 100,000 levels
deep is as safe as a small one, including copying and pickling; shared sub-trees are visited once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class Expression:
    """One node of a formula, together with everything below it.

    Build nodes with `sr_harness.engine.build`, which checks them, or with `parse`.

    Attributes:
        op: What the node is: `num`, `const`, `var`, `param`, `group`, an operator (`add`, `sub`, `mul`,
            `div`, `pow`, `neg`), a function of the language (`sin`, …), `sum`, `gather` or `delay`.
        args: The operands, left to right.
        value: The number of a `num`, `const` or `delay` (its lag); the start value of a `param`, if any.
        name: The name of a `const`, `var` or `param`; the relation of a `sum` or `gather`.
        index: Index letters: of a `var` inside a graph term (`x[j]` has `("j",)`), or of the relation of a
            `sum` or `gather`, target first.
        table: Only of `group`: the start value of each label, as pairs.
        size: Number of nodes of the tree (a shared sub-tree counts each time it occurs).
    """

    __slots__ = ("_hash", "args", "index", "name", "op", "size", "table", "value")

    op: str
    args: tuple[Expression, ...]
    value: float | None
    name: str | None
    index: tuple[str, ...]
    table: tuple[tuple[str, float], ...]
    size: int
    _hash: int

    def __init__(
        self,
        op: str,
        args: tuple[Expression, ...] = (),
        *,
        value: float | None = None,
        name: str | None = None,
        index: tuple[str, ...] = (),
        table: tuple[tuple[str, float], ...] = (),
    ) -> None:
        put = object.__setattr__
        put(self, "op", op)
        put(self, "args", args)
        put(self, "value", value)
        put(self, "name", name)
        put(self, "index", index)
        put(self, "table", table)
        size = 1 + (op in ("sum", "gather"))
        for arg in args:
            size += arg.size
        put(self, "size", size)
        put(self, "_hash", hash((op, args, value, name, index, table)))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("an Expression cannot be changed; build another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("an Expression cannot be changed; build another one")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expression):
            return NotImplemented
        if self._hash != other._hash:
            return False
        if not self.args and not other.args:
            return _same_head(self, other)
        return _same(self, other)

    def __repr__(self) -> str:
        from .rendering import render

        return f"Expression({render(self)!r})"

    def __str__(self) -> str:
        from .rendering import render

        return render(self)

    def __copy__(self) -> Expression:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Expression:
        return self

    def __reduce__(self) -> tuple[Callable[..., Expression], tuple[Any, ...]]:
        order = list(postorder(self))
        place = {id(node): position for position, node in enumerate(order)}
        rows = [(n.op, tuple(place[id(a)] for a in n.args), n.value, n.name, n.index, n.table) for n in order]
        return _rebuild, (rows,)


def _rebuild(rows: list[tuple[Any, ...]]) -> Expression:
    nodes: list[Expression] = []
    for op, args, value, name, index, table in rows:
        children = tuple(nodes[a] for a in args)
        nodes.append(Expression(op, children, value=value, name=name, index=index, table=table))
    return nodes[-1]


def _same(left: Expression, right: Expression) -> bool:
    seen: set[tuple[int, int]] = set()
    stack = [(left, right)]
    while stack:
        a, b = stack.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if not _same_head(a, b) or len(a.args) != len(b.args):
            return False
        stack.extend(zip(a.args, b.args, strict=True))
    return True


def _same_head(a: Expression, b: Expression) -> bool:
    """Whether two nodes are alike, leaving their operands aside."""
    same = a.op == b.op and a.name == b.name and a.index == b.index and a.table == b.table
    return same and _same_value(a.value, b.value)


def _same_value(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return a == b and math.copysign(1.0, a) == math.copysign(1.0, b)


def postorder(root: Expression) -> Iterator[Expression]:
    """Every distinct node object below `root`, operands before operators, left before right."""
    seen: set[int] = set()
    stack: list[tuple[Expression, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in seen:
            continue
        if ready or not node.args:
            seen.add(id(node))
            yield node
            continue
        stack.append((node, True))
        stack.extend((arg, False) for arg in reversed(node.args))


def fold(root: Expression, combine: Callable[[Expression, list[T]], T]) -> T:
    """Compute a value bottom-up: `combine(node, values of its operands)` once per distinct node object."""
    done: dict[int, T] = {}
    for node in postorder(root):
        done[id(node)] = combine(node, [done[id(arg)] for arg in node.args])
    return done[id(root)]


def with_args(node: Expression, args: tuple[Expression, ...]) -> Expression:
    """`node` with other operands; the same object where nothing changes."""
    if len(args) == len(node.args) and all(a is b for a, b in zip(args, node.args, strict=True)):
        return node
    return Expression(node.op, args, value=node.value, name=node.name, index=node.index, table=node.table)


def complexity(expr: Expression) -> int:
    """Number of nodes: each number, constant, variable, parameter, operator, function, relation counts 1."""
    return expr.size


def _names(expr: Expression, ops: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in postorder(expr):
        if node.op in ops and node.name is not None:
            found.setdefault(node.name)
    return tuple(found)


def variables(expr: Expression) -> tuple[str, ...]:
    """Names of the columns that the formula reads, in order of first appearance (relations excluded)."""
    return _names(expr, ("var",))


def parameters(expr: Expression) -> tuple[str, ...]:
    """Names of the free parameters, in order of first appearance."""
    return _names(expr, ("param",))


def relations(expr: Expression) -> tuple[str, ...]:
    """Names of the relations that the graph terms of the formula run over, in order of appearance."""
    return _names(expr, ("sum", "gather"))
