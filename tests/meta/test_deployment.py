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
from ipaddress import ip_address, ip_network

import click
import pytest
import yaml

from support.documents import ROOT, fences
from support.runtime import GUARDS, made
from support.service import running, send
from surehold.cli import surehold
from surehold.server import middleware, protocol
from surehold.server.settings import Settings

PAGE = (ROOT / "docs" / "how-to" / "deploy-the-service.md").read_text(encoding="utf-8")
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
CADDY = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
UNIT = (DEPLOY / "surehold.service").read_text(encoding="utf-8")
BOARD = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((DEPLOY / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
SCRAPED = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SERVE = surehold.commands["serve"]
PORT = next(option.default for option in SERVE.params if option.name == "port")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile: each instruction and what it is given."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
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
        build = COMPOSE["services"]["surehold"]["build"]
        assert (DEPLOY / build["context"]).resolve() == ROOT
        file = ROOT / build["dockerfile"]
        ignored = file.with_suffix(".dockerignore").read_text(encoding="utf-8").splitlines()
        assert ignored[1] == "*"
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
        [user] = given("USER")
        assert int(user) > 0  # as Kubernetes' runAsNonRoot wants it, a number
        [made] = [run for run in given("RUN") if "useradd" in run]
        assert f"useradd --system --uid {user} " in made
        order = [name for name, _ in instructions()]
        assert order.index("USER") < order.index("ENTRYPOINT")

    def test_it_starts_the_service(self):
        [entry], [arguments] = given("ENTRYPOINT"), given("CMD")
        assert json.loads(entry) == ["surehold"]
        words = json.loads(arguments)
        check_command([*words])
        assert words[1].startswith(f"{given('VOLUME')[0].split()[0]}/")
        assert given("EXPOSE") == [str(PORT)]
        command = COMPOSE["services"]["surehold"]["command"]
        check_command([*command])
        assert command[: len(words)] == words

    def test_its_health_check_tells_a_service_from_none(self, tmp_path):
        [check] = given("HEALTHCHECK")
        program, *options = json.loads(check.partition("CMD ")[2])
        assert program == "python"
        assert str(PORT) in options[-1]
        assert "/readyz" in options[-1]
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
        volumes = [one.split(":") for one in COMPOSE["services"]["surehold"]["volumes"]]
        assert [[inside for _, inside in volumes]] == [one.split() for one in given("VOLUME")]
        assert {name for name, _ in volumes} <= set(COMPOSE["volumes"])

    def test_the_service_writes_nowhere_else_and_has_no_rights(self):
        service = COMPOSE["services"]["surehold"]
        assert service["read_only"] is True
        assert service["tmpfs"] == ["/tmp"]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "user", "cap_add", "ports"} & set(service)

    def test_only_the_proxy_can_be_reached(self):
        service, proxy = COMPOSE["services"]["surehold"], COMPOSE["services"]["caddy"]
        assert "ports" not in service
        assert service["networks"] == ["inside"]
        assert COMPOSE["networks"]["inside"]["internal"] is True
        assert "443:443" in proxy["ports"]
        inside, address = COMPOSE["networks"]["inside"], proxy["networks"]["inside"]["ipv4_address"]
        [subnet] = [one["subnet"] for one in inside["ipam"]["config"]]
        assert ip_address(address) in ip_network(subnet)
        command = service["command"]
        assert command[command.index("--proxy") + 1] == address
        # A named proxy is trusted with these, so it must not pass on a client's.
        assert "header_up X-Request-Id {http.request.uuid}" in CADDY
        for name in middleware._TRACE:
            assert f"header_up -{name.capitalize()}\n" in CADDY

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

    def test_it_has_as_few_rights_as_the_container(self):
        assert setting("ProtectSystem") == "strict"
        assert setting("CapabilityBoundingSet") == ""
        for name in ("NoNewPrivileges", "PrivateTmp", "PrivateDevices", "RestrictNamespaces"):
            assert setting(name) == "true"

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


EXPRESSIONS = [
    *(rule["expr"] for rule in RULES),
    *(target["expr"] for panel in BOARD["panels"] for target in panel["targets"]),
    *(one["query"]["query"] for one in BOARD["templating"]["list"][1:]),
]


@pytest.fixture(scope="module")
def exposed(tmp_path_factory) -> dict[str, set[str]]:
    """The names of both guards, each with its labels, once everything was counted."""
    found: dict[str, set[str]] = {"up": set()}
    for guard in GUARDS:
        folder = tmp_path_factory.mktemp(guard) / "clinic"
        with made(folder, count=300, guard=guard) as dataset, running(dataset) as run:
            send(run.url, "POST", "/v1/ask", {"query": "age > 65"})
            run.runner._host.main.metrics.count_call("ask", "answered")
            text = send(run.url, "GET", "/metrics").content.decode()
        for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? ", text, flags=re.MULTILINE):
            found.setdefault(name, set()).update(re.findall(r"(\w+)=", labels))
    return found


class TestMonitoring:
    """Every name that dashboard and rules have is one of /metrics, with these labels."""

    def test_all_names_and_labels_exist(self, exposed):
        of_targets = {"dataset", "job", "instance"}  # prometheus.yml gives them
        for expression in EXPRESSIONS:
            text = re.sub(r'"[^"]*"', "", expression)
            names = set(re.findall(r"\b(?:surehold_\w+|up)\b", text))
            assert names, expression
            assert names <= set(exposed), expression
            labels = set(re.findall(r"(\w+)=", text))
            for listed in re.findall(r"(?:by|without) \(([^)]*)\)", text):
                labels |= {one.strip() for one in listed.split(",")}
            assert labels <= of_targets.union(*(exposed[name] for name in names)), expression
            assert text.count("(") == text.count(")")

    def test_all_that_is_exposed_is_on_the_dashboard_or_in_the_reference(self, exposed):
        shown = " ".join(EXPRESSIONS)
        http = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
        for name in exposed:
            if name.startswith("surehold_") and not name.endswith(("_created", "_sum", "_count")):
                assert name in shown, name
                assert name.removesuffix("_bucket") in http, name

    def test_the_dashboard_can_be_imported(self):
        panels = BOARD["panels"]
        assert len({panel["id"] for panel in panels}) == len(panels) > 10
        variables = {one["name"] for one in BOARD["templating"]["list"]}
        assert set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) <= variables
        taken: set[tuple[int, int]] = set()
        for panel in panels:
            at = panel["gridPos"]
            cells = {(at["x"] + i, at["y"] + j) for i in range(at["w"]) for j in range(at["h"])}
            assert not cells & taken
            assert at["x"] + at["w"] <= 24
            taken |= cells
            assert [one["refId"] for one in panel["targets"]] == [*"AB"][: len(panel["targets"])]

    def test_rules_say_what_to_do_about_which_dataset(self):
        assert SCRAPED["rule_files"] == ["alerts.yml"]
        [job] = SCRAPED["scrape_configs"]
        [target] = job["static_configs"]
        name = target["labels"]["dataset"]
        assert target["labels"]["__metrics_path__"] == f"/d/{name}/metrics"
        for rule in RULES:
            assert rule["labels"]["severity"] in ("warning", "critical")
            assert "{{ $labels.dataset }}" in rule["annotations"]["summary"]
            assert 'job="surehold"' not in rule["expr"] or job["job_name"] == "surehold"


def test_every_file_is_described():
    for path in DEPLOY.iterdir():
        assert path.suffix == ".dockerignore" or f"(../../deploy/{path.name})" in PAGE, path.name


def test_commands_of_the_page_exist():
    text = "\n".join(fence.code for fence in fences(PAGE))
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
