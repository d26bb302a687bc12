"""`surehold lab`: tables, JSON and pictures of a contest, and a plan of one's own under attack."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import surehold as sh
from surehold import lab
from surehold.cli import main

SMALL = ["--n0", "1000", "--n", "2000", "--queries", "60", "--alpha", "0.3", "--repeats", "2"]


@pytest.fixture
def called(capsys):
    """Call the command; what it printed, what it complained of, and its exit code."""

    def call(*arguments: str) -> tuple[str, str, int]:
        with pytest.raises(SystemExit) as stopped:
            main(["lab", *arguments])
        shown = capsys.readouterr()
        return shown.out, shown.err, stopped.value.code

    return call


@pytest.fixture(scope="module")
def plan() -> sh.Plan:
    return sh.plan(n0=1_000, n=2_000, alpha=0.3, beta=0.1)


class TestList:
    def test_it_names_everybody_with_their_source(self, called):
        out, _, code = called("list")
        assert code == 0
        for one in (*lab.ATTACKERS, *lab.DEFENDERS):
            assert f"  {one.name} " in out
            assert one.source in out

    def test_json_has_the_same(self, called):
        out, _, _ = called("list", "--json")
        listed = json.loads(out)
        assert [one["name"] for one in listed["attackers"]] == [one.name for one in lab.ATTACKERS]
        assert [one["name"] for one in listed["defenders"]] == [one.name for one in lab.DEFENDERS]


class TestRun:
    def test_one_attack_has_a_table_with_a_line_for_each_defender(self, called):
        out, err, code = called("run", "--attack", "sign", *SMALL)
        assert (err, code) == ("", 0)
        for defender in lab.DEFENDERS:
            [line] = [line for line in out.splitlines() if line.startswith(f"| {defender.name} ")]
            assert "of 2" in line or "no answers" in line

    def test_several_have_a_summary_and_tables_only_if_asked(self, called):
        several = ["--attack", "sign", "--attack", "flooding", "--defender", "raw", *SMALL]
        brief, _, _ = called("run", *several)
        long, _, _ = called("run", *several, "--details")
        assert "broken by" in brief
        assert "largest error" not in brief
        assert "broken by" in long
        assert long.count("largest error") == 2

    def test_json_is_what_the_library_says(self, called):
        out, err, _ = called("run", "--attack", "sign", "--defender", "raw", *SMALL, "--json")
        assert err == ""
        said = lab.run("sign", "raw", n0=1_000, n=2_000, queries=60, alpha=0.3, repeats=2)
        assert _timeless(json.loads(out)) == _timeless(said.to_dict())

    def test_the_same_seed_gives_the_same_report_with_two_jobs(self, called):
        one = ["run", "--attack", "sign", "--defender", "surehold-sharp", *SMALL, "--json"]
        alone, together = called(*one)[0], called(*one, "--jobs", "2")[0]
        assert _timeless(json.loads(alone)) == _timeless(json.loads(together))

    def test_all_attacks_on_data_that_does_not_grow_leaves_some_out(self, called):
        out, _, _ = called("run", "--defender", "raw", "--n0", "500", "--queries", "30", "--json")
        played = {row["attack"] for row in json.loads(out)["rows"]}
        assert played == {one.name for one in lab.ATTACKERS if one.kind != "growing"}

    def test_out_of_reach_is_said_and_does_not_stop_the_others(self, called):
        out, _, code = called(
            "run",
            "--attack",
            "sign",
            *SMALL,
            "--alpha",
            "0.02",
            "--defender",
            "raw",
            "--defender",
            "surehold-sharp",
        )
        assert code == 0
        assert "no answers" in out
        assert "surehold-sharp: " in out
        assert "out of reach" in out

    def test_a_folder_gets_the_report_and_pictures(self, called, tmp_path):
        folder = tmp_path / "found"
        out, _, _ = called(
            "run",
            "--attack",
            "sign",
            "--defender",
            "raw",
            "--defender",
            "splitting",
            *SMALL,
            "--out",
            str(folder),
        )
        written = ["report.json", "report.md", "coverage.png", "claims-sign.png"]
        assert sorted(path.name for path in folder.iterdir()) == sorted(written)
        assert [line.removeprefix("wrote ") for line in out.splitlines() if "wrote" in line] == [
            str(folder / name) for name in written
        ]
        assert json.loads((folder / "report.json").read_text())["rows"][0]["attack"] == "sign"
        assert "| raw " in (folder / "report.md").read_text(encoding="utf-8")
        assert (folder / "coverage.png").read_bytes().startswith(b"\x89PNG")

    def test_files_are_named_aside_if_json_is_printed(self, called, tmp_path):
        out, err, _ = called(
            "run", "--attack", "sign", "--defender", "raw", *SMALL, "--json", "--out", str(tmp_path)
        )
        json.loads(out)
        assert err.count("wrote ") == 4

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--attack", "signs"], "attack must be all or one of sign, "),
            (["--defender", "nobody"], "defender must be all or one of raw, "),
            (["--repeats", "0"], "repeats must be a whole number of at least 1"),
            (["--jobs", "0"], "jobs must be a whole number of at least 1"),
            (["--queries", "1"], "queries must be a whole number of at least 2"),
            (["--queries", "1e9"], "queries must be at most"),
            (["--n", "999"], "n must be at least n0 = 1,000"),
            (["--n", "1e9"], "n must be at most"),
            (["--beta", "0"], "beta must be a number strictly between 0 and 1"),
            (["--attack", "stale", "--n", "1000"], "one that data of one size allows (n = n0)"),
            (["--target", "x > 1"], "--target must be used with --data"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, called, arguments, said):
        out, err, code = called("run", *SMALL, *arguments)
        assert (out, code) == ("", 2)
        assert err.startswith("surehold: ")
        assert said in err


class TestCheck:
    def test_a_plan_in_a_file(self, called, plan, tmp_path):
        path = tmp_path / "plan.json"
        path.write_text(plan.to_json(), encoding="utf-8")
        out, _, code = called("check", str(path), "--attack", "flooding", "--repeats", "2")
        assert code == 0
        assert "| surehold " in out
        assert "| wide " in out
        assert (
            "surehold: 2 of 2 analyses are right in all their answers; the plan promises 90%" in out
        )
        assert "With 2 repeats only gross failures show." in out

    def test_a_dataset_is_neither_read_nor_charged(self, called, plan, tmp_path):
        path = tmp_path / "clinic"
        with sh.create(path, plan=plan, columns={"age": "int"}) as made:
            made.append([{"age": 1}] * 1_000, again=True)
            before = made.status().head
        out, _, code = called("check", str(path), "--repeats", "1", "--json")
        assert code == 0
        assert {row["defender"] for row in json.loads(out)["rows"]} == {"wide", "surehold"}
        with sh.open(path) as opened:
            assert opened.status().head == before

    def test_a_plan_in_batches_that_asks_only_at_the_end(self, called, tmp_path):
        path = tmp_path / "plan.json"
        plan = sh.plan(n0=2_000, n=2_000, alpha=0.3, beta=0.1, batches=1, certificate="jlnrss")
        path.write_text(plan.to_json(), encoding="utf-8")
        _, _, code = called("check", str(path), "--repeats", "1", "--queries", "20")
        assert code == 0

    def test_an_edited_plan_is_refused(self, called, plan, tmp_path):
        path = tmp_path / "plan.json"
        edited = {**plan.to_dict(), "width": plan.width / 2.0}
        path.write_text(json.dumps(edited), encoding="utf-8")
        _, err, code = called("check", str(path))
        assert code == 2
        assert "plan" in err

    def test_a_plan_that_datasets_do_not_run_is_refused(self, called, tmp_path):
        path = tmp_path / "plan.json"
        plan = sh.plan(n0=1_000, n=3_000, alpha=0.3, beta=0.1, batches=3, certificate="split")
        path.write_text(plan.to_json(), encoding="utf-8")
        _, err, code = called("check", str(path))
        assert code == 2
        assert "certificate 'split' does not hold here" in err

    def test_a_coverage_that_is_too_low_for_sure_has_its_exit_code(
        self, called, plan, tmp_path, monkeypatch
    ):
        path = tmp_path / "plan.json"
        path.write_text(plan.to_json(), encoding="utf-8")
        raw = lab.run("sign", ["raw", "wide"], n0=1_000, n=2_000, queries=60, repeats=20)
        renamed = (_renamed(raw.rows[0], "surehold"), raw.rows[1])
        broken = lab.Report(raw.setting, raw.repeats, raw.seed, renamed, raw.data)
        monkeypatch.setattr(lab, "check", lambda *_, **__: broken)
        out, _, code = called("check", str(path))
        assert code == 6
        assert "surehold does NOT hold with probability 95% under sign." in out
        assert "this check could not have failed" in out

    def test_a_file_that_is_no_plan(self, called, tmp_path):
        path = tmp_path / "plan.json"
        path.write_text("{}", encoding="utf-8")
        _, err, code = called("check", str(path))
        assert code == 2
        assert "surehold plan" in err

    def test_nothing_there(self, called, tmp_path):
        _, err, code = called("check", str(tmp_path / "nothing"))
        assert code == 2
        assert "does not exist" in err


def test_long_contests_say_how_long(monkeypatch, capsys):
    from surehold.cli import console

    clock = iter([0.0, 6.0, 10.0, 21.0])
    monkeypatch.setattr(console, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with console.playing() as progress:
        for done in (10, 20, 30):
            progress(done, 100)
    assert capsys.readouterr().err.splitlines() == [
        "10 of 100 repeats played, about 54 s left",
        "30 of 100 repeats played, about 49 s left",
    ]


def _timeless(report: dict) -> dict:
    for row in report["rows"]:
        assert row.pop("seconds") >= 0.0
    return json.loads(json.dumps(report))


def _renamed(row: lab.Row, defender: str) -> lab.Row:
    from dataclasses import replace

    return replace(row, defender=defender)


def test_pictures_know_a_defender_without_answers(tmp_path: Path):
    from surehold.plots.lab import draw_claims, draw_coverage

    report = lab.run(
        "sign", ["raw", "surehold-sharp"], n0=500, n=500, queries=30, alpha=0.01, repeats=2
    )
    assert report.row("sign", "surehold-sharp").reason
    for draw in (
        lambda path: draw_coverage(report, path),
        lambda path: draw_claims(report, "sign", path),
    ):
        draw(tmp_path / "picture.svg")
        drawn = (tmp_path / "picture.svg").read_text(encoding="utf-8")
        assert "raw" in drawn


def test_a_check_says_which_attacks_could_tell(called, tmp_path):
    path = tmp_path / "plan.json"
    plan = sh.plan(n0=2_000, n=20_000, alpha=0.2, beta=0.05)
    path.write_text(plan.to_json(), encoding="utf-8")
    some = ["--attack", "flooding", "--attack", "dashboard", "--repeats", "1"]
    out, _, _ = called("check", str(path), *some)
    assert out.endswith("\nExact answers of the same width fail under flooding.\n")
