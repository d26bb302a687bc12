"""The diagram of rooms in CONTRIBUTING.md is that of the imports."""

from __future__ import annotations

import pytest
import rooms


def test_the_diagram_is_not_stale():
    page = rooms.PAGE.read_text(encoding="utf-8")
    assert page.count(rooms.BEGIN) == page.count(rooms.END) == 1
    assert page == rooms.with_diagram(page), "run `make pages`"


def test_it_has_every_room_and_no_mark_below_the_diagonal():
    found = rooms.imports()
    assert {"cli", "server", "session", "data", "ledger", "queries", "theory"} <= set(found)
    assert {"data", "ledger", "mechanisms", "queries"} <= found["session"]
    assert found["errors"] == set()
    for line in rooms.diagram(found).splitlines()[1:]:
        assert "●" not in line.partition("╲")[0]


def test_imports_in_functions_count_and_cycles_are_refused(tmp_path):
    package = tmp_path / "surehold"
    (package / "upper").mkdir(parents=True)
    (package / "upper" / "__init__.py").touch()
    (package / "upper" / "part.py").write_text("def f():\n    from surehold import lower\n")
    (package / "lower.py").write_text("import math\n")
    assert rooms.imports(package) == {"upper": {"lower"}, "lower": set()}
    (package / "lower.py").write_text("from surehold.upper.part import f\n")
    with pytest.raises(ValueError, match="import each other"):
        rooms.diagram(rooms.imports(package))
