"""Tampering with the files of a dataset: what opening finds, and what verifying finds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import surehold as sh
from support.runtime import COLUMNS, adaptive_plan, contents, made, opened, records, sql
from support.tampering import bodies, build, copied, edit, found_by, rehash, rewitness, write
from surehold.data import intake
from surehold.session.dataset import Dataset

# ----------------------------------------------------------------------------- the witness


def test_a_witness_that_is_missing_or_empty(template, tmp_path) -> None:
    for how in ("missing", "empty", "noise", "zeros"):
        path = copied(template, tmp_path / how)
        witness = path / "witness"
        if how == "missing":
            witness.unlink()
        else:
            witness.write_bytes({"empty": b"", "noise": b"\x99" * 128, "zeros": bytes(128)}[how])
        found = found_by(path)
        assert found is not None
        assert found[0] == "open"
        assert "witness" in str(found[1])


def test_a_witness_that_is_ahead_or_saw_another_ledger(template, tmp_path) -> None:
    for how, seq in (("ahead", 11), ("other", 10), ("other", 5), ("none", 0), ("none", -1)):
        path = copied(template, tmp_path / f"{how}{seq}")
        (path / "witness").write_text(f"{seq} {'ab' * 32}")
        found = found_by(path)
        assert found is not None
        assert found[0] == "open"


def test_a_witness_that_is_behind_is_what_a_crash_leaves(clinic) -> None:
    [(digest,)] = sql(clinic, "SELECT hash FROM entries WHERE seq = 6")
    (clinic / "witness").write_text(f"6 {digest.hex()}")
    assert found_by(clinic) is None
    with opened(clinic) as dataset:
        dataset.append(records(1950, 1951))
    assert (clinic / "witness").read_text().split()[0] == "11"


# ----------------------------------------------------------------- files, folders and copies


def grown(path: Path) -> None:
    """Ask and append some more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intake, "LARGE", 10)
        with opened(path) as dataset:
            dataset.session().ask("age > 33")
            dataset.append(records(1950, 1970))
            dataset.session().ask("age > 34")


def test_an_older_ledger_beside_a_newer_witness(template, clinic) -> None:
    grown(clinic)
    shutil.copy(template / "ledger.sqlite", clinic / "ledger.sqlite")
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"
    assert "older copy" in str(found[1])


def test_a_newer_ledger_beside_older_segments(template, clinic) -> None:
    grown(clinic)
    shutil.rmtree(clinic / "segments")
    shutil.copytree(template / "segments", clinic / "segments")
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"
    assert found[1].what.startswith("segment ")


def test_a_deleted_log(template, tmp_path) -> None:
    path = copied(template, tmp_path / "clinic")
    dataset = opened(path)
    dataset.session().ask("age > 33")
    copy = copied(path, tmp_path / "copy")  # as it is while in use, log and all
    dataset.close()
    assert found_by(copied(copy, tmp_path / "whole")) is None
    assert (copy / "ledger.sqlite-wal").stat().st_size > 0
    (copy / "ledger.sqlite-wal").unlink()
    found = found_by(copy)
    assert found is not None
    assert found[0] == "open"
    assert "older copy" in str(found[1])


def test_an_older_ledger_and_witness_beside_newer_segments_is_an_older_copy_of_all(
    template, clinic
) -> None:
    """As if the whole folder had been restored; the segments that no entry names are reported."""
    grown(clinic)
    for name in ("ledger.sqlite", "witness"):
        shutil.copy(template / name, clinic / name)
    with opened(clinic) as dataset:
        verified = dataset.verify()
    assert verified.records == 1950
    assert len(verified.strays) == 2  # of 20 records, and of those that were pending


def segment(path: Path, at: int) -> Path:
    rows = sql(path, "SELECT digest FROM segments ORDER BY start")
    return path / "segments" / f"{rows[at][0]}.arrow"


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(
    ("how", "when"),
    [
        ("deleted", "open"),
        ("truncated", "open"),
        ("longer", "open"),
        ("flipped", "verify"),
        ("replaced", "verify"),
        ("folder", "open"),
    ],
)
def test_a_segment_that_is_not_what_it_was(clinic, at: int, how: str, when: str) -> None:
    file = segment(clinic, at)
    content = file.read_bytes()
    file.unlink()
    if how == "truncated":
        file.write_bytes(content[:-8])
    elif how == "longer":
        file.write_bytes(content + b"\0")
    elif how == "flipped":
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif how == "replaced":
        file.write_bytes(b"x" * len(content))
    elif how == "folder":
        file.mkdir()
    found = found_by(clinic)
    assert found is not None
    assert found[0] == when
    # by its name, or by the entry whose records it holds
    assert found[1].what.startswith(f"segment {file.stem[:12]}") or found[1].entry in (2, 3)


@pytest.mark.parametrize("byte", range(0, 30_000, 1_999))
def test_a_flipped_byte_anywhere_in_a_segment(clinic, byte: int) -> None:
    file = segment(clinic, 0)
    content = bytearray(file.read_bytes())
    content[byte % len(content)] ^= 0x10
    file.write_bytes(content)
    found = found_by(clinic)
    assert found is not None


def test_segments_that_changed_places(clinic) -> None:
    one, two = segment(clinic, 1), segment(clinic, 2)
    kept = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(kept)
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"


def test_the_segments_of_another_dataset(template, clinic, tmp_path) -> None:
    build(tmp_path / "other")  # the same records
    shutil.rmtree(clinic / "segments")
    shutil.copytree(tmp_path / "other" / "segments", clinic / "segments")
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"


@pytest.mark.parametrize("names", [("ledger.sqlite",), ("ledger.sqlite", "witness")])
def test_the_ledger_of_another_dataset(clinic, tmp_path, names) -> None:
    build(tmp_path / "other")
    for name in names:
        shutil.copy(tmp_path / "other" / name, clinic / name)
    found = found_by(clinic)
    assert found is not None
    assert found[0] == "open"


def test_a_fresh_ledger_beside_these_segments_has_no_records(clinic, tmp_path) -> None:
    made(tmp_path / "fresh").close()
    for name in ("ledger.sqlite", "witness"):
        shutil.copy(tmp_path / "fresh" / name, clinic / name)
    with opened(clinic) as dataset:
        assert dataset.n == 0
        assert len(dataset.verify().strays) == 3
        for file in (clinic / "segments").iterdir():
            with pytest.raises(sh.InvalidInput, match="in no dataset yet"):
                dataset.append(file)
        assert dataset.n == 0


def test_deleting_the_ledger_does_not_make_room_for_a_new_one(clinic) -> None:
    (clinic / "ledger.sqlite").unlink()
    with pytest.raises(sh.LedgerCorrupt, match="missing"):
        opened(clinic)
    with pytest.raises(sh.LedgerCorrupt, match="its segments are there but its ledger is not"):
        sh.create(clinic, plan=adaptive_plan(), columns=COLUMNS)
    (clinic / "witness").unlink()
    with pytest.raises(sh.LedgerCorrupt):
        opened(clinic)
    with pytest.raises(sh.LedgerCorrupt):
        sh.create(clinic, plan=adaptive_plan(), columns=COLUMNS)


def test_creating_over_a_dataset_is_refused_and_changes_nothing(clinic) -> None:
    before = contents(clinic)
    with pytest.raises(sh.InvalidInput, match="created once"):
        sh.create(clinic, plan=adaptive_plan(), columns=COLUMNS)
    assert contents(clinic) == before
    assert [path.name for path in clinic.parent.iterdir()] == [clinic.name]


def test_segments_are_not_taken_into_a_new_dataset(clinic, tmp_path) -> None:
    with made(tmp_path / "new") as dataset:
        for file in (clinic / "segments").iterdir():
            for format in (None, "arrow"):
                with pytest.raises(sh.InvalidInput, match="in no dataset yet"):
                    dataset.append(file, format=format)
        assert dataset.n == 0


def test_a_renamed_folder_keeps_its_budget(clinic, tmp_path) -> None:
    with opened(clinic) as dataset:
        budget = dataset.session().budget
    moved = clinic.rename(tmp_path / "elsewhere")
    with opened(moved) as dataset:
        assert dataset.session().budget == budget
        dataset.verify()


def test_a_copied_folder_is_another_dataset_from_then_on(clinic, tmp_path) -> None:
    """It opens, with what had been spent; each copy then has its own account. Documented."""
    copy = copied(clinic, tmp_path / "copy")
    with opened(clinic) as one, opened(copy) as two:
        assert one.session().budget == two.session().budget
        one.session().ask("age > 1")
        assert one.session().budget.spent > two.session().budget.spent
        one.verify()
        two.verify()


def test_a_plan_for_more_is_refused_at_open(clinic, template) -> None:
    _, body = bodies(template)[1]
    for change in ({"budget": 10.0}, {"queries": 10**6, "max_queries": 10**6}, {"n0": 100}):
        body["plan"] = {**bodies(template)[1][1]["plan"], **change}
        write(clinic, 1, edit({**body, "x": 0}, ("x",), "gone"))
        rehash(clinic, 1)  # the whole chain
        rewitness(clinic)
        found = found_by(clinic)
        assert found is not None
        assert found[0] == "open"
        assert found[1].entry == 1


def test_trouble_with_the_disk_is_not_called_corruption(clinic, monkeypatch) -> None:
    def fail(*_: object) -> str:
        raise sh.StorageFailed("reading", "Input/output error", "see to the disk")

    with opened(clinic) as dataset:
        monkeypatch.setattr(dataset._data, "text", fail)
        with pytest.raises(sh.StorageFailed):
            dataset.verify()


def test_verifying_changes_nothing_and_may_be_interrupted_by_writers(clinic) -> None:
    with opened(clinic) as one, opened(clinic) as two:

        def meddle(entry: int) -> None:
            if entry == 3:
                two.session().ask("age > 3")
                two.append(records(1950, 1955))
                two._data.seal()

        verified = one.verify(meddle)
        assert verified.entries == 10
        assert one.verify().entries == 14


def test_a_dataset_is_not_opened_twice_as_wide(tmp_path) -> None:
    for name in ("nothing", "file"):
        path = tmp_path / name
        if name == "file":
            path.write_text("")
        with pytest.raises(sh.InvalidInput, match="the dataset"):
            Dataset(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(sh.InvalidInput, match="a folder that surehold create made"):
        Dataset(tmp_path / "empty")
