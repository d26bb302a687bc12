"""`surehold reproduce`."""

import csv

import pytest

from surehold.cli import main
from surehold.planning.figures import CURVES


def reproduce(*arguments):
    with pytest.raises(SystemExit) as caught:
        main(["reproduce", *map(str, arguments)])
    return caught.value.code


@pytest.mark.parametrize("name", ["fig4", "fig5"])
def test_writes_png_svg_and_csv(name, tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert reproduce(name, "--out", out, "--points", 2) == 0
    assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / f"{name}.svg").read_text()
    with (out / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["certificate"] for row in rows} == set(CURVES)
    assert all(float(row["value"]) > 0 for row in rows if row["certificate"] == "sharp")
    assert all(row["figure"] == name for row in rows)
    assert capsys.readouterr().out.count("wrote ") == 3


@pytest.mark.parametrize(
    "arguments", [["fig1", "--out", "x"], ["fig2"], ["fig2", "--out", "x", "--points", "1"]]
)
def test_bad_requests_exit_with_2_and_one_line(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert reproduce(*arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_file_where_the_folder_should_be(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert reproduce("fig5", "--out", tmp_path / "file") == 2
    assert capsys.readouterr().err.count("\n") == 1
