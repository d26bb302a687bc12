"""Docstrings as the site shows them: an extension of griffe, which reads them for mkdocstrings.

In the source they are plain text with a few marks of reStructuredText, and examples for doctest.
Markdown takes the marks for text and every ``>>>`` for a quotation of a quotation.
"""

import re
from collections.abc import Mapping

import griffe

import surehold

_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`(~?)\.?([^`]+)`")
_EXAMPLE = re.compile(r"^( *)>>> ")
# Nobody makes an object of these classes, so what counts is what it carries.
_HANDED_OUT = (
    "surehold.errors.",
    "surehold.lab.report.",
    "surehold.planning.",
    "surehold.session.",
)


def as_markdown(text: str) -> str:
    """A docstring as Markdown.

    >>> print(as_markdown("See :func:`plan` and :meth:`~Session.ask`, not :mod:`.rows`."))
    See [`plan`][surehold.plan] and [`ask`][surehold.Session.ask], not `rows`.
    >>> as_markdown("One more:\\n\\n>>> 1 + 1\\n2\\n\\nThat was it.").split("\\n")
    ['One more:', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'That was it.']
    """
    return _fenced(_ROLE.sub(_linked, text))


def _linked(role: re.Match[str]) -> str:
    """A public name leads to its entry; any other is code."""
    path = role[2].removeprefix("surehold.")
    shown = path.rpartition(".")[2] if role[1] else role[2]
    if path.partition(".")[0] in surehold.__all__:
        return f"[`{shown}`][surehold.{path}]"
    return f"`{shown}`"


def _fenced(text: str) -> str:
    """Every example, up to the empty line after it, in a fence of its own."""
    lines: list[str] = []
    indent: str | None = None  # that of the example under way
    for line in [*text.splitlines(), ""]:
        start = _EXAMPLE.match(line)
        if start and indent is None:
            indent = start[1]
            lines.append(f"{indent}```pycon")
        elif not line.strip() and indent is not None:
            lines.append(f"{indent}```")
            indent = None
        lines.append(line)
    return "\n".join(lines).rstrip("\n")


def with_attributes(text: str, attributes: Mapping[str, str]) -> str:
    """A class's docstring, and below it what its objects carry.

    >>> with_attributes("A point.", {"x": "float"}).split("\\n")
    ['A point.', '', '```python', 'x: float', '```']
    """
    if not attributes:
        return text
    lines = "\n".join(f"{name}: {kind}" for name, kind in attributes.items())
    return f"{text}\n\n```python\n{lines}\n```"


class Docstrings(griffe.Extension):
    """Every docstring that is read, and the attributes of what the library hands out."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Called for everything that has been read."""
        if obj.docstring is None:
            return
        obj.docstring.value = as_markdown(obj.docstring.value)
        if isinstance(obj, griffe.Class) and obj.path.startswith(_HANDED_OUT):
            carried = _attributes(obj)
            obj.docstring.value = with_attributes(obj.docstring.value, carried)


def _attributes(cls: griffe.Class) -> dict[str, str]:
    """The public attributes of a class with their types, as they or ``__init__`` declare them."""
    made = cls.members.get("__init__")
    given = {} if not isinstance(made, griffe.Function) else {p.name: p for p in made.parameters}
    found = {}
    for name, attribute in cls.attributes.items():
        kind = attribute.annotation or (given[name].annotation if name in given else None)
        if attribute.is_public and kind is not None and "property" not in attribute.labels:
            found[name] = str(kind)
    return found
