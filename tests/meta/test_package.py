"""The package as others see it: its names, its weight, and who may do what."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import surehold

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "surehold"


def test_all_is_what_is_public():
    public = {name for name in dir(surehold) if not name.startswith("_")}
    assert public == set(surehold.__all__) - {"__version__"}
    assert all(getattr(surehold, name) is not None for name in surehold.__all__)
    assert sorted(surehold.__all__, key=str) == list(surehold.__all__)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(surehold, "plans")


def test_version_is_the_projects():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert surehold.__version__ == project["version"]
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert "## Unreleased" in changes or f"## {project['version']}" in changes


def pins(name):
    """The packages of a file of requirements and their versions, some of which go by Python's.

    Each must have hashes.
    """
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    found = set(re.findall(r"^([a-z0-9._-]+)==([^ ;\\]+)", text, re.MULTILINE))
    assert len(re.findall(r"==.*\\\n    --hash=sha256:", text)) == len(found) > 0
    return found


@pytest.mark.parametrize("name", ["demo", "serve", "mcp"])
def test_every_install_is_pinned_as_the_tests_are_run(name):
    """`make lock` writes them; `serve` and `mcp` have the models of the service as well."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"]]
    if name != "demo":
        needed += extras[name] + extras["models"]
    tested, found = pins("dev"), pins(name)
    assert {re.split("[<>=]", one)[0] for one in needed} <= {package for package, _ in found}
    assert found <= tested


def test_the_extra_all_has_every_other():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    [named] = extras.pop("all")
    assert named == f"surehold[{','.join(sorted(extras))}]"


def test_what_is_subclassed_has_an_upper_bound():
    """`server/protocol.py` builds on uvicorn's own classes, which may change in any version."""
    text = (ROOT / "pyproject.toml").read_text()
    asked = re.findall(r'"uvicorn([^"]*)"', text)
    assert len(asked) == 3
    assert len(set(asked)) == 1
    [least, most] = re.fullmatch(r">=([0-9.]+),<([0-9.]+)", asked[0]).groups()
    tested = tuple(map(int, dict(pins("dev"))["uvicorn"].split(".")))
    assert tuple(map(int, least.split("."))) <= tested < tuple(map(int, most.split(".")))
    assert int(most.split(".")[1]) == tested[1] + 1


def test_importing_and_help_load_nothing_heavy():
    code = (
        "import sys, surehold.cli; "
        "print([m for m in ('numpy', 'scipy', 'matplotlib', 'rich') if m in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "[]"


def modules_that(uses):
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if uses(node):
                found.add(path.relative_to(SOURCE).as_posix())
    return found


def test_only_the_console_prints():
    def prints(node):
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name | ast.Attribute)
            and (getattr(node.func, "id", None) or getattr(node.func, "attr", None))
            in {"print", "echo", "secho"}
        )

    # The entry point itself says what went wrong, before anything else may be importable.
    assert modules_that(prints) == {"cli/console.py", "cli/__init__.py"}


def test_only_the_database_says_sqlite3():
    def says(node):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        return "sqlite3" in names or (
            isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sqlite3")
        )

    assert modules_that(says) == {"ledger/database.py"}


def test_files_stay_small():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for folder in (SOURCE, ROOT / "tests")
        for path in folder.rglob("*.py")
    }
    assert {name: length for name, length in lengths.items() if length > 600} == {}


def test_the_wheel_holds_the_package_and_its_types(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    pages = (path for path in (SOURCE / "server" / "pages").rglob("*") if path.is_file())
    files = [*SOURCE.rglob("*.py"), *pages]
    expected = {f"surehold/{path.relative_to(SOURCE)}" for path in files}
    assert expected | {"surehold/py.typed"} <= names
    assert not any(name.startswith("tests") for name in names)
