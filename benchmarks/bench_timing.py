"""Whether a clock tells two datasets apart: response times of the service, of MCP and locally.

    .venv/bin/python benchmarks/bench_timing.py                  (10,000 requests each way: an hour)
    .venv/bin/python benchmarks/bench_timing.py --requests 2000
    .venv/bin/python benchmarks/bench_timing.py --requests 2000 --planted 0.005

Datasets come in pairs that differ in 1 % of the records, or in one, in all that the questions ask
about. Each question is asked of both in random order, every time with other constants, so that
each request is a fresh evaluation. The statistic of a question is the Mann-Whitney test of its
response times; Holm's method adjusts the p-values of all questions and pairs together. For its
power, the times of one side are moved until the test notices (``seen``), and the whole is repeated
without fixed-time release and with evaluations of one side made longer (``--planted``).

Both datasets of a pair are served by one process with one memory of trials, as what an attacker
compares is the same service on other records. Trials read no record, but they are measurements:
two processes may choose other slots.
"""

from __future__ import annotations

import argparse
import http.client
import json
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from scipy.stats import mannwhitneyu

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import surehold as sh
from support.service import running, running_tools
from surehold.data.record_store import RecordStore
from surehold.server.settings import Settings
from surehold.session.dataset import Dataset
from surehold.session.dataset import open as open_dataset

COLUMNS = {"age": "int", "bmi": "float", "city": "str", "note": "str", "ill": "bool"}
ALPHA = 0.05
LONG = "x" * 990
MOVES = (1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2)
_FEW = 8  # fewer times on a side say nothing

# Each takes a number that makes it another query of the same length.
QUESTIONS: dict[str, str] = {
    "fraction": "age > {c}",
    "mean": "mean(bmi, 10.0, {c})",
    "fraction of two": "ill and bmi > {c}",
    "null": "bmi + {c} is null",
    "case": "case when ill then sqrt(bmi * {c}) else 0 end > 1",
    "long upper": f"upper(case when age > {{c}} then '{LONG}' else '' end) = 'X'",
    "text equals": "note = '{c}'",
    "contains": "contains(note, '{c}')",
    "starts with": "starts_with(note, '{c}')",
    "text in": "note in ('{c}', 'Oslo', 'Bergen')",
    "text order": "note < '{c}'",
    "cast": "cast(note as number) > {c}",
    "length": "length(note) > {c}",
    "histogram": "histogram(bins(age, 0, {c}, 110))",
    "rate": "rate(ill, bmi > {c})",
    "gate": "gate(fraction(age > {c}), at_most, 0.5)",
    "kendall": "kendall(age, bmi + {c})",
    "auc": "auc_pairs(age, bmi > {c})",
    "select": "select(lowest, 4, fraction(age > {c}), fraction(bmi > {c}), fraction(ill))",
    "fit": "{fit}",
    "deep tree": "{model}",
}


def text_of(question: str, number: int, model: Path | None) -> str:
    """The number makes it a query that was not asked yet."""
    # No two questions share a sum: what is known already would be answered without a wait.
    apart = list(QUESTIONS).index(question) / 100
    constant = f"{50.0 + apart + number * 1e-8:.8f}"
    if question == "fit":
        features = {"age": (0, 100 + number * 1e-6)}
        fit = sh.fit("linear", target="bmi", low=0, high=50, features=features, price=20, steps=5)
        return fit.text
    if question == "deep tree":
        assert model is not None
        target = f"age + {constant}"
        return sh.loss(
            model, kind="absolute", features=["age"], target=target, low=0, high=99
        ).canonical
    return QUESTIONS[question].replace("{c}", constant)


# ------------------------------------------------------------------------------------- the data


def records_of(count: int, changed: int, seed: int = 1) -> list[dict[str, Any]]:
    """Records of which the last ``changed`` are all that the questions ask about, or none of it."""
    rng = np.random.default_rng(seed)
    ages, masses = rng.integers(18, 50, count).tolist(), rng.uniform(15, 40, count).tolist()
    made: list[dict[str, Any]] = [
        {"age": age, "bmi": mass, "city": "Oslo", "note": "short", "ill": False}
        for age, mass in zip(ages, masses, strict=True)
    ]
    for record in made[count - changed :]:
        record |= {"age": 99, "bmi": None, "city": "Bergen", "note": "50.0" * 200, "ill": True}
    return made


def chain(depth: int = 60) -> bytes | None:
    """An ONNX tree that is a chain: some records go one step, others all of them."""
    try:
        from onnx import TensorProto, helper
    except ImportError:
        return None
    nodes = range(2 * depth + 1)
    inner = [at for at in nodes if at % 2 == 0 and at < 2 * depth]
    modes = ["BRANCH_LEQ" if at in inner else "LEAF" for at in nodes]
    leaves = [at for at in nodes if at not in inner]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        nodes_treeids=[0] * len(nodes),
        nodes_nodeids=list(nodes),
        nodes_featureids=[0] * len(nodes),
        nodes_values=[50.0 + at / depth if at in inner else 0.0 for at in nodes],
        nodes_modes=modes,
        nodes_truenodeids=[at + 1 if at in inner else 0 for at in nodes],
        nodes_falsenodeids=[at + 2 if at in inner else 0 for at in nodes],
        nodes_hitrates=[1.0] * len(nodes),
        nodes_missing_value_tracks_true=[0] * len(nodes),
        target_treeids=[0] * len(leaves),
        target_nodeids=leaves,
        target_ids=[0] * len(leaves),
        target_weights=[at / (2 * depth) for at in leaves],
        n_targets=1,
    )
    graph = helper.make_graph(
        [node],
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def made_pairs(folder: Path, count: int) -> tuple[dict[str, tuple[Path, Path]], Path | None]:
    """Datasets that differ in 1 % of the records, and in one; and the deep tree, if it is taken."""
    plan = sh.plan(n0=count, n=count, alpha=0.3, beta=0.1)
    pairs, content, model = {}, chain(), folder / "chain.onnx"
    if content is not None:
        model.write_bytes(content)
    for title, changed in (("1 %", count // 100), ("one", 1)):
        paths = (folder / f"{changed} a", folder / f"{changed} b")
        for path, some in zip(paths, (0, changed), strict=True):
            with sh.create(path, plan=plan, columns=COLUMNS) as dataset:
                dataset.append(records_of(count, some))
                if content is not None:
                    try:
                        dataset.keep_model(model)
                    except sh.SureholdError as error:
                        print(f"the deep tree is refused: {error}")
                        content = None
        pairs[title] = paths
    return pairs, None if content is None else model


# ---------------------------------------------------------------------------------- the service


def serve(paths: Sequence[str], tools: bool, fixed_time: bool, planted: float) -> None:
    """Serve datasets, over HTTP or as tools, until standard input ends; their addresses first.

    With ``planted`` seconds every evaluation of the second, the fourth, ... takes longer.
    """
    settings = Settings(rate=1e9, slow_asks=(64, 64), fixed_time=fixed_time)
    exact = RecordStore.exact
    with ExitStack() as stack:
        opened = [stack.enter_context(open_dataset(path)) for path in paths]
        longer = {id(dataset._data) for dataset in opened[1::2]} if planted else set()

        def delayed(data: RecordStore, *args: Any) -> Any:
            if id(data) in longer:
                time.sleep(planted)
            return exact(data, *args)

        RecordStore.exact = delayed  # type: ignore[method-assign]
        for dataset in opened:
            dataset._calibration._paces = opened[0]._calibration._paces
            dataset._data.load(dataset.n)
        doors = []
        start, path = (running_tools, "/mcp") if tools else (running, "/v1/ask")
        for dataset in opened:
            doors.append(stack.enter_context(start(dataset, settings)).url + path)
        print(json.dumps(doors), flush=True)
        sys.stdin.read()
        print(json.dumps([dataset.release.late for dataset in opened]), flush=True)


@contextmanager
def served(
    paths: Sequence[Path], tools: bool, fixed_time: bool, planted: float
) -> Iterator[list[str]]:
    """In a process of its own; yields the addresses, and at the end prints how many were late."""
    command = [sys.executable, __file__, "--serve", *map(str, paths), "--planted", str(planted)]
    command += [] if fixed_time else ["--no-fixed-time"]
    command += ["--tools"] if tools else []
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        print("late answers, by dataset:", process.stdout.readline().strip())
        process.stdout.close()
        process.wait()


def http_ask(url: str) -> Callable[[str], int]:
    """A way to ask, each time over a connection of its own; the status of what came back."""
    place = urlsplit(url)
    is_tool = place.path == "/mcp"
    headers = {"Content-Type": "application/json"}
    if is_tool:
        headers["Accept"] = "application/json, text/event-stream"

    def ask(query: str) -> int:
        body: dict[str, Any] = {"query": query}
        if is_tool:
            call = {"name": "ask", "arguments": body}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=600)
        with closing(connection):
            connection.request("POST", place.path, json.dumps(body), headers)
            response = connection.getresponse()
            content = response.read()
        if response.status != 200 or (is_tool and json.loads(content)["result"].get("isError")):
            raise RuntimeError(f"{query[:60]}: {content[:300]!r}")
        return response.status

    return ask


# ------------------------------------------------------------------------------ the measurement


class Task(NamedTuple):
    pair: str
    question: str
    side: int
    query: str


Times = dict[tuple[str, str], tuple[list[float], list[float]]]


@dataclass(frozen=True)
class Found:
    """One question about one pair."""

    pair: str
    question: str
    count: int
    median: float
    auc: float
    p: float


def tasks_of(
    pairs: Sequence[str],
    questions: Sequence[str],
    requests: int,
    model: Path | None,
    seed: int,
    first: int = 0,
) -> list[Task]:
    """Send the requests in random order, the same number to each side."""
    each = max(requests // (2 * len(pairs) * len(questions)), 1)
    listed = [
        Task(pair, question, side, text_of(question, number, model))
        for pair in pairs
        for question in questions
        for number in range(first, first + each)
        for side in (0, 1)
    ]
    random.Random(seed).shuffle(listed)
    return listed


def measured(
    tasks: Sequence[Task], way: Callable[[Task], Callable[[str], Any]], at_once: int
) -> Times:
    """Response times; ``way`` gives each task its way to ask."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    times: Times = defaultdict(lambda: ([], []))
    failed: list[Exception] = []

    def work() -> None:
        try:
            while not failed:
                task = waiting.get_nowait()
                ask = way(task)
                begun = time.perf_counter()
                ask(task.query)
                times[task.pair, task.question][task.side].append(time.perf_counter() - begun)
        except queue.Empty:
            pass
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return times


def compared(times: Times) -> list[Found]:
    """The statistic of each question."""
    found = []
    for (pair, question), (a, b) in sorted(times.items()):
        if min(len(a), len(b)) >= _FEW:
            u = mannwhitneyu(a, b, method="asymptotic")
            auc = 1.0 - float(u.statistic) / (len(a) * len(b))
            median = float(np.median([*a, *b]))
            found.append(Found(pair, question, len(a), median, auc, float(u.pvalue)))
    return found


def adjusted(found: Sequence[Found]) -> dict[tuple[str, str], float]:
    """Holm's p-values."""
    most, result = 0.0, {}
    for rank, one in enumerate(sorted(found, key=lambda one: one.p)):
        most = max(most, min((len(found) - rank) * one.p, 1.0))
        result[one.pair, one.question] = most
    return result


def power(times: Times) -> dict[tuple[str, str], float | None]:
    """The least by which one side's times have to be moved for the test to notice."""
    noticed: dict[tuple[str, str], float | None] = dict.fromkeys(times)
    for move in reversed(MOVES):
        moved = {key: (a, [one + move for one in b]) for key, (a, b) in times.items()}
        for key, p in adjusted(compared(moved)).items():
            if p < ALPHA:
                noticed[key] = move
    return noticed


def show(title: str, times: Times) -> None:
    """A table, and what it comes to."""
    found = compared(times)
    holm, seen = adjusted(found), power(times)
    print(f"\n## {title}\n")
    print("| pair | question | n | median | AUC | p | Holm | seen from |")
    print("|---|---|---|---|---|---|---|---|")
    for one in found:
        key = (one.pair, one.question)
        least = seen[key]
        print(
            f"| {one.pair} | {one.question} | {one.count} | {one.median * 1e3:.1f} ms "
            f"| {one.auc:.3f} | {one.p:.3f} | {holm[key]:.3f} "
            f"| {'none' if least is None else f'{least * 1e3:g} ms'} |"
        )
    told = [one.question for one in found if holm[one.pair, one.question] < ALPHA]
    least_p = min(holm.values(), default=1.0)
    print(
        f"\n{len(found)} tests; distinguished at {ALPHA}: {len(told)} {told}; least p {least_p:.3f}"
    )


def local_way(opened: dict[tuple[str, int], Any]) -> Callable[[Task], Callable[[str], Any]]:
    return lambda task: opened[task.pair, task.side].ask


def local(pairs: dict[str, tuple[Path, Path]], tasks: Sequence[Task], fixed_time: bool) -> Times:
    """In this process, one after the other."""
    with ExitStack() as stack:
        opened: dict[tuple[str, int], Dataset] = {
            (pair, side): stack.enter_context(open_dataset(path))
            for pair, paths in pairs.items()
            for side, path in enumerate(paths)
        }
        first = next(iter(opened.values()))
        for dataset in opened.values():
            dataset._calibration._paces = first._calibration._paces
            dataset._data.load(dataset.n)
        sessions = {key: one.session(fixed_time=fixed_time) for key, one in opened.items()}
        return measured(tasks, local_way(sessions), 1)


def over(
    pairs: dict[str, tuple[Path, Path]],
    tasks: Sequence[Task],
    *,
    tools: bool = False,
    at_once: int,
    fixed_time: bool = True,
    planted: float = 0.0,
) -> Times:
    """Over HTTP, as requests to the service or as calls of tools."""
    paths = [path for paths in pairs.values() for path in paths]
    with served(paths, tools, fixed_time, planted) as doors:
        urls = {
            (pair, side): doors[2 * at + side] for at, pair in enumerate(pairs) for side in (0, 1)
        }
        ways = lambda task: http_ask(urls[task.pair, task.side])  # noqa: E731
        once = {(task.pair, task.question, task.side): task for task in reversed(tasks)}
        measured(list(once.values()), ways, 1)  # every kind has its trial before the clock runs
        return measured([task for task in tasks if task not in set(once.values())], ways, at_once)


def main() -> None:
    """All of it."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--requests", type=int, default=10_000)
    arguments.add_argument("--records", type=int, default=20_000)
    arguments.add_argument("--connections", type=int, default=2)
    arguments.add_argument("--planted", type=float, default=0.005)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="", help="http, off, planted, mcp, local")
    arguments.add_argument("--questions", default="", help="names, by commas")
    arguments.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    arguments.add_argument("--no-fixed-time", action="store_true", help=argparse.SUPPRESS)
    arguments.add_argument("--tools", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve:
        serve(given.serve, given.tools, not given.no_fixed_time, given.planted)
        return
    wanted = given.only.split(",") if given.only else ["http", "off", "planted", "mcp", "local"]
    for run in wanted:
        with tempfile.TemporaryDirectory() as folder:
            pairs, model = made_pairs(Path(folder), given.records)
            names = given.questions.split(",") if given.questions else list(QUESTIONS)
            names = [name for name in names if model is not None or name != "deep tree"]
            few = max(given.requests // 5, 1)  # enough to show what is found without fixed time
            requests = given.requests if run in ("http", "mcp", "local") else few
            tasks = tasks_of(list(pairs), names, requests, model, given.seed)
            if run == "local":
                show("locally, fixed time on", local(pairs, tasks, fixed_time=True))
                tasks = tasks_of(list(pairs), names, few, model, given.seed, 500_000)
                show("locally, fixed time off", local(pairs, tasks, fixed_time=False))
                continue
            ways: dict[str, Any] = {"tools": run == "mcp", "at_once": given.connections}
            if run == "off":
                times = over(pairs, tasks, fixed_time=False, **ways)
                show("the service, fixed time off", times)
            elif run == "planted":
                for at, fixed in enumerate((True, False)):
                    some = ("fraction", "contains", "histogram")
                    asked = (list(pairs), some, requests, model, given.seed, 500_000 * at)
                    title = f"planted {given.planted * 1e3:g} ms, fixed time {fixed}"
                    times = over(
                        pairs, tasks_of(*asked), fixed_time=fixed, planted=given.planted, **ways
                    )
                    show(title, times)
            else:
                title = "MCP over HTTP" if run == "mcp" else "the service"
                show(f"{title}, fixed time on", over(pairs, tasks, **ways))


if __name__ == "__main__":
    main()
