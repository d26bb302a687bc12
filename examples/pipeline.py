"""Records arrive as a stream, the worker that appends them is killed, and nothing counts twice.

A producer writes one NDJSON file per day to a folder. A worker appends each file, asks the question
of the day, and adds a line to a report. It is killed twice, at the worst moments: when an append is
durable but not yet acknowledged, and when an answer is. The worker keeps no state. An append is
kept completely or not at all, so the number of records in the dataset says which files are in. The
question has a key, so the lost answer is returned again, uncharged, although more records have
arrived by then. One file has a bad record, which is repaired and not dropped: what is appended must
not depend on record values.

    python examples/pipeline.py [FOLDER]
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

import surehold as sh

DAYS, DAILY = 8, 5_000
BAD_DAY = 7
KILLS = ("day 3, after the append", "day 5, after the answer", "never")
COLUMNS = {"minutes": "float", "phone": "bool", "bought": "bool"}
QUESTION = "bought and phone"


# ------------------------------------------------------------------------------- the producer


def produce(spool: Path, random: np.random.Generator) -> None:
    """Write a file per day: visits to a shop, one JSON object per line."""
    for day in range(1, DAYS + 1):
        phone = random.random(DAILY) < 0.5
        bought = random.random(DAILY) < np.where(phone, 0.2, 0.4)
        minutes = random.exponential(5, DAILY).round(2)
        lines = [
            json.dumps({"minutes": m, "phone": bool(p), "bought": bool(b)})
            for m, p, b in zip(minutes.tolist(), phone, bought, strict=True)
        ]
        if day == BAD_DAY:
            lines[1_699] = '{"minutes": "n/a", "phone": true, "bought": false}'
        # Written elsewhere and renamed, so that the worker never sees half a file.
        (spool / f"{day}.part").write_text("\n".join(lines) + "\n")
        (spool / f"{day}.part").rename(spool / f"day-{day:02}.ndjson")


# --------------------------------------------------------------------------------- the worker


def records_in(file: Path) -> int:
    return sum(1 for line in file.read_text().splitlines() if line.strip())


def feed(dataset: sh.Dataset, file: Path) -> None:
    """Append one file; repair a bad record by a rule that was fixed beforehand."""
    try:
        print(f"  {file.name}: {dataset.append(file)}")
    except sh.BadRecord as error:
        print(f"  {file.name}: {error}")
        repaired = file.read_text().replace('"n/a"', "null")  # a missing value is allowed
        file.write_text(repaired)
        print(f"  {file.name}, repaired: {dataset.append(file)}")


def work(folder: Path, kill: str) -> None:
    """Process whatever is in the spool and not done yet; safe to restart at any time."""

    def die_if_due(moment: str) -> None:
        if kill == moment:
            print(f"  killed: {moment}", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

    report = folder / "report.txt"
    reported = report.read_text().split() if report.exists() else []
    with sh.open(folder / "visits") as dataset:
        session = dataset.session(analyst="worker")
        before = 0
        for day, file in enumerate(sorted((folder / "spool").glob("day-*.ndjson")), start=1):
            after = before + records_in(file)
            if dataset.n < after:
                assert dataset.n == before  # always whole files
                feed(dataset, file)
                die_if_due(f"day {day}, after the append")
            before = after
            if after < dataset.plan.n0 or file.name in reported:
                continue
            answer = session.ask(QUESTION, key=f"daily/{file.name}")
            die_if_due(f"day {day}, after the answer")
            cost = "recorded, free" if answer.recorded else "charged"
            print(f"  {file.name}: {answer}  ({cost})")
            with report.open("a") as lines:
                lines.write(f"{file.name} {answer.value:.3f} n={answer.round}\n")


# --------------------------------------------------------------------------------- the story


def say(text: str) -> None:
    print(f"\n==> {text}", flush=True)


def main(folder: Path) -> None:
    folder = folder / "pipeline"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "spool").mkdir(parents=True)

    say("plan: from 10,000 to 100,000 visits, every fraction within ±0.1 with probability 95 %")
    plan = sh.plan(n0=2 * DAILY, n=20 * DAILY, alpha=0.1, beta=0.05)
    sh.create(folder / "visits", plan=plan, columns=COLUMNS).close()
    produce(folder / "spool", np.random.default_rng(20261119))
    print(f"{plan.paces.evenly:,} answers fit if asked evenly; {DAYS} files will arrive")

    for run, kill in enumerate(KILLS, start=1):
        say(f"run {run} of the worker (to be killed: {kill})")
        worker = [sys.executable, __file__, str(folder), "--worker", kill]
        ended = subprocess.run(worker).returncode
        assert ended == (0 if kill == "never" else -signal.SIGKILL)
        if kill.endswith("after the answer"):
            say("while it is down, someone appends the next file by hand")
            with sh.open(folder / "visits") as dataset:
                feed(dataset, folder / "spool" / "day-06.ndjson")

    say("every record once, every question once")
    report = (folder / "report.txt").read_text().splitlines()
    with sh.open(folder / "visits") as dataset:
        answers = dataset.status().answers
        print(
            f"{dataset.n:,} records, {answers} answers charged, {len(report)} lines in the report"
        )
        assert dataset.n == DAYS * DAILY
        assert (
            answers == len(report) == DAYS - 1
        )  # from the second file on there are enough records
        assert dataset.transcript[3].round == 5 * DAILY  # day 5, although day 6 had been appended

        say("verify: replay every entry, charge, width and byte")
        print(dataset.verify())


if __name__ == "__main__":
    chosen = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    if "--worker" in sys.argv:
        work(chosen, sys.argv[-1])
    else:
        main(chosen)
