"""Hypothesis profiles (`pytest --hypothesis-profile=NAME` picks another), and the command."""

import fcntl
import tempfile

import pytest
from hypothesis import settings

from surehold.cli import main

# macOS syncs by another call, which is slow; tests that watch or fail syncs do so at os.fsync.
if hasattr(fcntl, "F_FULLFSYNC"):
    del fcntl.F_FULLFSYNC

# The same examples on every run and every machine, however slow: a red build means a change.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
# New examples each run, and many of them: for looking for trouble by hand.
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)

settings.load_profile("ci")


@pytest.fixture(autouse=True, scope="session")
def _temporary_folders_among_those_of_pytest(tmp_path_factory):
    """`make test` has these in memory, where a commit does not wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))
        yield


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command in an empty folder; gives exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return caught.value.code, shown.out, shown.err

    return run
