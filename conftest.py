"""Examples in the pages run in a folder of their own, as a reader would run them."""

import pytest


@pytest.fixture(autouse=True)
def _a_folder_of_its_own(request, tmp_path_factory, monkeypatch):
    if request.node.path.suffix == ".md":
        monkeypatch.chdir(tmp_path_factory.mktemp("page"))
