"""A durable write syncs the file, names it and syncs the folder; no module does it by itself."""

from __future__ import annotations

import ast
import errno
import fcntl
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import surehold as sh
from end_to_end.worker import model
from support.runtime import adaptive_plan, made, records
from surehold import files
from surehold.cli import surehold
from surehold.data.segments import FOLDER
from surehold.errors import StorageFailed
from surehold.server.tokens import TokenBook

SOURCE = Path(sh.__file__).parent

# What changes files outside of files.py, and why it need not last, or lasts all the same.
ELSEWHERE = {
    ("cli/lab.py", "write_text"): "a report, which can be made again",
    ("cli/serve.py", "touch"): "takes the name; files.write_file writes the token",
    ("cli/types.py", "mkdir"): "the folder of a report",
    ("client/records.py", "TemporaryDirectory"): "what is being sent",
    ("data/process/channel.py", "ftruncate"): "memory that processes share",
    ("data/process/channel.py", "mkstemp"): "memory that processes share",
    ("data/process/channel.py", "unlink"): "memory that processes share",
    ("data/process/onnx_evaluator.py", "mkdtemp"): "for the runtime, as long as it loads",
    ("data/process/onnx_evaluator.py", "rmdir"): "for the runtime, as long as it loads",
    ("data/segments.py", "open"): "under a passing name; it is synced before it is named",
    ("data/segments.py", "touch"): "takes the name, privately; it is synced before it is named",
    ("data/segments.py", "unlink"): "files that no entry names",
    ("data/table_store.py", "touch"): "takes the name, privately; it is synced before it is named",
    ("data/table_store.py", "unlink"): "a passing name, if the table did not get its own",
    ("ledger/database.py", "touch"): "takes the name; SQLite syncs the file, create() the folder",
    ("ledger/witness.py", "pwrite"): "may be behind the ledger",
    ("plots/paper.py", "open"): "a table of figures, which can be made again",
    ("server/routes/append.py", "mkdir"): "bodies that are not whole",
    ("server/routes/append.py", "open"): "bodies that are not whole",
    ("server/routes/append.py", "unlink"): "bodies that are not whole",
    ("locks.py", "ftruncate"): "a number for people, in a lock",
    ("locks.py", "pwrite"): "a number for people, in a lock",
    ("server/service.py", "unlink"): "bodies that are not whole",
    ("server/routes/tables.py", "unlink"): "a body, once its table is kept or refused",
    ("session/backup.py", "rmdir"): "an empty folder, whose name the backup takes",
    ("session/backup.py", "rmtree"): "a backup that could not be finished",
    ("session/backup.py", "unlink"): "what verifying the copy left beside it",
    ("session/dataset.py", "rmtree"): "what create() could not finish",
    ("session/succession.py", "rmtree"): "a successor that the old dataset does not name",
    ("session/succession.py", "unlink"): "erased records; the folder is synced, or it is repeated",
}
CHANGING = {
    *("write_text", "write_bytes", "rename", "renames", "unlink", "remove", "mkdir", "makedirs"),
    *("rmdir", "touch", "rmtree", "pwrite", "symlink_to", "hardlink_to", "link", "truncate"),
    *("ftruncate", "mkstemp", "mkdtemp", "TemporaryDirectory", "NamedTemporaryFile", "copyfile"),
}


def test_no_other_module_changes_files_that_have_to_last() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).as_posix()
        if name != "files.py":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
            found |= {(name, what) for call in calls if (what := changed_by(call))}
    assert found == set(ELSEWHERE)


def changed_by(call: ast.Call) -> str | None:
    """The name of a function that changes files, if this calls one."""
    function = call.func
    name = getattr(function, "attr", None) or getattr(function, "id", "")
    if name in CHANGING and not (name == "rename" and isinstance(call.args[0], ast.Dict)):
        return str(name) if name not in ("remove", "truncate", "link") or _of_os(function) else None
    if name == "replace" and isinstance(function, ast.Attribute) and len(call.args) == 1:
        return "replace"
    modes = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
    writes = any(isinstance(mode, str) and set("wxa+") & set(mode[:3]) for mode in modes)
    unknown = any(isinstance(arg, ast.Name) and arg.id == "mode" for arg in call.args)
    return "open" if name in ("open", "OSFile") and (writes or unknown) else None


def _of_os(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "os"


# ------------------------------------------------------------------------------- the sequence


def path_of(file: int) -> Path:
    """Where an open file lies."""
    if sys.platform == "darwin":
        return Path(fcntl.fcntl(file, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0").decode())
    return Path(f"/proc/self/fd/{file}").readlink()


class Calls:
    """What is done to the names and files of a folder, in order."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[str, str]] = []
        self.fail: tuple[str, str] | None = None
        for name in ("replace", "rename", "mkdir"):
            self._watch(patch, name)
        fsync = os.fsync

        def watched(file: int) -> None:
            self._note("sync", path_of(file))
            fsync(file)

        patch.setattr(os, "fsync", watched)

    def _watch(self, patch: pytest.MonkeyPatch, name: str) -> None:
        real: Callable[..., Any] = getattr(os, name)

        def watched(path: Any, *args: Any, **named: Any) -> Any:
            self._note(name, Path(path))
            return real(path, *args, **named)

        patch.setattr(os, name, watched)

    def _note(self, what: str, path: Path) -> None:
        passing = path.name.startswith(files.PASSING) or ".creating-" in path.name
        name = "passing" if passing else path.name
        self.made.append((what, name))
        if self.fail == (what, name):
            raise OSError(5, "Input/output error")


@pytest.fixture
def calls(monkeypatch):
    return Calls(monkeypatch)


WRITTEN = [("sync", "passing"), ("replace", "passing"), ("sync", "data")]


def test_tokens(tmp_path, calls) -> None:
    made(tmp_path / "data").close()
    book, calls.made = TokenBook(tmp_path / "data"), []
    token, text = book.create("ann", "analyst", seconds=None)
    assert calls.made == WRITTEN
    calls.made = []
    book.revoke(token.id)
    assert calls.made == WRITTEN
    with pytest.raises(sh.AccessDenied):
        book.find(text)


def test_a_revocation_that_may_be_lost_is_synced_when_it_is_made_again(tmp_path, calls) -> None:
    made(tmp_path / "data").close()
    book = TokenBook(tmp_path / "data")
    token, _ = book.create("ann", "analyst", seconds=None)
    calls.fail = ("sync", "data")
    with pytest.raises(sh.StorageFailed, match="unknown whether it was kept") as caught:
        book.revoke(token.id)
    assert caught.value.kept is None
    with pytest.raises(sh.StorageFailed):  # not even now
        book.revoke(token.id)
    calls.fail, calls.made = None, []
    book.revoke(token.id)
    assert calls.made == [("sync", "data")]


@pytest.mark.parametrize("fail", [*WRITTEN[:2], None])
def test_what_fails_before_the_name_changes_nothing(tmp_path, calls, fail) -> None:
    path = tmp_path / "data" / "file"
    path.parent.mkdir()
    files.write_file(path, b"before", "writing")
    calls.fail = fail
    if fail is None:
        files.write_file(path, b"after", "writing")
        assert path.read_bytes() == b"after"
    else:
        with pytest.raises(sh.StorageFailed, match="nothing was changed") as caught:
            files.write_file(path, b"after", "writing")
        assert caught.value.kept is False
        assert path.read_bytes() == b"before"
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600


def test_models(tmp_path, calls) -> None:
    with made(tmp_path / "data") as dataset:
        calls.made = []
        kept = dataset.keep_model(model(1))
        begun = [("mkdir", "models"), ("sync", "data")]
        assert calls.made == [*begun, *WRITTEN[:2], ("sync", "models")]
        calls.made = []
        assert dataset.keep_model(model(1)) == kept
        assert calls.made == [("sync", "models")]  # who was first may not have come to that
        [path] = (tmp_path / "data" / "models").iterdir()
        path.write_bytes(b"damaged")
        dataset.keep_model(model(1))
        assert path.read_bytes() == model(1)


def test_a_dataset_is_made_whole(tmp_path, calls) -> None:
    sh.create(tmp_path / "new" / "data", plan=adaptive_plan(), columns={"age": "int"}).close()
    done = Counter(calls.made)
    assert calls.made[:2] == [("mkdir", "new"), ("sync", tmp_path.name)]
    named = calls.made.index(("rename", "passing"))
    assert ("sync", "passing") in calls.made[:named]  # the folder itself, with all names in it
    assert calls.made[named + 1 :] == [("sync", "new")]
    assert done["mkdir", FOLDER] == 1


def test_segments(tmp_path, calls, monkeypatch) -> None:
    monkeypatch.setattr("surehold.data.intake.LARGE", 100)
    with made(tmp_path / "data") as dataset:
        calls.made = []
        dataset.append(records(2000, 2200))
        synced = calls.made.index(("sync", "passing"))
        assert synced < calls.made.index(("rename", "passing"))
        assert calls.made.index(("rename", "passing")) < calls.made.index(("sync", FOLDER))


def test_all_of_it_is_for_its_owner_alone(tmp_path) -> None:
    before = os.umask(0o022)
    try:
        with made(tmp_path / "data") as dataset:
            dataset._data.seal()
            dataset.keep_model(model(1))
            TokenBook(dataset.path).create("ann", "analyst", seconds=None)
            for path in (dataset.path, *dataset.path.rglob("*")):
                wanted = 0o700 if path.is_dir() else 0o600
                assert path.stat().st_mode & 0o777 == wanted, path.name
    finally:
        os.umask(before)


@pytest.mark.parametrize("mode", [0o750, 0o701, 0o755])
def test_a_folder_that_others_can_read_is_remarked_upon(tmp_path, mode) -> None:
    made(tmp_path / "data").close()
    quiet = CliRunner().invoke(surehold, ["status", str(tmp_path / "data")])
    assert "others on this machine" not in quiet.output
    (tmp_path / "data").chmod(mode)
    run = CliRunner().invoke(surehold, ["status", str(tmp_path / "data"), "--json"])
    assert run.exit_code == 0
    assert "other users of this machine may read" in " ".join(run.stderr.split())
    assert json.loads(run.stdout)["n"] >= 0


@pytest.mark.parametrize(
    ("refusal", "synced"), [(None, ["full"]), (errno.ENOTSUP, ["full", "plain"])]
)
def test_the_sync_of_macos_and_file_systems_without_it(monkeypatch, tmp_path, refusal, synced):
    made = []

    def sync(file, call):
        made.append("full")
        if refusal is not None:
            raise OSError(refusal, "Operation not supported")

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", sync)
    monkeypatch.setattr(os, "fsync", lambda file: made.append("plain"))
    files.sync_folder(tmp_path)
    assert made == synced


def test_a_sync_of_macos_that_fails_is_an_error(monkeypatch, tmp_path):
    def fail(file, call):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", fail)
    with pytest.raises(StorageFailed):
        files.sync_names(tmp_path, "syncing")


def test_windows_is_told_what_it_lacks():
    code = "import sys; sys.modules['fcntl'] = None; import surehold.session"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stderr.endswith("on Linux and macOS; on Windows, run it in WSL\n")
