"""From tokens to an `Expression`: operator precedence with an explicit stack.

Promises: no recursion, so a formula of 5,000 terms or 5,000 levels parses; everything that is not part of
the language is refused with the position; precedence is Python's (`-x**2` is `-(x**2)`, `**` groups to the
right). Nothing is computed while parsing except that a minus sign joins the number behind it.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from ..errors import ExpressionError, ParseError, UnknownNameError
from . import build
from .expression import Expression
from .functions import ALIASES, CONSTANTS, FUNCTIONS, SPECIAL_FORMS
from .lexer import Token, tokenize

MAX_NESTING: Final = 20_000
_BINARY: Final = {
    "+": ("add", 1),
    "-": ("sub", 1),
    "*": ("mul", 2),
    "/": ("div", 2),
    "**": ("pow", 4),
}
_UNARY_PRECEDENCE: Final = 3


def parse(text: str, *, names: Collection[str] | None = None) -> Expression:
    """Read a formula.

    Args:
        text: The formula, for example ``"a*sin(x)**2 + param('b')"``.
        names: The known columns. A name that is neither a column nor a constant is then refused with a
            suggestion, and a column shadows a constant of its name. Without it every name is a column,
            except the constants `pi` and `e`.

    Returns:
        The expression tree, exactly as written.

    Raises:
        ParseError: the text is not in the language; it carries the position.
        UnknownNameError: a column or function does not exist.
    """
    if not isinstance(text, str):
        raise ExpressionError(f"a formula is text, not {type(text).__name__}")
    return _Parser(text, names).run()


@dataclass(slots=True)
class _Frame:
    """An entry of the operator stack: a pending operator, or an open parenthesis of some kind."""

    kind: str  # "binary", "unary", "(", "call", "graph", "aggr", "targ", "sour", "delay"
    symbol: str
    position: int
    precedence: int = 0
    operands_before: int = 0
    index: tuple[str, ...] = ()


@dataclass(slots=True)
class _Parser:
    text: str
    names: Collection[str] | None
    tokens: list[Token] = field(init=False)
    at: int = 0
    depth: int = 0
    operands: list[Expression] = field(default_factory=list)
    frames: list[_Frame] = field(default_factory=list)
    graph: list[_Frame] = field(default_factory=list)
    target_indices: set[str] = field(default_factory=lambda: {"i"})
    loose_indices: list[Token] = field(default_factory=list)

    def run(self) -> Expression:
        self.tokens = tokenize(self.text)
        if len(self.tokens) == 1:
            raise ParseError("the formula is empty", self.text, 0)
        want_operand = True
        while True:
            token = self.tokens[self.at]
            if want_operand:
                want_operand = self.operand(token)
            elif token.kind == "end":
                break
            else:
                want_operand = self.operator(token)
        self.reduce(0)
        if self.frames:
            raise ParseError("this parenthesis is never closed", self.text, self.frames[-1].position)
        for loose in self.loose_indices:
            if loose.text not in self.target_indices:
                self.fail(f"the index {loose.text!r} is not bound by a sum[…] here", loose.position)
        return self.operands[0]

    def fail(self, reason: str, position: int) -> None:
        raise ParseError(reason, self.text, position)

    # ------------------------------------------------------------------ where an operand is expected
    def operand(self, token: Token) -> bool:
        """Take what may start an operand; True if an operand is still wanted afterwards."""
        self.at += 1
        if token.kind == "number":
            self.operands.append(self.number(token))
            return False
        if token.kind in ("name", "quoted"):
            return self.named(token)
        if token.kind == "+":
            return True
        if token.kind == "-":
            self.open(_Frame("unary", "-", token.position, _UNARY_PRECEDENCE))
            return True
        if token.kind == "(":
            self.open(_Frame("(", "(", token.position))
            return True
        if token.kind == "end":
            self.fail("the formula ends where a value is expected", token.position)
        if token.kind == "string":
            self.fail("a text in quotes is only allowed as the name in param('…')", token.position)
        self.fail(f"a value is expected here, not {token.text!r}", token.position)
        return True

    def open(self, frame: _Frame) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(f"the formula is nested more than {MAX_NESTING} levels deep", frame.position)
        frame.operands_before = len(self.operands)
        self.frames.append(frame)

    def number(self, token: Token) -> Expression:
        value = float(token.text)
        if value in (float("inf"), float("-inf")):
            self.fail(f"the number {token.text} is too large for float64", token.position)
        return build.num(value)

    def named(self, token: Token) -> bool:
        following = self.tokens[self.at].kind
        if token.kind == "name" and following == "(":
            return self.call(token)
        if token.kind == "name" and token.text == "sum" and following == "[":
            return self.sum_header(token)
        self.operands.append(self.column(token))
        return False

    def column(self, token: Token) -> Expression:
        name = token.text
        known = self.names is None or name in self.names
        if token.kind == "name" and name in CONSTANTS and not (self.names is not None and known):
            return build.const(name)
        if not known and self.names is not None:
            raise self.unknown(name, "column", self.names, token.position)
        index = self.index_after(token)
        if self.graph and self.graph[-1].kind in ("targ", "sour") and not index:
            index = (self.graph[-1].symbol,)
        return build.var(name, index)

    def unknown(self, name: str, what: str, known: Iterable[str], position: int) -> UnknownNameError:
        choices = sorted(known)
        close = difflib.get_close_matches(name, choices, n=1, cutoff=0.6)
        if not close:
            close = [c for c in choices if c.casefold() == name.casefold()][:1]
        shown = ", ".join(choices[:20]) + (", …" if len(choices) > 20 else "")
        cure = f"did you mean {close[0]!r}?" if close else f"there are: {shown or 'none'}"
        message = f"there is no {what} {name!r} (character {position + 1} of the formula); {cure}"
        return UnknownNameError(name, message, close[0] if close else None)

    def index_after(self, token: Token) -> tuple[str, ...]:
        """The index letters in `x[j]`; outside every graph term a target index is read and dropped."""
        if self.tokens[self.at].kind != "[":
            return ()
        letters, tokens = self.letters("[", "]")
        bound = self.graph[-1].index if self.graph else ()
        if not self.graph:
            if len(letters) != 1:
                self.fail(f"{token.text} has several indices outside a sum[…]", token.position)
            self.loose_indices.extend(tokens)
            return ()
        for letter in tokens:
            if letter.text not in bound:
                self.fail(f"the index {letter.text!r} is not bound here", letter.position)
        if len(letters) > 1 and letters != bound:
            self.fail(f"a field of the relation is indexed as it is: [{','.join(bound)}]", token.position)
        return letters

    def letters(self, opening: str, closing: str) -> tuple[tuple[str, ...], list[Token]]:
        """A bracketed list of index letters."""
        self.expect(opening)
        tokens = [self.expect("name")]
        while self.tokens[self.at].kind == ",":
            self.at += 1
            tokens.append(self.expect("name"))
        self.expect(closing)
        return tuple(t.text for t in tokens), tokens

    def expect(self, kind: str) -> Token:
        token = self.tokens[self.at]
        if token.kind != kind:
            wanted = {"name": "a name", "string": "a name in quotes", "number": "a number"}.get(
                kind, repr(kind)
            )
            found = "the formula ends" if token.kind == "end" else f"{token.text!r} stands there"
            self.fail(f"{wanted} is expected here, but {found}", token.position)
        self.at += 1
        return token

    # ------------------------------------------------------------------------------- calls and forms
    def call(self, token: Token) -> bool:
        name = token.text
        if name == "param":
            self.operands.append(self.param_form())
            return False
        if name == "grouped_param":
            self.operands.append(self.grouped_form(token))
            return False
        if name == "gather":
            self.at += 1
            return self.graph_header(token, "gather", None)
        if name == "sum":
            self.fail("sum needs its index: sum[j](A[i,j], …)", token.position)
        self.at += 1
        if name == "aggr":
            return self.aggr_header(token)
        if name in ("targ", "sour"):
            return self.endpoint_header(token)
        if name == "delay":
            self.open(_Frame("delay", name, token.position))
            return True
        if name != "pow" and ALIASES.get(name, name) not in FUNCTIONS:
            known = sorted([*FUNCTIONS, *ALIASES, *SPECIAL_FORMS])
            raise self.unknown(name, "function", known, token.position)
        self.open(_Frame("call", name, token.position))
        return True

    def signed_number(self) -> float:
        sign = 1.0
        while self.tokens[self.at].kind in ("+", "-"):
            sign = -sign if self.tokens[self.at].kind == "-" else sign
            self.at += 1
        value = self.number(self.expect("number")).value
        assert value is not None
        return sign * value

    def param_form(self) -> Expression:
        self.expect("(")
        name = self.expect("string").text
        value: float | None = None
        if self.tokens[self.at].kind == ",":
            self.at += 1
            if self.tokens[self.at].text == "value" and self.tokens[self.at + 1].kind == "=":
                self.at += 2
            value = self.signed_number()
        self.expect(")")
        return build.param(name, value)

    def grouped_form(self, token: Token) -> Expression:
        """`grouped_param(label, name='a', value={'u': 1.0}, default=0.0)`."""
        self.expect("(")
        label_token = self.tokens[self.at]
        if label_token.kind not in ("name", "quoted"):
            self.fail("grouped_param starts with the column that holds the labels", label_token.position)
        self.at += 1
        label = self.column(label_token)
        name: str | None = None
        table: dict[str, float] = {}
        default: float | None = None
        while self.tokens[self.at].kind == ",":
            self.at += 1
            keyword = self.expect("name")
            self.expect("=")
            if keyword.text == "name":
                name = self.expect("string").text
            elif keyword.text == "value":
                table = self.label_table()
            elif keyword.text == "default":
                default = self.signed_number()
            else:
                self.fail(f"grouped_param has no argument {keyword.text!r}", keyword.position)
        self.expect(")")
        if name is None:
            self.fail("grouped_param needs name='…'", token.position)
        return build.grouped_param(label, name or "", table, default)

    def label_table(self) -> dict[str, float]:
        self.expect("{")
        table: dict[str, float] = {}
        while self.tokens[self.at].kind != "}":
            label = self.tokens[self.at]
            if label.kind not in ("string", "number"):
                self.fail("a label in quotes or a number is expected here", label.position)
            self.at += 1
            self.expect(":")
            table[label.text] = self.signed_number()
            if self.tokens[self.at].kind == ",":
                self.at += 1
        self.expect("}")
        return table

    def sum_header(self, token: Token) -> bool:
        letters, _ = self.letters("[", "]")
        self.expect("(")
        return self.graph_header(token, "sum", letters)

    def graph_header(self, token: Token, op: str, summed: tuple[str, ...] | None) -> bool:
        """`A[i,j],` after the opening parenthesis; the body follows as an ordinary expression."""
        relation = self.tokens[self.at]
        if relation.kind not in ("name", "quoted"):
            self.fail(f"{op} starts with the relation, as in A[i,j]", relation.position)
        self.at += 1
        if self.names is not None and relation.text not in self.names:
            raise self.unknown(relation.text, "relation", self.names, relation.position)
        index, tokens = self.letters("[", "]")
        if len(index) not in (2, 3) or len(set(index)) != len(index):
            self.fail("a relation has two or three different indices, target first", relation.position)
        if summed is not None and summed != index[1:]:
            self.fail(
                f"the summed indices are those of the sources: sum[{','.join(index[1:])}]", token.position
            )
        if self.graph and index[0] not in self.graph[-1].index:
            self.fail(f"the index {index[0]!r} is not bound by the enclosing graph term", tokens[0].position)
        self.target_indices.add(index[0])
        self.expect(",")
        frame = _Frame("graph", op, token.position, index=index)
        # the relation's name waits on the operand stack until the body is complete
        self.operands.append(build.var(relation.text))
        self.open(frame)
        frame.operands_before -= 1
        self.graph.append(frame)
        return True

    def aggr_header(self, token: Token) -> bool:
        if self.graph:
            self.fail("aggr cannot stand inside another graph term; write sum[j](A[i,j], …)", token.position)
        frame = _Frame("aggr", "aggr", token.position, index=("i", "j"))
        self.open(frame)
        self.graph.append(frame)
        return True

    def endpoint_header(self, token: Token) -> bool:
        if not any(frame.kind == "aggr" for frame in self.graph):
            self.fail(f"{token.text}(…) stands only inside aggr(…)", token.position)
        letter = "i" if token.text == "targ" else "j"
        frame = _Frame(token.text, letter, token.position, index=("i", "j"))
        self.open(frame)
        self.graph.append(frame)
        return True

    # ---------------------------------------------------------------- where an operator is expected
    def operator(self, token: Token) -> bool:
        self.at += 1
        if token.kind in _BINARY:
            op, precedence = _BINARY[token.kind]
            self.reduce(precedence + 1 if op == "pow" else precedence)
            self.frames.append(_Frame("binary", op, token.position, precedence))
            return True
        if token.kind == ",":
            return self.comma(token)
        if token.kind == ")":
            self.reduce(0)
            self.close(token)
            return False
        if token.kind == "=":
            doubled = self.tokens[self.at].kind == "="
            reason = "comparisons are not part of the language" if doubled else "write only its right side"
            self.fail(f"'=' has no meaning here; {reason}", token.position)
        if token.kind == "(":
            self.fail("a value is followed by '('; put * between two factors", token.position)
        self.fail(f"an operator is expected here, not {token.text!r}", token.position)
        return True

    def reduce(self, precedence: int) -> None:
        """Apply the pending operators that bind at least as tightly as `precedence`."""
        frames, operands = self.frames, self.operands
        while frames and frames[-1].kind in ("binary", "unary") and frames[-1].precedence >= precedence:
            frame = frames.pop()
            if frame.kind == "unary":
                self.depth -= 1
                operands.append(build.neg(operands.pop()))
            else:
                right = operands.pop()
                operands.append(Expression(frame.symbol, (operands.pop(), right)))

    def comma(self, token: Token) -> bool:
        self.reduce(0)
        if self.frames and self.frames[-1].kind == "call":
            return True
        if self.frames and self.frames[-1].kind == "delay":
            frame = self.frames.pop()
            self.depth -= 1
            lag = self.signed_number()
            self.expect(")")
            if lag < 0:
                self.fail("the lag of delay is at least zero", token.position)
            self.operands.append(build.delay(self.operands.pop(), lag))
            self.check_single(frame)
            return False
        self.fail("a comma stands only between the arguments of a function", token.position)
        return True

    def check_single(self, frame: _Frame) -> None:
        if len(self.operands) != frame.operands_before + 1:
            self.fail("one value is expected in these parentheses", frame.position)

    def close(self, token: Token) -> None:
        if not self.frames:
            self.fail("this parenthesis was never opened", token.position)
        frame = self.frames.pop()
        self.depth -= 1
        args = self.operands[frame.operands_before :]
        del self.operands[frame.operands_before :]
        if frame.kind in ("graph", "aggr", "targ", "sour"):
            self.graph.pop()
        self.operands.append(self.finish(frame, args))

    def finish(self, frame: _Frame, args: list[Expression]) -> Expression:
        if frame.kind in ("(", "targ", "sour"):
            return args[0]
        if frame.kind == "graph":
            return Expression(frame.symbol, (args[1],), name=args[0].name, index=frame.index)
        if frame.kind == "aggr":
            return self.aggr_sum(frame, args[0])
        if frame.kind == "delay":
            self.fail("delay needs a lag: delay(x, 0.5)", frame.position)
        try:
            return build.call(frame.symbol, *args)
        except ExpressionError as error:
            raise ParseError(str(error), self.text, frame.position) from None

    def aggr_sum(self, frame: _Frame, body: Expression) -> Expression:
        """`aggr(A*targ(x)*sour(x))` is `sum[j](A[i,j], x[i]*x[j])`: the first factor is the relation."""
        chain: list[Expression] = []
        first = body
        while first.op in ("mul", "div"):
            chain.append(first)
            first = first.args[0]
        if first.op != "var" or first.index or first.name is None:
            self.fail("aggr starts with the relation: aggr(A*targ(x)*sour(x))", frame.position)
        assert first.name is not None
        rest: Expression | None = None
        for link in reversed(chain):
            if rest is None:
                rest = link.args[1] if link.op == "mul" else build.div(1.0, link.args[1])
            else:
                rest = Expression(link.op, (rest, link.args[1]))
        return build.graph_sum(first.name, ("i", "j"), build.num(1.0) if rest is None else rest)
