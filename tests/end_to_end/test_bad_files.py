"""Files that the command refuses: each time with exit code 2, and never with an abort."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import csv

import surehold as sh
from support.runtime import COLUMNS, batch_plan, made
from support.soak import length
from surehold.data.csv_files import csv_texts
from surehold.data.file_formats import Dialect
from surehold.queries import Schema

RUNS = length(12, full=500)
FILES = {
    "ragged.csv": "age,bmi,city\n30,21.5,Oslo\n31\n32,20.5,Bergen\n",
    "long.csv": "age,bmi,city\n30,21.5,Oslo\n31,20.5,Oslo,Bergen\n",
    "semicolons.csv": "age;bmi;city\n30;21.5;Oslo\n31;20.5;Bergen\n",
    "later.csv": "age,bmi,city\n" + "30,21.5,Oslo\n" * 2_000 + "31\n",
}


def test_arrow_is_given_no_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause of it: a thread of Arrow's let go of one when the interpreter was gone already."""
    opened: list[Any] = []
    open_csv = csv.open_csv

    def noted(path: Path, read: Any, parse: Any, convert: Any) -> Any:
        opened.append(parse)
        return open_csv(path, read, parse, convert)

    monkeypatch.setattr(csv, "open_csv", noted)
    path = tmp_path / "ragged.csv"
    path.write_text(FILES["ragged.csv"])
    with pytest.raises(sh.BadRecord, match="record 2"):
        list(csv_texts(path, Dialect(), Schema.of(COLUMNS)))
    assert [parse.invalid_row_handler for parse in opened] == [None]


def test_every_run_ends_with_exit_code_2(tmp_path: Path) -> None:
    """Arrow's threads outlived the interpreter and called back into it: 8 of 20 runs aborted."""
    assert set(COLUMNS) == {"age", "bmi", "city"}
    made(tmp_path / "data", batch_plan(), count=0).close()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def run(number: int) -> tuple[int, str]:
        path = tmp_path / list(FILES)[number % len(FILES)]
        command = [sys.executable, "-m", "surehold", "append", str(tmp_path / "data"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        return done.returncode, done.stderr

    ends = [run(number) for number in range(RUNS)]
    amiss = [end for end in ends if end[0] != 2 or not end[1].startswith("surehold: ")]
    assert not amiss, f"{len(amiss)} of {RUNS}: {amiss[0]}"
