"""Tests and functions of texts on their UTF-8 bytes, with the same work for every record.

A column's bytes lie side by side. For every record, a window of a fixed width is copied, whatever
the text's own length; bytes after the text's end are masked; and the whole window is processed. So
the time depends on the width, which the query decides, and otherwise only on how long it takes to
gather the column's bytes, of which each record has at most LONGEST_READ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from surehold.data.engines.polars_arrays import Cells, Truths, Words, known_of
from surehold.queries.expressions import LONGEST_READ

Bytes: TypeAlias = NDArray[np.uint8]
Letters: TypeAlias = str | None
"""``lower``, ``upper`` or, as it is, None."""

_BLOCK_BYTES = 1 << 18
"""Of windows that are looked at at once: so few that they stay in a cache."""
_NEVER = 0xFF
"""A byte that no text in UTF-8 has."""
_ROW = LONGEST_READ + 8
"""A window of a whole text, and at least a byte behind it that no text has."""
_NUMERAL_ROW = 72
"""A window of the longest numeral, of 66 bytes, and its end."""


class Texts:
    """The texts of a column: where each begins, how long it is, and which are known."""

    def __init__(self, column: pl.Series) -> None:
        array = column.to_arrow(compat_level=pl.CompatLevel.oldest())
        _, offsets, data = array.buffers()
        first = array.offset
        edges = np.frombuffer(offsets, np.int64)[first : first + len(array) + 1]
        self.known = known_of(array)
        self._start: Cells = edges[:-1] - edges[0]
        self.length: Cells = edges[1:] - edges[:-1]
        held = int(edges[-1] - edges[0])
        # Windows of the last texts reach beyond the end.
        self._bytes = np.empty(held + _ROW, np.uint8)
        if held:
            self._bytes[:held] = np.frombuffer(data, np.uint8)[edges[0] : edges[-1]]
        self._bytes[held:] = 0
        if held and self.length.max() > LONGEST_READ:
            # Not on the records of an engine, which cuts texts when they arrive.
            self.length = self._cut()

    def __len__(self) -> int:
        return self.length.size

    def _cut(self) -> Cells:
        """Limit lengths to LONGEST_READ bytes, at the end of a code point."""
        last = self._windows(4, self._start + (LONGEST_READ - 3))
        within = last.view(np.int8) < -64
        back = within[:, 3].astype(np.int64)
        back += within[:, 3] & within[:, 2]
        back += within[:, 3] & within[:, 2] & within[:, 1]
        over = self.length > LONGEST_READ
        return np.where(over, LONGEST_READ - back, self.length)

    def _windows(self, width: int, at: Cells) -> Bytes:
        places = self._bytes.size - width + 1
        every = np.ndarray((places,), f"V{width}", self._bytes, strides=(1,))
        return every[at].view(np.uint8).reshape(-1, width)

    def blocks(self, width: int) -> Iterator[slice]:
        """Split the records into blocks whose windows of this width fit a cache."""
        step = max(_BLOCK_BYTES // width, 1)
        return (slice(at, at + step) for at in range(0, len(self), step))

    def first(self, block: slice, width: int, letters: Letters = None) -> Bytes:
        """Return the first bytes of each text, with whatever follows its end."""
        return fold_case(self._windows(width, self._start[block]), letters)

    def last(self, block: slice, width: int, kept: int, letters: Letters = None) -> Bytes:
        """Return the last ``kept`` bytes of each text that is long enough, and what follows."""
        at = self._start[block] + np.maximum(self.length[block] - kept, 0)
        return fold_case(self._windows(width, at), letters)

    def fill(self, block: slice, width: int, filling: int, letters: Letters = None) -> Bytes:
        """Return the first bytes of each text, filled up after its end."""
        found = self.first(block, width, letters)
        masks = _masks(width)
        within = masks[np.minimum(self.length[block], width)].view(np.uint8).reshape(-1, width)
        if filling:
            return np.bitwise_or(found, np.invert(within, out=within), out=found)
        return np.bitwise_and(found, within, out=found)


def cut_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Cut texts to LONGEST_READ bytes, keeping as many leading code points as fit.

    >>> cut_texts(pl.DataFrame({"s": ["a" * 255 + "é", "é"]}))["s"].str.len_bytes().to_list()
    [255, 2]
    """
    for column in frame.iter_columns():
        if column.dtype == pl.String:
            at = (column.str.len_bytes() > LONGEST_READ).arg_true()
            if len(at):
                long = column.gather(at).to_list()
                short = [text.encode()[:LONGEST_READ].decode(errors="ignore") for text in long]
                frame = frame.with_columns(column.scatter(at, short))
    return frame


@cache
def _masks(width: int) -> NDArray[np.void]:
    """Return for each length a mask of the bytes within a text, all bits set."""
    within = np.arange(width) < np.arange(width + 1)[:, None]
    return (within * np.uint8(255)).view(f"V{width}")[:, 0]


def fold_case(found: Bytes, letters: Letters) -> Bytes:
    """Change ASCII letters to lower or upper case, in place."""
    if letters is not None:
        letter = found - np.uint8(ord("A" if letters == "lower" else "a"))
        found ^= (letter < 26).view(np.uint8) << np.uint8(5)
    return found


def rounded_up(width: int) -> int:
    """Round up to a whole number of words, at least one."""
    return max(-(-width // 8), 1) * 8


def words_of(texts: Bytes) -> Words:
    """View windows as words that sort like their bytes."""
    return texts.view(np.dtype(">u8")).astype(np.uint64)


def _pad(text: bytes) -> tuple[Bytes, Bytes]:
    """Return a text and its mask as a window of whole words."""
    width = rounded_up(len(text))
    window = np.frombuffer(text.ljust(width, b"\0"), np.uint8)
    return window, (np.arange(width) < len(text)) * np.uint8(255)


def _each(texts: Texts, width: int, test: Callable[[slice], NDArray[np.generic]]) -> Truths:
    found = np.empty(len(texts), np.bool_)
    for block in texts.blocks(width):
        found[block] = test(block)
    return found


# ------------------------------------------------------------------------------- tests


def edge_is(texts: Texts, part: bytes, letters: Letters, at_end: bool) -> Truths:
    """Check whether each text begins, or ends, with another."""
    if len(part) > LONGEST_READ:
        return np.zeros(len(texts), np.bool_)
    window, mask = _pad(part)
    wanted, within = window.view(np.uint64), mask.view(np.uint64)

    def test(block: slice) -> Truths:
        if at_end:
            found = texts.last(block, window.size, len(part), letters).view(np.uint64)
        else:
            found = texts.first(block, window.size, letters).view(np.uint64)
        differs = (found[:, 0] ^ wanted[0]) & within[0]
        for at in range(1, wanted.size):
            differs |= (found[:, at] ^ wanted[at]) & within[at]
        same: Truths = differs == 0
        same &= texts.length[block] >= len(part)
        return same

    return _each(texts, window.size, test)


def contains(texts: Texts, part: bytes, letters: Letters) -> Truths:
    """Check whether each text contains another: try all places, and all bytes at each."""
    if not part:
        return np.ones(len(texts), np.bool_)
    if len(part) > LONGEST_READ:
        return np.zeros(len(texts), np.bool_)

    def test(block: slice) -> Truths:
        # Rows end with a byte that no text has, so that no match reaches into the next.
        rows = texts.fill(block, _ROW, _NEVER, letters)
        flat = rows.reshape(-1)
        begins = np.zeros(flat.size, np.bool_)
        places = flat.size - len(part) + 1
        there, same = begins[:places], np.empty(places, np.bool_)
        np.equal(flat[:places], part[0], out=there)
        for at in range(1, len(part)):
            np.equal(flat[at : at + places], part[at], out=same)
            np.logical_and(there, same, out=there)
        found: Truths = np.bitwise_or.reduce(begins.view(np.uint64).reshape(-1, _ROW // 8), 1) != 0
        return found

    return _each(texts, 4 * _ROW, test)


def compare(texts: Texts, value: bytes, letters: Letters) -> tuple[Truths, Truths]:
    """Check whether each text is less than another, and whether they are equal."""
    # No text reaches beyond: where all of it is the same, the longer one is greater.
    window, _ = _pad(value[:LONGEST_READ])
    width, wanted = window.size, words_of(window)
    less, same = np.empty(len(texts), np.bool_), np.empty(len(texts), np.bool_)
    for block in texts.blocks(2 * width):
        found = words_of(texts.fill(block, width, 0, letters)) if value else None
        lengths = texts.length[block]
        less[block], same[block] = _order(found, wanted, lengths, np.int64(len(value)))
    return less, same


def compare_columns(
    texts: Texts, letters: Letters, others: Texts, other_letters: Letters
) -> tuple[Truths, Truths]:
    """Do the same for the texts of two columns."""
    less, same = np.empty(len(texts), np.bool_), np.empty(len(texts), np.bool_)
    for block in texts.blocks(4 * LONGEST_READ):
        found = words_of(texts.fill(block, LONGEST_READ, 0, letters))
        wanted = words_of(others.fill(block, LONGEST_READ, 0, other_letters))
        less[block], same[block] = _order(
            found, wanted.T, texts.length[block], others.length[block]
        )
    return less, same


def _order(
    found: Words | None, wanted: Words, length: Cells, wanted_length: Cells | np.int64
) -> tuple[Truths, Truths]:
    """Compare by the first word that differs; if none does, the shorter text is less."""
    less: Truths = length < wanted_length
    same: Truths = length == wanted_length
    if found is None:
        return less, same
    for at in reversed(range(found.shape[1])):
        word, other = found[:, at], wanted[at]
        alike = word == other
        less &= alike
        less |= word < other
        same &= alike
    return less, same


# --------------------------------------------------------------------------- functions


def code_points(texts: Texts) -> NDArray[np.float64]:
    """Count the code points of each text: its bytes except continuation bytes."""
    found = np.empty(len(texts), np.float64)
    for block in texts.blocks(2 * _ROW):
        rows = texts.fill(block, LONGEST_READ, _NEVER)
        continued = (rows.view(np.int8) < -64).view(np.uint64)
        found[block] = texts.length[block] - np.bitwise_count(continued).sum(axis=1, dtype=np.int64)
    return found


def are_numerals(texts: Texts) -> Truths:
    """Check whether each whole text is a number: language.md, "Casts"."""
    kinds, moves, accepted = _automaton()

    def test(block: slice) -> Truths:
        rows = texts.fill(block, _NUMERAL_ROW, _NEVER)
        # A column after the other: a step of all records at once.
        steps = kinds.take(rows.T)
        state = np.zeros(steps.shape[1], np.intp)
        for step in steps:
            state += step
            state = moves.take(state)
        return accepted.take(state)

    return _each(texts, 4 * _NUMERAL_ROW, test)


@cache
def _automaton() -> tuple[NDArray[np.intp], NDArray[np.intp], Truths]:
    """Return the kind of each byte, the next state (times 8) for each, and which accept.

    A window has more bytes than the longest numeral, so that the end of every numeral is seen.
    """
    digit, sign, point, power, end, other = range(6)
    kinds = np.full(256, other, np.intp)
    kinds[list(b"0123456789")], kinds[list(b"+-")], kinds[ord(".")] = digit, sign, point
    kinds[list(b"eE")], kinds[_NEVER] = power, end
    whole, part = ([f"{name} {i}" for i in range(1, 31)] for name in ("whole", "part"))
    names = ["start", "signed", *whole, "point", *part, "power", "power signed"]
    names += ["raised 1", "raised 2", "done", "refused"]
    state = {name: 8 * at for at, name in enumerate(names)}
    moves = np.full(8 * len(names), state["refused"], np.intp)

    def move(before: Sequence[str], kind: int, after: Sequence[str]) -> None:
        for one, following in zip(before, after, strict=True):
            moves[state[one] + kind] = state[following]

    move(["start"], sign, ["signed"])
    move(["start", "signed", "point"], digit, [whole[0], whole[0], part[0]])
    for digits in (whole, part):
        move(digits[:-1], digit, digits[1:])
        move(digits, power, ["power"] * 30)
        move(digits, end, ["done"] * 30)
    move(whole, point, ["point"] * 30)
    move(["power"], sign, ["power signed"])
    move(["power", "power signed", "raised 1"], digit, ["raised 1", "raised 1", "raised 2"])
    move(["raised 1", "raised 2", "done"], end, ["done"] * 3)
    accepted = np.zeros(8 * len(names), np.bool_)
    accepted[state["done"]] = True
    return kinds, moves, accepted
