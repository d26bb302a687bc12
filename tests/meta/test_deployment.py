"""Container, proxy, unit, workflow and hooks name what is there, with the service's own numbers."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch

import click
import pytest
import yaml

from support.documents import ROOT, fences
from support.runtime import made
from support.service import running
from surehold.cli import surehold
from surehold.server import protocol
from surehold.server.settings import Settings

PAGE = (ROOT / "docs" / "how-to" / "deploy-the-service.md").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
CADDY = (ROOT / "Caddyfile").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SERVE = surehold.commands["serve"]
PORT = next(option.default for option in SERVE.params if option.name == "port")
[UNIT] = [fence.code for fence in fences(PAGE) if fence.code.startswith("[Unit]")]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile: each instruction and what it is given."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", "")
    lines = (line.partition(" ") for line in text.splitlines() if line.strip())
    return [(name, given.strip()) for name, _, given in lines]


def given(name: str) -> list[str]:
    return [text for instruction, text in instructions() if instruction == name]


def check_command(words: list[str]) -> None:
    """That a command exists, with these options."""
    command: click.Command = surehold
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    known = {name for option in command.params for name in option.opts}
    assert {word for word in words if word.startswith("--")} <= known


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


def setting(name: str) -> str:
    [found] = re.findall(rf"^{name}=(.*)$", UNIT, flags=re.MULTILINE)
    return str(found)


class TestTheContainer:
    def test_what_it_copies_is_there_and_not_ignored(self):
        ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
        let_in = [line[1:] for line in ignored if line.startswith("!")]
        sources = [
            source
            for text in given("COPY")
            if not text.startswith("--from")
            for source in text.split()[:-1]
        ]
        assert "requirements/serve.txt" in sources
        for source in sources:
            assert (ROOT / source).exists()
            assert any(fnmatch(source, pattern) for pattern in let_in), source
        assert PROJECT["readme"] in sources
        assert set(PROJECT["license-files"]) <= set(sources)

    def test_it_installs_the_pinned_versions(self):
        [pinned] = [run for run in given("RUN") if "--require-hashes" in run]
        assert "-r requirements/serve.txt" in pinned

    def test_it_runs_as_nobody_in_particular(self):
        assert given("USER") == ["surehold"]
        [made] = [run for run in given("RUN") if "useradd" in run]
        assert "useradd --system" in made
        order = [name for name, _ in instructions()]
        assert order.index("USER") < order.index("ENTRYPOINT")

    def test_it_starts_the_service(self):
        [entry], [arguments] = given("ENTRYPOINT"), given("CMD")
        assert json.loads(entry) == ["surehold"]
        words = json.loads(arguments)
        check_command([*words])
        [volume] = given("VOLUME")
        assert words[1].startswith(f"{volume}/")
        assert given("EXPOSE") == [str(PORT)]

    def test_its_health_check_tells_a_service_from_none(self, tmp_path):
        [check] = given("HEALTHCHECK")
        program, *options = json.loads(check.partition("CMD ")[2])
        assert program == "python"
        assert str(PORT) in options[-1]
        with made(tmp_path / "clinic", count=200) as dataset, running(dataset) as run:
            here = options[-1].replace(str(PORT), run.url.rpartition(":")[2])
            command = [sys.executable, *options[:-1], here]
            assert subprocess.run(command).returncode == 0
        assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0

    def test_python_is_one_of_those_that_are_tested(self):
        [version] = {re.match(r"python:([\d.]+)-slim", text)[1] for text in given("FROM")}
        assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


class TestCompose:
    def test_the_volume_is_the_containers(self):
        [volume] = COMPOSE["services"]["surehold"]["volumes"]
        assert [volume.partition(":")[2]] == given("VOLUME")
        assert volume.partition(":")[0] in COMPOSE["volumes"]

    def test_only_the_proxy_can_be_reached(self):
        service, proxy = COMPOSE["services"]["surehold"], COMPOSE["services"]["caddy"]
        assert "ports" not in service
        assert service["networks"] == ["inside"]
        assert COMPOSE["networks"]["inside"]["internal"] is True
        assert "443:443" in proxy["ports"]
        assert "inside" in proxy["networks"]

    def test_it_may_finish_what_is_under_way(self):
        least = protocol._SECONDS_TO_FINISH
        assert seconds(COMPOSE["services"]["surehold"]["stop_grace_period"]) > least

    def test_the_proxy_leads_to_the_service_and_lets_the_largest_append_through(self):
        assert re.findall(r"reverse_proxy (\S+)", CADDY) == [f"surehold:{PORT}"]
        [size] = re.findall(r"max_size (\d+)MiB", CADDY)
        assert int(size) << 20 == Settings().append_bytes
        assert "./Caddyfile:/etc/caddy/Caddyfile:ro" in COMPOSE["services"]["caddy"]["volumes"]
        [variable] = re.findall(r"\{\$(\w+)", CADDY)
        assert variable in COMPOSE["services"]["caddy"]["environment"]
        assert f"{variable}=" in PAGE


class TestTheUnit:
    def test_it_starts_the_service_as_a_user_of_its_own(self):
        program, *words = shlex.split(setting("ExecStart"))
        assert program.endswith("/bin/surehold")
        check_command([*words])
        assert words[1].startswith(f"{setting('ReadWritePaths')}/")
        assert setting("User") != "root"
        assert int(setting("TimeoutStopSec")) > protocol._SECONDS_TO_FINISH

    @pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd")
    def test_systemd_understands_it(self, tmp_path):
        program = shlex.split(setting("ExecStart"))[0]
        (tmp_path / "surehold.service").write_text(UNIT.replace(program, shutil.which("true")))
        ended = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(tmp_path / "surehold.service")],
            capture_output=True,
            text=True,
        )
        about = [line for line in ended.stderr.splitlines() if "surehold.service" in line]
        assert (ended.returncode, about) == (0, [])


def test_commands_of_the_page_exist():
    text = "\n".join(fence.code for fence in fences(PAGE) if not fence.code.startswith("["))
    calls = re.findall(r"(?:compose run .*?|bin/|\$\(.*?\) )surehold ([a-z][^>\n]*)", text)
    assert len(calls) >= 6
    for call in calls:
        check_command(shlex.split(call))
    for path in re.findall(r"-r (\S+)", PAGE):
        assert (ROOT / path).is_file()


def test_the_workflow_runs_the_tests_on_what_the_project_says_it_runs_on():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["test"]
    matrix = job["strategy"]["matrix"]
    versions = [
        found[1]
        for text in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", text))
    ]
    assert matrix["python"] == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"
    systems = {text for text in PROJECT["classifiers"] if text.startswith("Operating System")}
    assert systems == {"Operating System :: MacOS", "Operating System :: POSIX :: Linux"}
    assert [system.partition("-")[0] for system in matrix["system"]] == ["ubuntu", "macos"]
    assert job["steps"][-1]["run"] == "make test PYTHON=python"


def test_hooks_run_the_projects_own_tools():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    [repository] = hooks["repos"]
    assert repository["repo"] == "local"
    pinned = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    tools = {
        "ruff-format": "ruff",
        "ruff-check": "ruff",
        "mypy": "mypy",
        "imports": "import-linter",
    }
    assert {hook["id"] for hook in repository["hooks"]} == set(tools)
    for hook in repository["hooks"]:
        assert f"\n{tools[hook['id']]}==" in pinned
        assert hook["entry"].startswith(".venv/bin/")
    [types] = [hook["entry"] for hook in repository["hooks"] if hook["id"] == "mypy"]
    assert types.replace(".venv/bin", "$(BIN)") in MAKEFILE


@pytest.mark.parametrize("name", ["bug.yml", "proposal.yml"])
def test_issue_forms_have_what_github_asks_for(name):
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / name).read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(form)
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in asked}) == len(asked) >= 2
    assert all(part["attributes"]["label"] for part in asked)
