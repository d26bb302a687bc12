"""The site: links lead, formulas can be drawn, and a build that should fail does.

`make docs` builds the whole of it strictly, as part of `make test`; here the same configuration is
tried on a few small pages, to see that it finds what it should.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from links import links

from support.documents import PAGES, ROOT

CONFIGURATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
DOCUMENTS = [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("examples/*.md")]

# --------------------------------------------------------------------- links, as GitHub reads them


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    prose = re.sub(r"^( *)(```+).*?^\1\2", "", text, flags=re.MULTILINE | re.DOTALL)
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", prose, flags=re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return names | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", prose))


def dead_links(page: Path, text: str) -> list[str]:
    """Links of a page to no file, or to no heading of a file."""
    dead = []
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_relative_to(ROOT) or not target.exists():
            dead.append(link)
        elif anchor and target.suffix == ".md":
            there = text if target == page else target.read_text(encoding="utf-8")
            dead += [] if anchor in anchors(there) else [link]
    return dead


@pytest.mark.parametrize(
    "page", sorted(set(DOCUMENTS)), ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_to_files_and_headings(page):
    assert dead_links(page, page.read_text(encoding="utf-8")) == []


# --------------------------------------------------------------------------------------- formulas

KATEX = (ROOT / "docs" / "assets" / "katex" / "katex.min.js").read_text(encoding="utf-8")


def formulas(text: str) -> list[str]:
    prose = re.sub(r"^( *)(```+).*?^\1\2|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\$\$(.+?)\$\$|\$(?=\S)([^$]+?)(?<=\S)\$", prose, flags=re.DOTALL)


def unknown_commands(text: str) -> set[str]:
    """Commands of TeX in a page's formulas that the site's KaTeX does not have."""
    used = {c for pair in formulas(text) for part in pair for c in re.findall(r"\\[A-Za-z]+", part)}
    return {command for command in used if f'"\\{command}"' not in KATEX}


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: str(page.relative_to(ROOT)))
def test_formulas_can_be_drawn(page):
    assert unknown_commands(page.read_text(encoding="utf-8")) == set()


def test_there_are_formulas():
    assert (
        len(formulas((ROOT / "docs/explanation/sharp-bound.md").read_text(encoding="utf-8"))) > 100
    )


# ------------------------------------------------------------------------------------------ builds

RIGHT = {
    "docs/index.md": (
        "# A page\n\nTo [another](room/other.md#below), to [changes](../CHANGELOG.md#new), to a "
        "[program](../tests/runtime.py) and to [itself](#a-page).\n\n- One\n  - below it\n\n"
        "```python\n>>> 1 + 1\n2\n\n```\n"
    ),
    "docs/room/other.md": "# Another\n\n## Below\n\n[Back](../index.md), $x \\le 1$.\n",
    "CHANGELOG.md": "# Changes\n\n## New\n\n[A page](docs/room/other.md#below)\n",
    "CONTRIBUTING.md": "# How\n",
    "SECURITY.md": "# Safe\n",
    "benchmarks/README.md": "# Speed\n",
    "examples/README.md": "# Programs\n",
    "tests/runtime.py": "print('hello')\n",
}
NAV = [
    "index.md",
    "room/other.md",
    "changelog.md",
    "contributing.md",
    "security.md",
    "benchmarks.md",
    "examples.md",
]
LISTS_ALL = "\n".join(f"  - {page}" for page in NAV)


def built(root: Path, files: dict[str, str], nav: str = LISTS_ALL) -> tuple[int, str]:
    """Build a site of these files as the real one is built, but for what is made of docstrings."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "docs" / "machinery").symlink_to(ROOT / "docs" / "machinery")
    settings, plugins, _ = CONFIGURATION.partition("\nplugins:\n")
    assert plugins
    (root / "mkdocs.yml").write_text(f"{settings}\nplugins: [search]\nnav:\n{nav}\n")
    finished = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build"], cwd=root, capture_output=True, encoding="utf-8"
    )
    return finished.returncode, " ".join((finished.stdout + finished.stderr).split())


def test_a_site_that_is_right_is_built(tmp_path):
    code, output = built(tmp_path, RIGHT)
    assert (code, "WARNING -" in output) == (0, False), output
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert 'href="room/other.html#below"' in page
    assert 'href="changelog.html#new"' in page
    assert 'href="files/tests/runtime.py.html"' in page
    assert '<span class="go">2</span>' in page
    assert "hello" not in (tmp_path / "site" / "search" / "search_index.json").read_text(
        encoding="utf-8"
    )
    assert re.search(r"<li>One\s*<ul>\s*<li>below it</li>", page)
    assert "hello" in (tmp_path / "site" / "files" / "tests" / "runtime.py.html").read_text(
        encoding="utf-8"
    )
    assert 'href="room/other.html#below"' in (tmp_path / "site" / "changelog.html").read_text(
        encoding="utf-8"
    )
    assert 'class="arithmatex"' in (tmp_path / "site" / "room" / "other.html").read_text(
        encoding="utf-8"
    )


def test_nothing_is_fetched_from_elsewhere(tmp_path):
    built(tmp_path, RIGHT)
    page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"(?:src|href)=\"?((?:https?:)?//[^\"\s>]+)", page) == []


WRONG = {
    "[a](nowhere.md)": "a link 'nowhere.md', but the target is not found",
    "[b](room/other.md#above)": "does not contain an anchor '#above'",
    "[c](#nothing)": "there is no such anchor on this page",
    "[d](../nowhere.py)": "a link '../nowhere.py', but the target",
    "[e](/room/other.md)": "an absolute link '/room/other.md'",
    "[f](nowhere)": "unrecognized relative link 'nowhere'",
    "![g](https://example.org/g.png)": "index.md fetches https://example.org/g.png",
    '<script src="//example.org/h.js"></script>': "index.md fetches //example.org/h.js",
    '<link rel="stylesheet" href="https://example.org/i.css">': "fetches https://example.org/i.css",
    "See :func:`plan`.": "index.md shows a mark of reStructuredText",
}


def test_a_site_with_something_wrong_is_not(tmp_path):
    page = "# A page\n\n" + "\n\n".join(WRONG) + "\n"
    files = RIGHT | {"docs/index.md": page, "docs/forgotten.md": "# Left out\n"}
    code, output = built(tmp_path, files, LISTS_ALL + "\n  - missing.md")
    assert code == 1
    assert [warning for warning in WRONG.values() if warning not in output] == []
    assert 'not included in the "nav" configuration: - forgotten.md' in output
    assert "A reference to 'missing.md' is included in the 'nav' configuration" in output
    assert f"Aborted with {len(WRONG) + 2} warnings in strict mode" in output


def test_the_whole_site_is_built_by_make_test():
    command = ["make", "--dry-run", "--always-make", "test"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    ).stdout
    [build] = [line for line in listed.splitlines() if "mkdocs build" in line]
    assert "--strict" in build
    assert "--quiet" not in build  # which would take away the warnings that strict counts


class TestThatTheChecksCanFail:
    """The same checks on doctored pages."""

    @pytest.mark.parametrize(
        "link",
        ["docs/nowhere.md", "CHANGELOG.md#never", "#nothing-of-the-kind", "../outside.md"],
    )
    def test_link(self, link):
        page = ROOT / "README.md"
        assert dead_links(page, f"# Here\n\n[a]({link}) [b](#here) [c](CHANGELOG.md)") == [link]

    def test_link_in_code(self):
        assert (
            dead_links(ROOT / "README.md", "`[a](nowhere.md)`\n\n```text\n[b](no.md)\n```\n") == []
        )

    def test_anchors(self):
        text = (
            "# What's new?\n\n## `code`, and [more](x.md)\n\n## `code`, and more\n\n```\n# no\n```"
        )
        assert anchors(text) == {"whats-new", "code-and-more", "code-and-more-1"}

    def test_formula(self):
        assert unknown_commands("It is $a \\leq \\nonsense$ and `$\\code$`.") == {"\\nonsense"}
        assert unknown_commands("$$\n\\frac{1}{2} \\wrong\n$$") == {"\\wrong"}
