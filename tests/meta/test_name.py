"""The product has one name. The one it had before is in the changelog, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from support.documents import ROOT

FORMER = "hold" + "fast"
FOLDERS = (".ci", ".github", "benchmarks", "docs", "examples", "requirements", "src", "tests")
ALLOWED = {"CHANGELOG.md"}


def product_files() -> list[Path]:
    below = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    found = [path for path in (*ROOT.iterdir(), *below) if path.is_file()]
    return [path for path in found if "__pycache__" not in path.parts]


def says(path: Path, word: str) -> bool:
    name = path.relative_to(ROOT).as_posix().lower()
    return word in name or word.encode() in path.read_bytes().lower()


def test_no_file_says_the_former_name():
    found = product_files()
    assert ROOT / "src" / "surehold" / "__init__.py" in found
    assert {path.relative_to(ROOT).as_posix() for path in found if says(path, FORMER)} <= ALLOWED


def test_that_the_check_can_fail():
    assert says(ROOT / "CHANGELOG.md", FORMER)
