"""The release gate of examples/: its steps, run as they stand, against a real service."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

import surehold as sh
from support.documents import ROOT, onnx_model, patients
from support.service import Running, running

WORKFLOW = yaml.safe_load((ROOT / "examples" / "release-gate.yml").read_text(encoding="utf-8"))


@pytest.fixture
def holdout(tmp_path) -> Iterator[Running]:
    plan = sh.plan(n0=20_000, n=200_000, alpha=0.1, beta=0.05)
    records = patients(20_000, seed=1)
    with sh.create(tmp_path / "holdout", plan=plan, like=records) as made:
        made.append(records)
        with running(made) as service:
            yield service


class Job:
    """The job on a machine of its own, which has an address, a token and the candidate."""

    def __init__(self, folder: Path, holdout: Running, commit: str, token: str) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = {"SUREHOLD_URL": holdout.url, "SUREHOLD_TOKEN": token, "GITHUB_SHA": commit}
        self._env = {"PATH": path, "HOME": str(folder), **env}

    def run(self) -> tuple[str, int, str]:
        """The step it ended with, that step's exit code and its output."""
        name, code, output = "", 0, ""
        [job] = WORKFLOW["jobs"].values()
        for step in job["steps"]:
            if "run" not in step or step["name"] == "install":  # it is installed here
                continue
            if code and step.get("if") != "always()":
                continue
            command = ["bash", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(
                command, cwd=self.folder, env=self._env, capture_output=True, text=True
            )
            if not code:
                name, code, output = step["name"], done.returncode, done.stdout + done.stderr
        return name, code, output


def test_the_job_asks_for_what_it_needs_and_holds_no_records():
    [job] = WORKFLOW["jobs"].values()
    assert set(job["env"]) == {"SUREHOLD_URL", "SUREHOLD_TOKEN"}
    assert "secrets." in job["env"]["SUREHOLD_TOKEN"]
    assert job["runs-on"] == "ubuntu-latest"


def test_a_good_model_passes_and_a_second_run_is_free(holdout, tmp_path):
    token = holdout.token(analyst="ci", limit=0.5)
    job = Job(tmp_path / "job", holdout, "a1f09c3", token)
    onnx_model(tmp_path / "job" / "model.onnx")
    name, code, output = job.run()
    assert (name, code) == ("what is left", 0), output
    spent = holdout.dataset.status().budget.spent
    assert job.run()[1] == 0
    assert holdout.dataset.status().budget.spent == spent > 0.0
    score = json.loads((tmp_path / "job" / "score.json").read_text())
    assert (score["recorded"], score["analyst"], score["key"]) == (True, "ci", "a1f09c3")


def backwards(path: Path) -> None:
    """A model that says the reverse of what is so."""
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression

    own = patients(2_000, seed=3)
    features = own.select("age", "bmi").to_numpy().astype(np.float32)
    model = LogisticRegression(max_iter=1_000).fit(features, ~own["ill"].to_numpy())
    options = {id(model): {"zipmap": False}}
    path.write_bytes(to_onnx(model, features[:1], options=options).SerializeToString())


def test_a_bad_model_fails(holdout, tmp_path):
    job = Job(tmp_path / "job", holdout, "b77e210", holdout.token(analyst="ci"))
    backwards(tmp_path / "job" / "model.onnx")
    name, code, output = job.run()
    assert (name, code) == ("at least 0.6", 6), output
    assert output.startswith("fail:")


def test_a_token_that_was_revoked_stops_the_release(holdout, tmp_path):
    token = holdout.token(analyst="ci")
    holdout.service.book.revoke(token.split("_")[1])
    job = Job(tmp_path / "job", holdout, "c05d9e8", token)
    onnx_model(tmp_path / "job" / "model.onnx")
    name, code, output = job.run()
    assert (name, code) == ("what it would cost", 8), output
    assert "revoked" in output
    assert token not in output


def test_a_limit_that_is_used_up_stops_the_release(holdout, tmp_path):
    token = holdout.token(analyst="ci", limit=1e-6)
    job = Job(tmp_path / "job", holdout, "d3c4e55", token)
    onnx_model(tmp_path / "job" / "model.onnx")
    name, code, output = job.run()
    assert (name, code) == ("how good is it", 3), output
    assert "the limit of analyst 'ci'" in output
    assert holdout.dataset.status().budget.spent == 0.0
