"""The tutorials' notebooks are their pages, run, and put out what the pages say."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from support.soak import SOAKING

ROOT = Path(__file__).parents[2]


def loaded(path: Path):
    """A script as a module; docs is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


notebooks = loaded(ROOT / "docs" / "notebooks.py")

PAGES = [pytest.param(page, id=page.stem) for page in notebooks.PAGES]
NOISY = re.compile(
    r"""-?\d[\d.]*(?=\ ±)                            # a value, which stands before its width,
      | (?<!±\ )(?<![\d.-]) -?\d[\d.]* (?=\s+\[)    # or, if it has none, before its interval
      | (?<=\[) [-\d., ]+ (?=\])                     # an interval
      | (?<=head\ ) [0-9a-f]{12}                     # salted hashes
      | (?<=dataset\ ) [0-9a-f]{12}""",
    re.VERBOSE,
)


def kept(page: Path) -> nbformat.NotebookNode:
    """The notebook as it was committed."""
    return nbformat.read(page.with_suffix(".ipynb"), as_version=4)


def sources(notebook: nbformat.NotebookNode) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def shown(cell: nbformat.NotebookNode) -> str:
    """What a cell puts out, errors of a command among it."""
    texts = [output.get("text") or output["data"]["text/plain"] for output in cell.outputs]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def is_told(cell: notebooks.Cell, got: str) -> bool:
    """Whether the page says what a cell puts out; of a command's answers, all but the noise."""
    if cell.is_command:
        # Standard output and standard error come in any order.
        told, seen = (sorted(NOISY.sub("#", text).split("\n")) for text in (cell.want, got))
        return told == seen
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(cell.want, got, flags)


def untold(page: Path, notebook: nbformat.NotebookNode) -> list[tuple[str, str, str]]:
    """Cells that put out something else than the page says: source, what it says, what came."""
    pairs = zip(notebooks.cells(page), notebook.cells, strict=True)
    outputs = [(cell, shown(ran)) for cell, ran in pairs if cell.kind == "code"]
    return [(cell.source, cell.want, got) for cell, got in outputs if not is_told(cell, got)]


def changed(page: Path, folder: Path, old: str, new: str) -> Path:
    """A doctored copy of a page."""
    text = page.read_text(encoding="utf-8")
    assert old in text
    copy = folder / page.name
    copy.write_text(text.replace(old, new), encoding="utf-8")
    return copy


def test_every_tutorial_is_a_notebook_and_every_notebook_a_tutorial():
    assert len(PAGES) == 5
    assert {page.with_suffix(".ipynb") for page in notebooks.PAGES} == set(
        notebooks.TUTORIALS.glob("*.ipynb")
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_notebook_is_made_from_its_page(page):
    made, committed = notebooks.notebook(page), kept(page)
    assert sources(committed) == sources(made), "python docs/notebooks.py regenerates it"


@pytest.mark.parametrize("page", PAGES)
def test_the_outputs_that_are_kept_are_those_of_the_page(page):
    assert untold(page, kept(page)) == [], "python docs/notebooks.py runs it anew"


@pytest.mark.parametrize("page", PAGES)
def test_the_picture_of_a_page_is_the_one_that_its_notebook_draws(page):
    pictures = notebooks.pictures(kept(page))
    assert f"../images/tutorial-{page.stem}.png" in page.read_text(encoding="utf-8")
    assert set(pictures) == {f"tutorial-{page.stem}.png"}
    assert all((notebooks.IMAGES / name).read_bytes() == data for name, data in pictures.items())


@pytest.mark.parametrize("page", PAGES)
def test_nothing_of_the_machine_is_in_a_notebook(page):
    text = "".join(shown(cell) for cell in kept(page).cells if cell.cell_type == "code")
    assert [part for part in (str(ROOT), "/tmp/", "Traceback") if part in text] == []


# All have the cells of pages that are run as well (test_snippets.py); one shows that a kernel runs.
RUN = PAGES if SOAKING else [page for page in PAGES if page.id == "leaderboard"]


@pytest.mark.parametrize("page", RUN)
def test_a_notebook_runs_and_puts_out_what_the_page_says(page, tmp_path):
    assert untold(page, notebooks.run(notebooks.notebook(page), tmp_path)) == []


class TestThatTheChecksCanFail:
    """The same checks on doctored pages."""

    FIRST = notebooks.TUTORIALS / "first-dataset.md"

    def test_sources(self, tmp_path):
        page = changed(self.FIRST, tmp_path, "survey(8_000)", "survey(9_000)")
        assert sources(notebooks.notebook(page)) != sources(kept(self.FIRST))
        page = changed(self.FIRST, tmp_path, "Ten minutes", "Nine minutes")
        assert sources(notebooks.notebook(page)) != sources(kept(self.FIRST))

    @pytest.mark.parametrize(
        ("old", "new", "source"),
        [
            ("costs 3.418e-05; 1 answer", "costs 3.418e-05; 2 answers", 's.quote("minutes > 50")'),
            ("16 answers left", "15 answers left", "%%bash\nsurehold ask rides"),
            ("$ echo $?\n3\n", "$ echo $?\n0\n", "%%bash\nsurehold ask danish-rides"),
        ],
    )
    def test_outputs(self, tmp_path, old, new, source):
        found = untold(changed(self.FIRST, tmp_path, old, new), kept(self.FIRST))
        assert found
        assert all(wrong.startswith(source) for wrong, _, _ in found)

    def test_noise_is_no_difference_and_a_width_is(self):
        cell = notebooks.Cell("code", "%%bash\nsurehold ask", "0.1 ± 0.05  [0.05, 0.15]  n = 9\n")
        assert is_told(cell, "0.2 ± 0.05  [0.15, 0.25]  n = 9\n")
        assert not is_told(cell, "0.2 ± 0.06  [0.14, 0.26]  n = 9\n")
        assert not is_told(cell, "0.2 ± 0.05  [0.15, 0.25]  n = 10\n")
        rate = notebooks.Cell("code", "%%bash\nsurehold ask", "Oslo  0.5  [0.4, 0.6]\n")
        assert is_told(rate, "Oslo  0.6  [0.5, 0.7]\n")
        assert not is_told(rate, "Bergen  0.5  [0.4, 0.6]\n")

    @pytest.mark.parametrize(
        "code", ["```python\n>>> 1 / 0\n1\n\n```\n", "```console\n$ surehold status nowhere\n```\n"]
    )
    def test_cells_that_fail(self, tmp_path, code):
        page = tmp_path / "page.md"
        page.write_text(f"# A page\n\n{code}\nThe end.\n", encoding="utf-8")
        with pytest.raises(CellExecutionError):
            notebooks.run(notebooks.notebook(page), tmp_path)

    def test_pictures(self):
        committed = kept(self.FIRST)
        for cell in committed.cells:
            cell.source = cell.source.replace("tutorial-first-dataset.png", "other.png")
        assert notebooks.pictures(committed) == {}

    def test_what_a_notebook_can_not_show(self, tmp_path):
        page = tmp_path / "page.md"
        raised = "Traceback (most recent call last):\n...\nZeroDivisionError: no"
        page.write_text(f"```python\n>>> 1 / 0\n{raised}\n\n```\n", encoding="utf-8")
        with pytest.raises(notebooks.CannotConvert):
            notebooks.cells(page)
