"""Hypothesis profiles; `pytest --hypothesis-profile=NAME` picks another than the first."""

import fcntl

from hypothesis import settings

# macOS syncs by another call, which is slow; tests that watch or fail syncs do so at os.fsync.
if hasattr(fcntl, "F_FULLFSYNC"):
    del fcntl.F_FULLFSYNC

# The same examples on every run and every machine, however slow: a red build means a change.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
# New examples each run, and many of them: for looking for trouble by hand.
settings.register_profile("search", deadline=None, max_examples=2000, print_blob=True)

settings.load_profile("ci")
