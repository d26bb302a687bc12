"""README and docs/ as somebody follows them: their fences, and the files that they speak of."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mcp.client.stdio  # noqa: F401  # it keeps the standard error there is when it is imported
import numpy as np
import polars as pl

import surehold as sh
from surehold.cli import main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]

# Their Python and their commands make datasets of the same name, so each is followed by itself.
# On all other pages both belong to one story, and are run in one folder, in the order of the page.
TOLD_TWICE = {"README.md"} | {
    f"docs/reference/{name}.md" for name in ("models", "plan", "queries", "runtime")
}

# What a page may tell its reader to do, and a test had better not.
NOT_RUN = ("pip install ", "make demo", "make test", "git clone ")

_FENCE = re.compile(r"^( *)(```+)([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
_OPERATORS = re.compile(r"[();<>|&]+")


# ----------------------------------------------------------------------------- what is on a page


@dataclass(frozen=True)
class Call:
    """A command, what the page shows below it, and its line."""

    command: str
    output: str
    line: int

    @property
    def is_run(self) -> bool:
        return not self.command.startswith(NOT_RUN)


@dataclass(frozen=True)
class Fence:
    """A block of code: its language, its text, and the line it begins on."""

    language: str
    code: str
    line: int

    @property
    def calls(self) -> list[Call]:
        """The commands in it; of Python there are none, whatever it looks like."""
        if self.language == "python":
            return []
        found = []
        for start in re.finditer(r"^\$ ", self.code, re.MULTILINE):
            text = self.code[start.end() :]
            text = re.split(r"^\$ ", text, maxsplit=1, flags=re.MULTILINE)[0]
            command, _, output = text.replace("\\\n", "").partition("\n")
            found.append(Call(command, output, self.line + self.code[: start.start()].count("\n")))
        return found


def fences(text: str) -> list[Fence]:
    """All fences of a page, in order."""
    return [
        Fence(fence[3].strip(), textwrap.dedent(fence[4]), text[: fence.start()].count("\n") + 2)
        for fence in _FENCE.finditer(text)
    ]


def tells_one_story(page: Path) -> bool:
    """Whether a page has commands, between which its Python is run, in one folder."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    return name not in TOLD_TWICE and any(fence.calls for fence in fences(text))


def tokens(command: str) -> list[str]:
    """The words of a command line, and the shell's operators, without a comment."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


# ------------------------------------------------------------------------- somebody who follows it


@dataclass
class Reader:
    """Somebody at a terminal of 80 columns who follows a page in a folder of their own."""

    folder: Path
    captured: Callable[[], tuple[str, str]]
    """What was printed since it was called last: on standard output, and on standard error."""
    code: int = 0
    names: dict[str, object] = field(default_factory=lambda: {"__name__": "__main__"})
    services: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    """What the page serves, by the address that it really has."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Where a page says that something is served, and where it really is."""

    def run(self, command: str) -> str:
        """Run a command; returns what a terminal shows, and keeps the exit code."""
        for said, real in self.addresses.items():
            command = command.replace(said, real)
        output = self._run(command)
        for said, real in self.addresses.items():
            output = output.replace(real, said)
        return output

    def _run(self, command: str) -> str:
        words = tokens(command)
        if words[:2] == ["surehold", "serve"]:
            return self._serve(words[2:])
        if words[0] == "export":
            return self._export(command, words[1].partition("=")[0])
        operators = [word for word in words if _OPERATORS.fullmatch(word)]
        into = words[-1] if operators == [">"] and words[-2] == ">" else None
        if words[0] != "surehold" or "$" in command or (operators and into is None):
            return self._in_a_shell(command)
        self.captured()
        try:
            main(words[1:-2] if into else words[1:])
        except SystemExit as end:
            self.code = int(end.code or 0)
        out, err = self.captured()
        if into is None:
            return out + err
        Path(into).write_text(out, encoding="utf-8")
        return err

    def _serve(self, options: list[str]) -> str:
        """In another terminal: it goes on while the page does, at a port that nobody else has."""
        said = "8750"
        if "--port" in options:
            at = options.index("--port")
            said = options[at + 1]
            del options[at : at + 2]
        command = [sys.executable, "-m", "surehold", "serve", *options, "--port", "0"]
        log = self.folder / f"service-{len(self.services)}.log"
        with log.open("w") as file:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.communicate()
            self.code = process.returncode
            return log.read_text(encoding="utf-8")
        self.code = 0
        real = line.split()[2]
        self.services[real] = process
        self.addresses[f"http://127.0.0.1:{said}"] = real
        return line

    def _export(self, command: str, name: str) -> str:
        """What a shell would remember for the commands after it."""
        finished = subprocess.run(
            ["bash", "-c", f'{command}\nprintf %s "${name}"'], capture_output=True, text=True
        )
        self.code = finished.returncode
        os.environ[name] = finished.stdout
        return finished.stderr

    def close(self) -> None:
        """Stop what the page served."""
        for process in self.services.values():
            process.terminate()
            process.communicate(timeout=120)

    def _in_a_shell(self, command: str) -> str:
        before = f"(exit {self.code})\n"  # for whoever asks for $?
        finished = subprocess.run(
            ["bash", "-c", before + command], capture_output=True, encoding="utf-8", timeout=300
        )
        self.code = finished.returncode
        return finished.stdout + finished.stderr

    def execute(self, code: str, name: str, line: int) -> str:
        """Run examples in Python; returns what is wrong with them."""
        test = doctest.DocTestParser().get_doctest(code, self.names, name, name, line)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        wrong: list[str] = []
        runner.run(test, out=wrong.append, clear_globs=False)
        self.names = test.globs
        return "".join(wrong)


# --------------------------------------------------------------------- whether an output is true

_NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
_TOLD = re.compile(rf"{_NUMBER}( ± {_NUMBER})? +\[{_NUMBER}, {_NUMBER}\]")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*\+00:00")
_HASH = re.compile(r"\b[0-9a-f]{12,64}\b")


def without_chance(text: str) -> str:
    """An output without what differs from run to run: noisy values, times, hashes."""
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    shown = "\n".join(lines)
    shown = _TOLD.sub(r"#\1 [#, #]", shown)
    return _HASH.sub("<hash>", _TIME.sub("<time>", shown))


def agrees(output: str, shown: str) -> bool:
    """Whether an output is the one a page shows, where `...` stands for anything, as in doctest."""
    pattern = ""
    for line in without_chance(shown).splitlines():
        if line == "...":  # any lines, or none
            pattern += r"(?:.*\n)*"
        else:
            pattern += re.escape(line).replace(re.escape("..."), "(?s:.*)") + r"\n"
    return re.fullmatch(pattern, without_chance(output) + "\n") is not None


def may_end_with(code: int, call: Call) -> bool:
    """A command fails only where the page shows how; a gate's verdict is no failure."""
    if code in (6, 7) and tokens(call.command)[:2] == ["surehold", "watch"]:
        return True
    if code in (6, 7) and tokens(call.command)[:2] == ["surehold", "gate"]:
        return not call.output or call.output.startswith({6: "fail:", 7: "undecided:"}[code])
    return code == 0 or re.search(r"^surehold: ", call.output, re.MULTILINE) is not None


# ------------------------------------------------------------------- the files that pages speak of


def patients(count: int, seed: int) -> pl.DataFrame:
    """The clinic of the README: about one in seven is over 65 and lives in Oslo."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.integers(18, 95, count), rng.normal(27, 5, count).round(1)
    treated = rng.random(count) < 0.6
    return pl.DataFrame(
        {
            "age": age,
            "bmi": bmi,
            "smoker": rng.random(count) < 0.2,
            "city": rng.choice(["Oslo", "Bergen", "Tromsø"], count, p=[0.36, 0.4, 0.24]),
            "treated": treated,
            "cured": rng.random(count) < np.where(treated, 0.9, 0.5),
            "ill": rng.random(count) < 1 / (1 + np.exp(8 - 0.1 * age - 0.07 * bmi)),
        }
    )


def _csv(count: int, seed: int) -> Callable[[Path], None]:
    return lambda path: patients(count, seed).write_csv(path)


def evaluations(count: int, seed: int) -> pl.DataFrame:
    """The evaluation set of the README: which task it is, and which of two models was right."""
    rng = np.random.default_rng(seed)
    task = rng.choice(["math", "code", "text"], count, p=[0.3, 0.3, 0.4])
    chance = np.select([task == "math", task == "code"], [0.78, 0.86], 0.93)
    correct = rng.random(count) < chance
    old = np.where(rng.random(count) < 0.1, rng.random(count) < 0.5, correct)
    seconds = rng.gamma(2.0, 1.5, count).round(2)
    return pl.DataFrame({"task": task, "correct": correct, "old_correct": old, "seconds": seconds})


def exported(path: Path) -> None:
    """What a European spreadsheet exports: semicolons, decimal commas, days before months."""
    rng = np.random.default_rng(6)
    amounts = rng.gamma(2.0, 20.0, 3_000).round(2)
    lines = ["visit_id;country;amount;day;bought"]
    for number, amount in enumerate(amounts.tolist()):
        country, bought = ("NO", "SE")[number % 2], str(amount > 30).lower()
        comma = f"{amount:.2f}".replace(".", ",")
        lines.append(f"{number};{country};{comma};{1 + number % 28:02}.11.2026;{bought}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def onnx_model(path: Path) -> None:
    """Who is ill, by age and bmi: a logistic regression, fitted on records of its own."""
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression

    own = patients(2_000, seed=3)
    features = own.select("age", "bmi").to_numpy().astype(np.float32)
    model = LogisticRegression(max_iter=1_000).fit(features, own["ill"].to_numpy())
    options = {id(model): {"zipmap": False}}
    path.write_bytes(to_onnx(model, features[:1], options=options).SerializeToString())


def clinic(path: Path, spent: int = 0) -> None:
    """The README's dataset, of which so many answers' worth has been asked already."""
    plan = sh.plan(n0=20_000, n=2_000_000, alpha=0.1, beta=0.05)
    records = patients(20_000, seed=1)
    with sh.create(path, plan=plan, like=records) as made:
        made.append(records)
        if spent:
            made.session().ask(sh.select(["age > 60", "age > 70"], price=spent))


def shop(path: Path) -> None:
    """The dataset of queries.md."""
    plan = sh.plan(n0=20_000, n=200_000, alpha=0.1, beta=0.05)
    numbers = np.arange(20_000)
    records = pl.DataFrame(
        {"pro": numbers % 4 > 0, "churned": numbers % 10 == 0, "age": 18 + numbers % 60}
    )
    with sh.create(path, plan=plan, like=records) as made:
        made.append(records)


def _shown(guide: str, language: str) -> str:
    """The file that a guide shows."""
    page = (ROOT / "docs" / "how-to" / f"{guide}.md").read_text(encoding="utf-8")
    return next(fence.code for fence in fences(page) if fence.language == language)


MAKERS: dict[str, Callable[[Path], None]] = {
    "evals.csv": lambda path: evaluations(2_000, seed=4).write_csv(path),
    "more.csv": lambda path: evaluations(3_000, seed=5).write_csv(path),
    "jan.csv": _csv(20_000, seed=1),
    "feb.csv": _csv(5_000, seed=2),
    "model.onnx": onnx_model,
    "visits.csv": exported,
    "oidc.toml": lambda path: path.write_text(_shown("sign-in-with-accounts", "toml")),
}
"""Files that are there before a page is followed, if one of its commands names them."""

DATASETS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "docs/reference/models.md": ("clinic", lambda path: clinic(path, spent=41)),
    "docs/reference/queries.md": ("shop", shop),
    "docs/reference/runtime.md": ("clinic", clinic),
}
"""Datasets that are there because the page speaks of them before it makes one."""


def prepare(page: str, commands: list[str], folder: Path) -> None:
    """Put what a page takes for granted into a folder."""
    for name, make in MAKERS.items():
        if any(re.search(rf"(?<![\w.-]){re.escape(name)}\b", command) for command in commands):
            make(folder / name)
    if page in DATASETS:
        name, make = DATASETS[page]
        make(folder / name)
