"""Every test begins without children, and leaves none behind."""

import pytest

from surehold.data.process.crew import close_idle


@pytest.fixture(autouse=True)
def _no_children_left():
    yield
    close_idle()
