"""What is found out about a model before any record is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from surehold.data.process.blocks import EVERY, Like
from surehold.data.process.channel import Gone
from surehold.data.process.crew import Crew, Loaded, unfit
from surehold.errors import InvalidInput

CELLS = (64, 512, 4096, 65536)
"""Records per call of a model: enough that the shape of a call does not affect the last bit, and
multiples of what vector instructions take."""
FEW = (1, 8)
"""Records per call of a model that needs much time or memory for each."""
MOST_NUMBERS = 1 << 22
"""Records times columns of a cell, unless it is of the smallest size."""
MOST_TEXTS = 1 << 12
"""The same for columns of texts, of which each takes much more."""
_UNTRIED = 512
_ROWS = 3
_QUICK = 0.25
"""Seconds that a call may take: an evaluation of few records costs one, and so does a search."""


@dataclass(frozen=True)
class Probe:
    """How a model behaves.

    ``cell`` is the number of records per call, and ``seconds`` about what a call takes. ``raises``
    says that it raised on made-up rows, as the analyst's own code may rightly do. ``gaps`` are the
    columns in which it does not accept a missing value: an estimator that gives a value for made-up
    rows, but raises when a column of them is missing, is assumed to do so for all records, which
    then get no value without a call.
    """

    loaded: Loaded
    cell: int
    seconds: float
    raises: bool
    gaps: tuple[str, ...]


def probed(crew: Crew, seconds: float, cell: int | None) -> Probe:
    """Load and try the model, unless that was done before."""
    known = crew.probes.get((cell, seconds))
    if known is None:
        prober = _Prober(crew, seconds)
        is_onnx = crew.order.payload.kind == "onnx"
        known = prober.onnx(cell) if is_onnx else prober.own_code(cell)
        crew.probes[cell, seconds] = known
    else:
        crew.ready()
    return known


def sizes(columns: Iterable[tuple[str, str]], most: int = CELLS[-1]) -> list[int]:
    """Return sizes of cells that take little memory."""
    kinds = [kind for _, kind in columns]
    most = min(most, MOST_NUMBERS // len(kinds))
    if "str" in kinds:
        most = min(most, MOST_TEXTS // kinds.count("str"))
    return [cell for cell in CELLS if cell <= max(most, CELLS[0])]


class _Prober:
    def __init__(self, crew: Crew, seconds: float) -> None:
        self._crew, self._seconds = crew, seconds
        self._reason = ""
        crew.ready()
        assert crew.loaded is not None
        self._loaded = crew.loaded

    def onnx(self, cell: int | None) -> Probe:
        """Find the largest cell that is quick and fits the memory, with made-up rows of every kind.

        No record decides whether an ONNX model fails, so one that fails on made-up rows is refused.
        """
        loaded = self._loaded
        candidates = [*FEW, *sizes(loaded.columns)] if cell is None else [cell]
        quick, took = [candidates[0]], 0.0
        for size in candidates[1:]:
            outcome, seconds = self._tried(size, 2)
            if outcome != "fine" or seconds > _QUICK:
                break
            quick.append(size)
            # Some 8 times as many records; that it takes 8 times as long is the worst to expect.
            if seconds * 8 > _QUICK:
                break
        for size in reversed(quick):
            outcome, took = self._all_kinds(size)
            if outcome == "fine":
                return Probe(loaded, size, took, False, ())
        if outcome == "raised":
            required = "one that gives a value for every record"
            hint = "it was tried on made-up records; nothing was charged"
            raise InvalidInput("the model", required, f"one that raises {self._reason}", hint)
        raise unfit(f"it exceeds its limits of time or memory for {size:,} made-up records")

    def _all_kinds(self, rows: int) -> tuple[str, float]:
        """Try rows of every kind twice; return the outcome and the time of the slowest kind.

        The first call takes the memory that later ones find.
        """
        longest = 0.0
        for like, gap in _KINDS:
            tries = [self._tried(rows, like, gap) for _ in range(2)]
            failed = next((outcome for outcome, _ in tries if outcome != "fine"), None)
            if failed is not None:
                return failed, 0.0
            longest = max(longest, min(seconds for _, seconds in tries))
        return "fine", longest

    def own_code(self, cell: int | None) -> Probe:
        """Find the largest quick cell; a small one if it raises, as it may rightly do on zeros.

        A model that fails at the requested size gets one record at a time.
        """
        loaded = self._loaded
        outcome, took = "raised", 0.0
        like: Like = 0
        for like in (0, 1):
            outcome, took = self._tried(_ROWS if cell != 1 else 1, like)
            if outcome == "fine":
                break
        if outcome != "fine":
            check_slip(self._reason)
            return Probe(loaded, cell or sizes(loaded.columns, _UNTRIED)[-1], 0.0, True, ())
        if cell is None:
            cell, took = self._measured(like, sizes(loaded.columns))
        elif cell > _ROWS:
            outcome, took = self._tried(cell, like)
            if outcome != "fine":
                return Probe(loaded, 1, 0.0, True, ())
        gaps: tuple[str, ...] = ()
        if self._crew.order.payload.kind == "sklearn":
            gaps = tuple(
                name
                for at, (name, _) in enumerate(loaded.columns)
                if self._tried(_ROWS, like, at)[0] == "raised"
            )
        return Probe(loaded, cell, took, False, gaps)

    def _measured(self, like: Like, candidates: list[int]) -> tuple[int, float]:
        """Find the largest quick cell from below; one record if not even the smallest works."""
        cell, took = 1, 0.0
        for following in candidates:
            if took * (following / cell) > _QUICK:
                break
            outcome, seconds = self._tried(following, like)
            if outcome != "fine" or (seconds > _QUICK and following > CELLS[0]):
                break
            cell, took = following, seconds
        while cell > 1 and took > _QUICK * 4:
            cell, took = cell // 2, took / 2
        return cell, took

    def _tried(self, rows: int, like: Like, gap: int | None = None) -> tuple[str, float]:
        """Return the outcome for made-up rows, and the seconds it took."""
        child, reply = self._crew.ready(), None
        trouble = f"it takes over {self._seconds:g} seconds for three made-up rows"
        try:
            child.send({"do": "probe", "rows": rows, "like": like, "gap": gap})
            reply = child.wait(self._seconds)
        except Gone:
            trouble = "it ends its process on made-up rows"
        finally:
            if reply is None:
                child.kill()
        small = rows <= _ROWS and gap is None
        if reply is None:
            if small:
                raise unfit(trouble)
            return "lost", 0.0
        outcome, seconds = str(reply.get("outcome")), float(reply.get("seconds", 0.0))
        self._reason = str(reply.get("reason", ""))[:300]
        if outcome == "wrong" and small:
            required, _, got = self._reason.partition(", not ")
            raise InvalidInput("the model", f"one that returns {required[:200]}", got)
        return outcome, seconds


_KINDS: tuple[tuple[Like, int | None], ...] = ((0, None), (2, None), (2, EVERY))


def check_slip(reason: str) -> None:
    """Refuse a model that raises an error that no record can cause.

    Other errors, on made-up rows, are accepted: zeros may be out of its range.
    """
    if reason.split(":")[0] in _SLIPS:
        required = "one that can be called on records"
        hint = "it was tried on a made-up record; nothing was charged"
        raise InvalidInput("the model", required, f"one that raises {reason}", hint)


_SLIPS = {
    "AttributeError",
    "ImportError",
    "IndexError",
    "ModuleNotFoundError",
    "NameError",
    "NotImplementedError",
    "TypeError",
    "UnboundLocalError",
}
