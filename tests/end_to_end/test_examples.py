"""Every program in examples/ runs, holds what it claims, and is listed in examples/README.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(path.name for path in FOLDER.glob("*.py"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")

# What each has to say, besides that its ledger is in order. It says so only if it came that far.
SAYS = {
    "climb.py": ["and the truth is 0.5: a miss", "which holds", "the budget is exhausted at round"],
    "dashboard.py": ["intervals, 0 of them wrong", "4 answers, cost 0;"],
    "tune_model.py": ["249 questions", "it is better", "the budget is exhausted at round 100,000"],
    "agent_loop.py": [
        "stop: 25 proposals, none was shown to be better",
        "refused: the plan has too few answers left",
        ": it holds",
        ": a miss",
    ],
    "agent_loop_surprise.py": [
        "0 of 200 intervals miss the truth",
        "152 of 200 intervals miss the truth",
        ": it holds",
        ": a miss",
    ],
    "ci_gate.py": ["exit code 0, pass", "exit code 6, fail", "exit code 7, undecided", "free)"],
    "pipeline.py": ["killed: day 3", "recorded, free", "record 1,700, column 'minutes'"],
    "onnx_contest.py": ["must be without random operators", "within its interval"],
}


def run(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """As a reader would, but that warnings are errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", str(program), str(folder / "made")],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def listed(text: str) -> list[str]:
    """The programs that a table of examples links to, in order."""
    return re.findall(r"^\| \[(\w+\.py)\]\(\1\) \|", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_runs_and_says_what_it_must(name, tmp_path):
    ended = run(FOLDER / name, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert [words for words in SAYS[name] if words not in ended.stdout] == []
    assert "all as it was written" in ended.stdout.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]  # it writes only where it should


def test_the_readme_lists_all_of_them():
    assert sorted(listed(README)) == EXAMPLES


def test_there_are_some():
    assert len(EXAMPLES) >= 4


class TestThatTheChecksCanFail:
    def test_a_claim_that_does_not_hold_ends_with_an_error(self, tmp_path):
        text = (FOLDER / "dashboard.py").read_text(encoding="utf-8")
        truth = "OVERALL = PRO * CHURN_PRO + (1 - PRO) * CHURN"
        assert truth in text
        doctored = tmp_path / "dashboard.py"
        doctored.write_text(text.replace(truth, "OVERALL = 0.5"), encoding="utf-8")
        ended = run(doctored, tmp_path)
        assert ended.returncode == 1
        assert "assert checked.missed == 0" in ended.stderr

    def test_an_example_that_the_readme_forgets(self):
        assert listed("see [climb.py](climb.py)\n| [dashboard.py](dashboard.py) | x | 2 |") == [
            "dashboard.py"
        ]
