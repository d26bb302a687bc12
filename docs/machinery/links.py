"""Links out of docs/: the site has no files but its own, so what they lead to becomes a page."""

import posixpath
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
}
"""Files of the repository that have a page of their own on the site."""

# How text is shown on a page; files of other kinds are handed over as they are.
_SHOWN = {
    "": "text",
    ".cff": "yaml",
    ".md": "",
    ".py": "python",
    ".toml": "toml",
    ".txt": "text",
    ".yaml": "yaml",
    ".yml": "yaml",
}

_CODE = re.compile(r"^( *)(```+|~~~+).*?^\1\2|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s]+)((?:\s+\"[^\"]*\")?\))")


def links(text: str) -> list[str]:
    """Where the links and pictures of a page lead, those in code left out.

    >>> links("[a](b.md#c) ![d](e.png 'f') `[g](h)` [i](j.md \\"k\\")")
    ['b.md#c', 'j.md']
    """
    return [link[2] for link in _LINK.finditer(_CODE.sub("", text))]


def relinked(text: str, target: Callable[[str], str]) -> str:
    """A page with every link replaced by its ``target``, those in code left alone.

    >>> relinked("[a](b) `[c](d)`", str.upper)
    '[a](B) `[c](d)`'
    """
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [_relinked(text[end : code.start()], target), code[0]]
        end = code.end()
    return "".join([*parts, _relinked(text[end:], target)])


def _relinked(text: str, target: Callable[[str], str]) -> str:
    return _LINK.sub(lambda link: f"{link[1]}{target(link[2])}{link[3]}", text)


def in_repository(link: str, origin: str) -> str | None:
    """The path in the repository that a link from a file leads to; None if it leads elsewhere.

    >>> in_repository("../../tests/support/runtime.py", "docs/reference/plan.md")
    'tests/support/runtime.py'
    >>> in_repository("https://example.org", "README.md")
    """
    path = link.partition("#")[0]
    if not path or re.match(r"[a-z]+:|/", link):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))


def page_of(path: str, root: Path) -> str | None:
    """The page of the site for a file of the repository; None if there is no such file.

    >>> page_of("docs/reference/plan.md", Path()), page_of("CHANGELOG.md", Path())
    ('reference/plan.md', 'changelog.md')
    """
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("../") or not (root / path).is_file():
        return None
    return f"files/{path}.md" if PurePosixPath(path).suffix in _SHOWN else f"files/{path}"


def site_link(link: str, origin: str, page: str, root: Path) -> str:
    """A link of a file, as it must be written on that file's page; a dead one as it is.

    >>> site_link("docs/reference/plan.md#the-words", "CHANGELOG.md", "changelog.md", Path())
    'reference/plan.md#the-words'
    >>> site_link("../nothing.md", "docs/index.md", "index.md", Path())
    '../nothing.md'
    """
    path = in_repository(link, origin)
    target = None if path is None else page_of(path, root)
    if target is None:
        return link
    _, mark, anchor = link.partition("#")
    return posixpath.relpath(target, posixpath.dirname(page)) + mark + anchor


def as_page(path: str, text: str) -> str:
    """The text of a file as a page of the site: Markdown as it is, anything else shown as code."""
    suffix = PurePosixPath(path).suffix
    return (
        text if suffix == ".md" else f"# {path}\n\n`````{_SHOWN[suffix]}\n{text.rstrip()}\n`````\n"
    )
