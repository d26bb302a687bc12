"""The tutorials as notebooks. The Markdown page is the source, and this makes a notebook of it.

    python docs/notebooks.py                 # all of them
    python docs/notebooks.py leaderboard     # one

Every notebook is run and stored with its outputs, for readers who cannot run it. The picture that
a tutorial draws is extracted into docs/images, where the page shows it.
Answers are noisy, so outputs differ from run to run: a test compares the sources, and the outputs
only as far as the page says what they are (tests/meta/test_notebooks.py).
"""

from __future__ import annotations

import base64
import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parent / "tutorials"
IMAGES = Path(__file__).parent / "images"
PAGES = sorted(page for page in TUTORIALS.glob("*.md") if page.stem != "index")

_FENCE = re.compile(r"^```(python|console)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"^!\[([^\]]*)\]\(\.\./images/(tutorial-[\w-]+\.png)\)\n", re.MULTILINE)
_NOTEBOOK = re.compile(r"\[[^\]]*\]\([\w-]+\.ipynb\)")  # the page's link to this very notebook
_SECONDS = 120  # for one cell

_PREFACE = """\
*Generated from [{page}]({page}) by docs/notebooks.py: change the page, not this.*

You need `pip install '.[all]'` in Surehold's folder and the `surehold` command on your path.
Answers carry noise: yours will differ in their last digits."""

_FOLDER = """\
# A folder of its own, so that nothing is left here and all of it can be run again.
import os
import tempfile

os.chdir(tempfile.mkdtemp())"""


class CannotConvert(Exception):
    """A page has something that a notebook can't show."""


@dataclass(frozen=True)
class Cell:
    """A cell, and what the page says it puts out."""

    kind: str  # "markdown" or "code"
    source: str
    want: str = ""

    @property
    def is_command(self) -> bool:
        """Whether it runs in a shell."""
        return self.source.startswith("%%bash")


# ---------------------------------------------------------------------------- from a page


def cells(page: Path) -> list[Cell]:
    """What a page becomes: its prose, its examples and its commands, in order."""
    preface = Cell("markdown", _PREFACE.format(page=page.name))
    return [preface, Cell("code", _FOLDER), *_cells(page.read_text(encoding="utf-8"))]


def _cells(text: str) -> Iterator[Cell]:
    parts = _FENCE.split(text)
    yield from _prose(parts[0])
    for language, code, prose in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield from (_examples if language == "python" else _commands)(code)
        yield from _prose(prose)


def _prose(text: str) -> Iterator[Cell]:
    """Markdown as it is, but for the pictures that the tutorial has drawn by then."""
    parts = _PICTURE.split(text)
    yield from _markdown(parts[0])
    for name, prose in zip(parts[2::3], parts[3::3], strict=True):
        shown = f'from IPython.display import Image\n\nImage("{name}", width=800)'
        yield Cell("code", shown, "<IPython.core.display.Image object>")
        yield from _markdown(prose)


def _markdown(text: str) -> Iterator[Cell]:
    lines = [line for line in text.strip().split("\n\n") if not _NOTEBOOK.search(line)]
    if any(lines):
        yield Cell("markdown", "\n\n".join(lines))


def _examples(code: str) -> Iterator[Cell]:
    """Doctest examples. A notebook shows what its last line gives, so an output ends a cell."""
    source = ""
    for example in doctest.DocTestParser().get_examples(code):
        if example.exc_msg is not None:
            raise CannotConvert(f"catch what this raises, and print it: {example.source}")
        source += example.source
        if example.want:
            yield Cell("code", source.rstrip(), example.want)
            source = ""
    if source:
        yield Cell("code", source.rstrip())


def _commands(code: str) -> Iterator[Cell]:
    """Commands for a shell, with the same rule. `echo $?` belongs to what comes before it."""
    source = want = ""
    for call in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
        command, _, output = call.partition("\n")
        if want and command != "echo $?":
            yield Cell("code", f"%%bash\n{source}".rstrip(), want)
            source = want = ""
        source += f"{command}\n"
        want += output
    yield Cell("code", f"%%bash\n{source}".rstrip(), want)


# ---------------------------------------------------------------------------- to a notebook


def notebook(page: Path) -> nbformat.NotebookNode:
    """The notebook of a page, not run, its code laid out by ruff as all code here is."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    made.metadata["language_info"] = {"name": "python"}
    for number, cell in enumerate(cells(page)):
        new = getattr(nbformat.v4, f"new_{cell.kind}_cell")
        made.cells.append(new(cell.source, id=f"cell-{number:02}"))
    text = nbformat.writes(made)
    for step in (["check", "--quiet", "--select", "I", "--fix-only"], ["format"]):
        named = ["--stdin-filename", str(page.with_suffix(".ipynb")), "-"]
        ruff = [sys.executable, "-m", "ruff", *step, *named]
        text = subprocess.run(
            ruff, input=text, check=True, capture_output=True, encoding="utf-8"
        ).stdout
    return nbformat.reads(text, as_version=4)


def run(made: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run it in a folder, with the command on the path."""
    # Commands write for a terminal of 80 columns, as in the pages, and not in colour.
    known = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "TTY_COMPATIBLE")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    client = NotebookClient(
        made,
        timeout=_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
    )
    own = {"PATH": path, "COLUMNS": "80", "TMPDIR": str(folder), "IPYTHONDIR": f"{folder}/.ipython"}
    client.execute(env={**known, **own})
    made.metadata["language_info"] = {"name": "python"}  # without the Python that happened to run
    return made


def pictures(made: nbformat.NotebookNode) -> dict[str, bytes]:
    """The pictures that a notebook shows, by name."""
    found = {}
    for cell in made.cells:
        named = re.search(r'^Image\("(tutorial-[\w-]+\.png)"', cell.source, re.MULTILINE)
        if named and cell.cell_type == "code":
            for output in cell.outputs:
                found[named[1]] = base64.b64decode(output["data"]["image/png"])
    return found


def main(names: list[str]) -> None:
    """Write, with outputs, the notebooks of the pages with these names, or of all."""
    for page in PAGES:
        if names and page.stem not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            made = run(notebook(page), Path(folder))
        written = [page.with_suffix(".ipynb")]
        nbformat.write(made, written[0])
        for name, data in pictures(made).items():
            written.append(IMAGES / name)
            written[-1].write_bytes(data)
        print("wrote", *(path.relative_to(TUTORIALS.parents[1]) for path in written))


if __name__ == "__main__":
    main(sys.argv[1:])
