"""What others wrote is what the README beside it says, with its licence."""

import hashlib
import re
from pathlib import Path

import pytest

import surehold

STATIC = Path(surehold.__file__).parent / "server" / "pages" / "static"
SHELVES = [STATIC / "vendor", Path(__file__).parent / "vendor"]


@pytest.mark.parametrize("shelf", SHELVES, ids=["page", "tests"])
def test_every_file_has_the_sum_and_the_licence_that_are_said(shelf):
    readme = (shelf / "README.md").read_text(encoding="utf-8")
    scripts = sorted(shelf.glob("*.js"))
    sums = {hashlib.sha256(script.read_bytes()).hexdigest() for script in scripts}
    assert set(re.findall(r"`([0-9a-f]{64})`", readme)) == sums
    assert all(f"`{script.name}`" in readme for script in scripts)
    licences = set(re.findall(r"`(\w+\.LICENSE[\w.-]*)`", readme))
    assert licences == {path.name for path in shelf.glob("*.LICENSE*")}
    assert {name.partition(".")[0] for name in licences} == {
        script.name.partition(".")[0] for script in scripts
    }


def test_our_own_scripts_never_parse_html():
    """Text of queries and of errors is only ever text."""
    forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b")
    scripts = sorted(STATIC.glob("*.js"))
    assert len(scripts) > 10
    for script in scripts:
        assert not forbidden.search(script.read_text(encoding="utf-8")), script.name


def test_our_own_files_stay_small():
    for path in [*STATIC.glob("*.js"), *STATIC.glob("*.css")]:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 300, path.name
