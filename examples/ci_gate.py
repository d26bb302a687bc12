"""A release gate: release a candidate only if it is certainly better than the current model.

A team proposes one model after another and runs the same gate on the same holdout each time, from a
job that uses only the command and its exit codes: 0 is pass, 6 fail, 7 undecided. The commit is the
key, so running the job again is free and gives the same verdict, even if records have arrived in
the meantime. With probability 95 % no pass and no fail is wrong, however many candidates were
tried.

    python examples/ci_gate.py [FOLDER]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

import surehold as sh

MEANING = {0: "pass: release it", 6: "fail: keep the old one", 7: "undecided: keep the old one"}
IN_USE = "bmi > 30"  # the current model, as a rule; a score with a threshold is a rule too
COMMITS = {  # each commit proposes a rule
    "a1f09c3": "age + 2 * bmi > 115",
    "b77e210": "bmi > 27",
    "c05d9e8": "age + 2.1 * bmi > 117",
}


def patients(count: int, random: np.random.Generator) -> pl.DataFrame:
    """Draw patients; age and weight both matter."""
    age, bmi = random.integers(18, 95, count), random.normal(27, 6, count)
    return pl.DataFrame(
        {"age": age, "bmi": bmi, "ill": age + 2 * bmi + random.normal(0, 6, count) > 115}
    )


def accuracy(rule: str, records: pl.DataFrame) -> float:
    """Compute how often a rule is right from the records; the gate never does this."""
    return records.sql(
        f"select avg(case when ({rule}) = ill then 1.0 else 0.0 end) from self"
    ).item()


def better(candidate: str, in_use: str) -> str:
    """The query: how much more often the candidate is right, in one answer."""
    return f"difference(({candidate}) = ill, ({in_use}) = ill)"


def gate(dataset: Path, query: str, limit: float, commit: str) -> int:
    """Run the job's command; its exit code is the verdict."""
    command = ["gate", str(dataset), query, "--at-least", str(limit), "--key", f"gate-{commit}"]
    return subprocess.run([sys.executable, "-m", "surehold", *command]).returncode


def say(text: str) -> None:
    print(f"\n==> {text}", flush=True)


def main(folder: Path) -> None:
    path = folder / "ci_gate"
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.default_rng(20261118)

    say("plan: from 50,000 to 500,000 patients, every fraction within ±0.05 with probability 95 %")
    plan = sh.plan(n0=50_000, n=500_000, alpha=0.05, beta=0.05)
    with sh.create(path, plan=plan, columns={"age": "int", "bmi": "float", "ill": "bool"}) as made:
        print(made.append(patients(50_000, random)))
        quote = made.session().quote(better("age > 60", IN_USE))
        print(f"a gate costs one answer: {quote}")

    fresh = patients(1_000_000, random)
    in_use, codes = IN_USE, {}
    for commit, rule in COMMITS.items():
        say(f"commit {commit} proposes {rule}; in use: {in_use}")
        codes[commit] = gate(path, better(rule, in_use), 0.0, commit)
        gain = accuracy(rule, fresh) - accuracy(in_use, fresh)
        print(f"exit code {codes[commit]}, {MEANING[codes[commit]]} (in truth {gain:+.3f})")
        assert (codes[commit], gain > 0) not in ((0, False), (6, True))  # no verdict is wrong
        if codes[commit] == 0:
            in_use = rule
    assert list(codes.values()) == [0, 6, 7]

    say("the job of commit a1f09c3 runs again after a thousand more patients: same key, free")
    with sh.open(path) as opened:
        print(opened.append(patients(1_000, random)))
        before = opened.session().budget.spent
    assert gate(path, better(COMMITS["a1f09c3"], IN_USE), 0.0, "a1f09c3") == codes["a1f09c3"]
    with sh.open(path) as opened:
        assert opened.session().budget.spent == before

    say("the current model must stay good: at least 0.7 right, at every round")
    assert gate(path, f"({in_use}) = ill", 0.7, "nightly-1") == 0

    say("verify: replay every entry, charge, width and byte")
    with sh.open(path) as opened:
        print(opened.verify())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
