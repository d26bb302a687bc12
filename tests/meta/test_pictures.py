"""Pictures of the pages: each is shown somewhere, and what draws them still does."""

from __future__ import annotations

import re
from pathlib import Path

import pictures
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def shown() -> set[str]:
    """Names of the pictures that pages show."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return set(re.findall(r"!\[[^\]]+\]\([^)]*images/([\w-]+\.png)\)", text))


def test_every_picture_is_shown_and_has_words_for_those_who_do_not_see_it():
    assert shown() == {path.name for path in pictures.IMAGES.iterdir()}


@pytest.mark.parametrize(
    ("draw", "small"),
    [
        (pictures.draw_certificates, {}),
        (pictures.draw_guards, {"most": 10}),
        (pictures.draw_dashboard, {"weeks": 2}),
        (pictures.draw_page, {"weeks": 2, "repeats": 1}),
        (pictures.draw_point, {"records": 2_000, "features": 200}),
        (pictures.draw_overfit, {"records": 1_000, "repeats": 1, "most": 64}),
        (pictures.draw_looks, {"repeats": 2, "looks": 3}),
        (pictures.draw_contest, {"queries": 30, "repeats": 1}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_draws_them_draws(draw, small, tmp_path):
    draw(tmp_path / "picture.png", **small)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
