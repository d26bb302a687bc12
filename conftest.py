"""What every test and every example in the pages has."""

import time

import pytest

from surehold.session.release import Release


def pytest_ignore_collect(collection_path):
    """Leave pages that tell one story to test_snippets.py, which runs their Python and commands."""
    if collection_path.suffix == ".md":
        from support.documents import tells_one_story

        return tells_one_story(collection_path) or None
    return None


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(request, tmp_path_factory, monkeypatch):
    """Run a page's examples in an empty folder, as a reader would."""
    if request.node.path.suffix == ".md":
        monkeypatch.chdir(tmp_path_factory.mktemp("page"))


@pytest.fixture(autouse=True, scope="session")
def _no_answer_waits_on_the_real_clock():
    """Release answers at once in this process, unless a test brings a clock or a sleep.

    Slots are for observers, and most of a slot is sleep. Services and commands that run in
    processes of their own keep to theirs.
    """
    real = Release._wait

    def wait(release, begun, slot):
        if release._sleep is not time.sleep:
            real(release, begun, slot)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Release, "_wait", wait)
        yield
