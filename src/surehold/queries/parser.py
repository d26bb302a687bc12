"""From text to tree: precedence climbing, with everything but a small core written out.

From loosest to tightest: ``or``; ``and``; ``not``; comparisons, which do not chain; ``+ -``;
``* / %``; unary minus.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from surehold.errors import InvalidQuery
from surehold.queries import calls
from surehold.queries import expressions as ex
from surehold.queries.expressions import Expression
from surehold.queries.lexer import LONGEST_QUERY, Kind, Token, tokens_of

R = TypeVar("R")

LARGEST_SIZE = 500
"""Nodes of an expression, what is written out counted in full."""
LARGEST_DEPTH = 50
"""Levels of an expression."""
# A level may take brackets and an operator to write, and Python four frames a bracket to read.
_DEEPEST_TEXT = 2 * LARGEST_DEPTH + 10

_OR, _AND, _NOT, _COMPARE, OPERAND, _MULTIPLY, _UNARY = range(1, 8)
_OPERATORS = (Kind.WORD, Kind.SYMBOL)
_COMPARISONS = frozenset(("=", "<>", "<", "<=", ">", ">="))
_LEVEL_OF = {"or": _OR, "and": _AND, "+": OPERAND, "-": OPERAND, "*": _MULTIPLY, "/": _MULTIPLY}
_LEVEL_OF |= {"%": _MULTIPLY} | dict.fromkeys(_COMPARISONS, _COMPARE)
_LEVEL_OF |= dict.fromkeys(("is", "in", "between", "like", "not"), _COMPARE)


def parse(text: str) -> Expression:
    """The tree of an expression, its columns not looked up yet.

    >>> parse("age>65") == parse("( AGE ) > 65.0"), parse("age>65") == parse("(age) > 65.0")
    (False, True)
    """
    parser = Parser(text)
    expression = parser.expression()
    parser.finish()
    return expression


class Parser:
    """Reads one text from the left to the right."""

    def __init__(self, text: str, longest: int = LONGEST_QUERY) -> None:
        self.text = text
        self._tokens = tokens_of(text, longest)
        self._next = 0
        self.token = self._tokens[0]
        """The token that comes next."""
        self._nesting = 0

    # ------------------------------------------------------------------ tokens

    @property
    def following(self) -> Token:
        """The one after that."""
        return self._tokens[min(self._next + 1, len(self._tokens) - 1)]

    def advance(self) -> Token:
        """Take the next token; the end can be taken again and again."""
        taken = self.token
        if taken.kind is not Kind.END:
            self._next += 1
            self.token = self._tokens[self._next]
        return taken

    def at(self, *values: str) -> bool:
        """Whether a word or symbol comes next."""
        return self.token.value in values and self.token.kind in _OPERATORS

    def accept(self, value: str) -> bool:
        """Take a word or symbol if it comes next."""
        if self.at(value):
            self.advance()
            return True
        return False

    def expect(self, value: str) -> Token:
        """Take a word or symbol that has to come next."""
        if not self.at(value):
            self.refuse(f"expected {value!r}, but found {self.token.shown}")
        return self.advance()

    def refuse(self, reason: str, hint: str = "", at: int | None = None) -> NoReturn:
        """Say what is wrong, and where."""
        at = self.token.position if at is None else at
        if not hint and "text" in reason and self.text.startswith('"', at):
            hint = "double quotes name a column; use single quotes for text"
        raise InvalidQuery(reason, self.text, at, hint)

    def number(self, reason: str) -> float:
        start, found = self.token.position, self.expression()
        if not isinstance(found, ex.Number):
            self.refuse(reason, at=start)
        return found.value

    def brackets(self, read: Callable[[Parser, str], R]) -> R:
        """Take a name and what its reader reads between brackets."""
        name = self.advance().value.lower()
        self.expect("(")
        found = read(self, name)
        self.expect(")")
        return found

    def finish(self) -> None:
        """Nothing may be left."""
        if self.token.kind is Kind.END:
            return
        reason = f"expected an operator or the end, but found {self.token.shown}"
        before = self._tokens[self._next - 1]
        name = self.token if self.token.kind is Kind.NAME else before
        self.refuse(reason, calls.hint_for_word(before.value) or calls.hint_for_word(name.value))

    # -------------------------------------------------------------- expressions

    def expression(self, level: int = _OR) -> Expression:
        """An expression whose operators bind at least as tightly as the level says."""
        self._nesting += 1
        if self._nesting > _DEEPEST_TEXT:
            self._refuse_depth(self.token.position)
        left = self._prefix(level)
        while (found := self._level()) >= level:
            if found == _COMPARE:
                left = self._comparison(left)
                if self._level() == _COMPARE:
                    hint = "join them with and, or set brackets"
                    self.refuse("comparisons do not chain", hint)
            else:
                operator = self.advance().value
                right = self.expression(found + 1)
                if found <= _AND:
                    left = self.limit(join(operator, left, right))
                else:
                    left = self.limit(ex.Arithmetic(operator, left, right, position=left.position))
        self._nesting -= 1
        return left

    def limit(self, expression: Expression) -> Expression:
        """Every tree passes here as it grows, so that none outgrows the limits."""
        if expression.size > LARGEST_SIZE:
            reason = f"it is too large: more than {LARGEST_SIZE} elements"
            raise InvalidQuery(reason, self.text, hint="split it into several queries")
        # No tree is deeper than it is large, and most are small.
        if expression.size > LARGEST_DEPTH and expression.depth > LARGEST_DEPTH:
            self._refuse_depth(expression.position)
        return expression

    def _refuse_depth(self, position: int) -> NoReturn:
        self.refuse(f"it is nested more than {LARGEST_DEPTH} levels deep", at=position)

    def _level(self) -> int:
        """How tightly the operator binds that comes next; 0 if none does."""
        token = self.token
        return _LEVEL_OF.get(token.value, 0) if token.kind in _OPERATORS else 0

    def _prefix(self, level: int) -> Expression:
        start = self.token.position
        if self.at("not"):
            if level > _NOT:
                self.refuse("not is not expected here", "set brackets: (not ...)")
            self.advance()
            return self.limit(ex.Not(self.expression(_NOT), position=start))
        if self.accept("-"):
            operand = self.expression(_UNARY)
            if isinstance(operand, ex.Number):
                # "+ 0.0" makes zero of minus zero.
                return ex.Number(-operand.value + 0.0, position=start)
            return self.limit(ex.Negate(operand, position=start))
        if self.accept("+"):
            self.refuse("a sign + is not part of the language", "leave it out", at=start)
        return self._primary()

    def _primary(self) -> Expression:
        token = self.token
        start = token.position
        if token.kind is Kind.NUMBER:
            return ex.Number(float(self.advance().value), position=start)
        if token.kind is Kind.TEXT:
            return ex.Text(self.advance().value, position=start)
        if token.kind is Kind.QUOTED:
            return ex.Column(self.advance().value, position=start)
        if token.kind is Kind.NAME:
            self.advance()
            return self._call(token) if self.at("(") else ex.Column(token.value, position=start)
        if self.at("true", "false"):
            return ex.Truth(self.advance().value == "true", position=start)
        if self.accept("null"):
            return ex.Null(position=start)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("case"):
            return self._case(start)
        if self.accept("cast"):
            return self._cast(start)
        return self.refuse(f"expected a value, but found {token.shown}")

    # -------------------------------------------------------------- comparisons

    def _comparison(self, left: Expression) -> Expression:
        start = left.position
        if self.at(*_COMPARISONS):
            operator = self.advance().value
            return self.limit(ex.Compare(operator, left, self.expression(OPERAND), position=start))
        if self.accept("is"):
            return self._is(left)
        negated = self.accept("not")
        if self.accept("between"):
            found = self._between(left)
        elif self.accept("in"):
            found = self.limit(ex.In(left, self._list(), position=start))
        elif self.accept("like"):
            found = self._like(left)
        else:
            self.refuse(f"expected between, in or like, but found {self.token.shown}")
        return self.limit(ex.Not(found, position=start)) if negated else found

    def _is(self, left: Expression) -> Expression:
        start = left.position
        negated = self.accept("not")
        if self.accept("null"):
            found: Expression = ex.IsNull(left, position=start)
        elif self.at("true", "false"):
            truth = self.advance().value == "true"
            asked = left if truth else ex.Not(left, position=start)
            # Unknown is neither true nor false.
            found = ex.Choice("coalesce", (asked, ex.Truth(False, position=start)), position=start)
        else:
            self.refuse(f"expected null, true or false, but found {self.token.shown}")
        found = self.limit(found)
        return self.limit(ex.Not(found, position=start)) if negated else found

    def _between(self, left: Expression) -> Expression:
        low = self.expression(OPERAND)
        self.expect("and")
        high = self.expression(OPERAND)
        above = self.limit(ex.Compare(">=", left, low, position=left.position))
        below = self.limit(ex.Compare("<=", left, high, position=left.position))
        return self.limit(join("and", above, below))

    def _list(self) -> tuple[float | str, ...]:
        self.expect("(")
        values: list[float | str] = []
        while not values or self.accept(","):
            at = self.token.position
            element = self._prefix(_UNARY)
            if not isinstance(element, ex.Number | ex.Text):
                self.refuse("a list may hold only plain numbers or texts", at=at)
            if values and type(values[0]) is not type(element.value):
                self.refuse("a list may hold numbers or texts, not both", at=at)
            values.append(element.value)
        self.expect(")")
        return tuple(values)

    def _like(self, left: Expression) -> Expression:
        pattern = self.advance()
        if pattern.kind is not Kind.TEXT:
            self.refuse("like needs a text, such as 'Os%'", at=pattern.position)
        found = calls.like(left, pattern.value)
        if found is None:
            hint = "a pattern has % at its ends or once between, and no _"
            self.refuse("this pattern is not part of the language", hint, at=pattern.position)
        return self.limit(found)

    # ------------------------------------------------------------------- calls

    def _call(self, name: Token) -> Expression:
        build = calls.BUILDERS.get(name.value.lower())
        if build is None:
            reason = f"there is no function {name.value!r}"
            self.refuse(reason, calls.hint_for_function(name.value), at=name.position)
        self.expect("(")
        arguments: list[Expression] = []
        while not arguments or self.accept(","):
            if self.at(")", "*"):
                self.refuse(f"{name.value} needs values here")
            arguments.append(self.expression())
        self.expect(")")
        built = build(name.value.lower(), arguments, name.position)
        if isinstance(built, str):
            self.refuse(built, at=name.position)
        return self.limit(built)

    def _cast(self, start: int) -> Expression:
        self.expect("(")
        operand = self.expression()
        self.expect("as")
        target = self.advance()
        if target.value.lower() != "number" or target.kind is not Kind.NAME:
            hint = "only cast(x as number) is there; to round write floor(x) or round(x)"
            self.refuse(f"there is no cast to {target.shown}", hint, at=target.position)
        self.expect(")")
        return self.limit(ex.ToNumber(operand, position=start))

    def _case(self, start: int) -> Expression:
        subject = None if self.at("when") else self.expression()
        branches: list[tuple[Expression, Expression]] = []
        while not branches or self.at("when"):
            self.expect("when")
            condition = self.expression()
            if subject is not None:
                compared = ex.Compare("=", subject, condition, position=condition.position)
                condition = self.limit(compared)
            self.expect("then")
            branches.append((condition, self.expression()))
        otherwise = self.expression() if self.accept("else") else ex.Null(position=start)
        self.expect("end")
        return self.limit(ex.Case(tuple(branches), otherwise, position=start))


def join(operator: str, *parts: Expression) -> Expression:
    """One connective, brackets inside of it dissolved: they make no difference."""
    flat: list[Expression] = []
    for part in parts:
        same = isinstance(part, ex.Connective) and part.operator == operator
        flat.extend(part.children if same else (part,))
    return ex.Connective(operator, tuple(flat), position=parts[0].position)
