"""Retirement: a dataset that is only read from now on, because its custodian has retired it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from surehold import files
from surehold.checks import check_text
from surehold.display import Shown
from surehold.errors import RequestRefused
from surehold.session.results import when

FILE = "retired.json"
_LONGEST_REASON = 1_000


@dataclass(frozen=True, repr=False)
class Retirement(Shown):
    """When a dataset was retired, by whom and why."""

    time: str
    by: str
    reason: str


def retire(
    folder: Path, by: str, reason: str, clock: Callable[[], float] = time.time
) -> Retirement:
    """Retire a dataset; if it is retired already, that stays as it is."""
    check_text("reason", reason, _LONGEST_REASON)
    found = read(folder)
    if found is not None:
        return found
    made = Retirement(when(clock()), by, reason)
    text = json.dumps({"format": 1, **made.to_dict()}, ensure_ascii=False)
    files.write_file(folder / FILE, text.encode(), "retiring the dataset")
    return made


def read(folder: Path) -> Retirement | None:
    """Return the retirement of a dataset, if there is one; a damaged file counts as one."""
    path = folder / FILE
    try:
        if not path.exists():
            return None
        kept = json.loads(path.read_bytes())
        return Retirement(str(kept["time"]), str(kept["by"]), str(kept["reason"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Retirement("unknown", "unknown", f"{FILE} cannot be read")


def check_active(folder: Path) -> None:
    """Refuse asks and appends of a retired dataset."""
    found = read(folder)
    if found is not None:
        reason = f"this dataset was retired on {found.time[:10]}: {found.reason}"
        raise RequestRefused(410, reason, "status, transcript and verify still work")
