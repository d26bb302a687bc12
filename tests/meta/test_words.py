"""Words that mark prose as translated do not come back: CONTRIBUTING.md, "How we write"."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
AVOIDED = re.compile(
    r"\bso many\b|\btold\b|\bwhoever\b|\bexposed alike\b|\b(?:is|are|can't be|cannot be) meant\b"
    r"|\b(?:has|no) room for\b|\broom for \d|\banew\b",
    re.IGNORECASE,
)
SUFFIXES = {".css", ".html", ".js", ".md", ".py", ".yml"}
PLACES = ("README.md", "SECURITY.md", "docs", "examples", "src")


def texts() -> dict[str, str]:
    """Everything that users and readers of the code see, except vendored files."""
    paths = [path for place in PLACES for path in (ROOT / place, *(ROOT / place).rglob("*"))]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.suffix in SUFFIXES and not {"assets", "vendor"} & set(path.parts)
    }


def avoidable(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if AVOIDED.search(line)]


def test_no_text_uses_them():
    assert {name: found for name, text in texts().items() if (found := avoidable(text))} == {}


def test_the_scan_reads_pages_code_and_scripts():
    assert {
        "README.md",
        "docs/explanation/promise.md",
        "examples/pipeline.py",
        "src/surehold/errors.py",
        "src/surehold/server/pages/static/explore.js",
    } <= texts().keys()


def test_the_scan_can_fail():
    assert avoidable("At most so many answers.\nit was told\nroom for 125 answers more") != []
    assert avoidable("125 answers left\na whole room for them") == []
