"""Lists as GitHub reads them: Python-Markdown wants four blanks, and an empty line before."""

import re
from collections.abc import Iterator

_ITEM = re.compile(r"( *)(?:[-*+]|\d+[.)]) ")
_FENCE = re.compile(r" *(```+|~~~+)")


def as_on_github(text: str) -> str:
    """The same lists, written so that both readers agree.

    >>> print(as_on_github("Two:\\n- one,\\n  still one\\n  - below it\\n- two"))
    Two:
    <BLANKLINE>
    - one,
        still one
        - below it
    - two
    """
    return "\n".join(line for block in _blocks(text.split("\n")) for line in _deeper(block))


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Lists, each as a whole, and what is between them; an empty line before each list."""
    block: list[str] = []
    is_list, fence = False, ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and line.strip() == fence else fence
        elif mark:
            fence = mark[1]
        starts = not fence and bool(_ITEM.match(line)) and not line.startswith("    ")
        goes_on = is_list and (not line or line.startswith(" ") or starts or bool(block[-1]))
        if starts and not is_list:
            yield [*block, ""] if block and block[-1] else block
            block, is_list = [], True
        elif is_list and not goes_on:
            yield block
            block, is_list = [], False
        block.append(line)
    yield block


def _deeper(block: list[str]) -> list[str]:
    """A list whose items are indented by two or three blanks, with twice as many."""
    if not block or not _ITEM.match(block[0]):
        return block
    depths = [len(line) - len(line.lstrip()) for line in block if line.strip()]
    if not {2, 3} & set(depths):
        return block
    deeper, fence, extra = [], "", ""
    for line in block:
        mark = _FENCE.match(line)
        if not fence:
            extra = " " * (len(line) - len(line.lstrip()))
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = ""
        deeper.append(extra + line if line.strip() else line)
    return deeper
