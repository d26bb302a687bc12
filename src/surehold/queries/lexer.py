"""From text to tokens; everything that is no part of the language is refused here, with a hint."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple

from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.expressions import LARGEST
from surehold.queries.schema import is_hidden
from surehold.queries.side_tables import qualify

LONGEST_QUERY = 10_000
"""Characters of a query."""
LONGEST_SELECTION = 4_000_000
"""Characters of a selection, each of whose candidates is a query."""
LONGEST_TEXT = 1_000
"""Bytes of a text literal, in UTF-8."""
LONGEST_NAME = 128
"""Characters of a column's name."""


class Kind(Enum):
    """What a token is."""

    NUMBER = auto()
    TEXT = auto()
    NAME = auto()
    QUOTED = auto()
    WORD = auto()
    SYMBOL = auto()
    END = auto()


class Token(NamedTuple):
    """A piece of the text; ``value`` is the word in lower case, the symbol, or what is quoted."""

    kind: Kind
    value: str
    position: int

    @property
    def shown(self) -> str:
        """For an error message."""
        return "the end" if self.kind is Kind.END else repr(self.value)


_WORDS = """
    and as between case cast else end false in is like not null or then true when
"""
WORDS = frozenset(_WORDS.split())
"""Words that name no column unless in double quotes."""

BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A name that needs no quotes, if it is none of the words."""

_BLANKS = tuple(" \t\r\n")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_QUOTED = re.compile(r'"([^"]*)"')
_PART = r'(?:[A-Za-z_][A-Za-z0-9_]*|"[^"]+")'
_QUALIFIED = re.compile(rf"({_PART})\.({_PART})")
_SYMBOL = re.compile(r"<>|!=|<=|>=|[-+*/%=<>(),]")

# What users of other languages write, longest first; tried before the symbols.
_SLIPS = {
    "--": ("a comment", "leave it out; for minus a negative number put a blank between"),
    "/*": ("a comment", "leave it out"),
    "//": ("'//'", "for a whole quotient write floor(a / b)"),
    "**": ("'**'", "there are no powers; write a * a"),
    "==": ("'=='", "equality is a single ="),
    "<=>": ("'<=>'", "write a = b or (a is null and b is null)"),
    "=>": ("'=>'", "at least is written >="),
    "=<": ("'=<'", "at most is written <="),
    "&&": ("'&&'", "write and"),
    "||": ("'||'", "for either write or; texts cannot be joined"),
    "::": ("'::'", "a cast is written cast(x as number)"),
    ";": ("the end of a statement", "a query is a single expression"),
    "#": ("'#'", "there are no comments"),
    "&": ("'&'", "write and"),
    "|": ("'|'", "write or"),
    "!": ("'!'", "write not, or <> for unequal"),
    "~": ("'~'", "write not; there are no regular expressions"),
    "^": ("'^'", "there are no powers; write a * a"),
    ".": ("'.'", "a column of a side table is written p.answer, without blanks"),
    "`": ("'`'", 'a column is written bare or in double quotes: "name"'),
    "[": ("'['", "there are no lists; after in they are written ('a', 'b')"),
    "{": ("'{'", "a query is a single expression over columns"),
    "$": ("'$'", "there are no parameters; write the value itself"),
    "?": ("'?'", "there are no parameters; write the value itself"),
    "@": ("'@'", "there are no variables; write the value itself"),
    "\\": ("a backslash", "a quote inside of text is doubled: 'it''s'"),
    **dict.fromkeys("\u2018\u2019\u201c\u201d", ("a curly quote", "write straight quotes: 'Oslo'")),
    "≤": ("'≤'", "write <="),
    "≥": ("'≥'", "write >="),
    "≠": ("'≠'", "write <>"),
}
_SLIP = re.compile("|".join([*map(re.escape, _SLIPS)]).replace("!", "!(?!=)"))


def tokens_of(text: str, longest: int = LONGEST_QUERY) -> list[Token]:
    """All tokens, the end among them.

    >>> [token.value for token in tokens_of("Age >= 1e2 AND city = 'it''s'")]
    ['Age', '>=', '1e2', 'and', 'city', '=', "it's", '']
    """
    if not isinstance(text, str):
        raise InvalidInput("the query", "text", text)
    if len(text) > longest:
        reason = f"it is longer than {longest:,} characters ({len(text):,})"
        raise InvalidQuery(reason, text, hint="split it into several queries")
    _refuse_invisible(text)
    tokens, position = [], _end_of_blanks(text, 0)
    while position < len(text):
        token, position = _token_at(text, position)
        tokens.append(token)
        position = _end_of_blanks(text, position)
    if not tokens:
        raise InvalidQuery("it is empty", text, hint="write an expression, such as age > 65")
    return [*tokens, Token(Kind.END, "", len(text))]


def _refuse_invisible(text: str) -> None:
    """Characters that cannot be seen would let a query in a transcript look like another one."""
    if text.isascii() and text.isprintable():
        return
    for position, character in enumerate(text):
        if is_hidden(character) and character not in _BLANKS:
            reason = f"the invisible character U+{ord(character):04X} is not allowed"
            raise InvalidQuery(reason, text, position, "remove it")


def _end_of_blanks(text: str, position: int) -> int:
    while text.startswith(_BLANKS, position):
        position += 1
    return position


def _token_at(text: str, position: int) -> tuple[Token, int]:
    """The token that begins here, and where the next may."""
    if match := _QUALIFIED.match(text, position):
        return _qualified_name(match, text, position)
    if match := BARE.match(text, position):
        word, end = match[0], match.end()
        if (lowered := word.lower()) in WORDS:
            return Token(Kind.WORD, lowered, position), end
        _refuse_running_on(text, end, "a name", 'put it in double quotes: "name"')
        return Token(Kind.NAME, _short(word, text, position), position), end
    if match := _NUMBER.match(text, position):
        _refuse_running_on(text, match.end(), "a number", "plain digits only: 1000, 0.5 or 1e3")
        if not float(match[0]) <= LARGEST:
            raise InvalidQuery(f"numbers go up to {LARGEST:g}", text, position)
        return Token(Kind.NUMBER, match[0], position), match.end()
    if text[position] == "'":
        return _quoted_text(text, position)
    if text[position] == '"':
        return _quoted_name(text, position)
    if match := _SLIP.match(text, position):
        what, hint = _SLIPS[match[0]]
        raise InvalidQuery(f"{what} is not part of the language", text, position, hint)
    if match := _SYMBOL.match(text, position):
        value = "<>" if match[0] == "!=" else match[0]
        return Token(Kind.SYMBOL, value, position), match.end()
    character = text[position]
    hint = 'a column whose name has such characters is written in double quotes: "name"'
    if character.isspace():
        hint = "write an ordinary blank"
    reason = f"the character {character!r} is not part of the language"
    raise InvalidQuery(reason, text, position, hint)


def _quoted_text(text: str, position: int) -> tuple[Token, int]:
    match = _TEXT.match(text, position)
    if match is None:
        hint = "a quote inside of text is doubled: 'it''s'"
        raise InvalidQuery("a text has no closing quote", text, position, hint)
    value = match[1].replace("''", "'")
    if len(value.encode()) > LONGEST_TEXT:
        raise InvalidQuery(f"texts go up to {LONGEST_TEXT:,} bytes", text, position)
    return Token(Kind.TEXT, value, position), match.end()


def _quoted_name(text: str, position: int) -> tuple[Token, int]:
    match = _QUOTED.match(text, position)
    if match is None:
        raise InvalidQuery("a column's name has no closing quote", text, position)
    if not match[1]:
        hint = "empty text is written in single quotes: ''"
        raise InvalidQuery("a column's name is empty", text, position, hint)
    return Token(Kind.QUOTED, _short(match[1], text, position), position), match.end()


def _qualified_name(match: re.Match[str], text: str, position: int) -> tuple[Token, int]:
    """A column of a side table: ``p.answer``; a word of the language needs quotes before a dot."""
    source, column = match.groups()
    if source.lower() in WORDS:
        hint = f'put it in double quotes: "{source}".{column}'
        raise InvalidQuery(f"{source!r} is a word of the language", text, position, hint)
    hint = 'a side table and its column are two names: p.answer, or "run-17".answer'
    _refuse_running_on(text, match.end(), "a name", hint)
    parts = (_short(part.strip('"'), text, position) for part in (source, column))
    return Token(Kind.QUOTED, qualify(*parts), position), match.end()


def _short(name: str, text: str, position: int) -> str:
    if len(name) > LONGEST_NAME:
        raise InvalidQuery(f"names go up to {LONGEST_NAME} characters", text, position)
    return name


def _refuse_running_on(text: str, end: int, what: str, hint: str) -> None:
    """After a name or a number, a letter, digit or quote needs something between."""
    following = text[end : end + 1]
    if following and (following.isalnum() or following in "_'\".$"):
        raise InvalidQuery(f"{what} runs into {following!r}", text, end, hint)
