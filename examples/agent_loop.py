"""An agent that improves a model through MCP, against a holdout it never sees, and stops by itself.

Here the agent is a script, but it does what a language model in a loop does: it reads the tools'
descriptions, proposes a change, asks whether it is better, keeps it if so, and continues. Proposals
are features, thresholds, and special cases for records that it predicts wrong. A quarter of the
records is pure chance, so there is always a special case that seems to help.

It asks through `surehold mcp`, quotes before it asks (quotes are free), keeps a change only if its
whole interval is above zero, and stops when no proposal has been shown to be better for a while, or
when the budget is spent. That does not prove that nothing better exists. The same loop on raw
numbers has no reason to stop. A million fresh records, which only this program has, show which
score was true.

    python examples/agent_loop.py [FOLDER]          (needs the extra mcp)
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from mcp import Client, StdioServerParameters

import surehold as sh

FEATURES = [f"x{i}" for i in range(8)]  # only x0 and x1 matter
RECORDS, FRESH = 40_000, 1_000_000
PATIENCE = 25  # proposals in a row without a gain before the agent stops
RESERVED = 1  # answer, for the final question
TIRELESS = 3_000  # proposals of the loop on raw numbers, which never stops by itself


def records(count: int, random: np.random.Generator) -> pl.DataFrame:
    """Draw features, an outcome that two of them predict, and new customers who are pure chance."""
    block = random.normal(size=(count, len(FEATURES)))
    new, odd = random.random(count) < 0.25, random.random(count) < 0.02
    outcome = np.where(new, random.random(count) < 0.5, (block[:, 0] + block[:, 1] > 0) ^ odd)
    columns = dict(zip(FEATURES, block.T, strict=True))
    return pl.DataFrame({"outcome": outcome, "new": new, **columns})


# ------------------------------------------------------------------------------------ the model


@dataclass(frozen=True)
class Case:
    """Invert the prediction for new customers with a feature in a range."""

    feature: str
    low: float
    high: float

    def holds(self, frame: pl.DataFrame) -> np.ndarray:
        """Find the records of a visible table that it applies to."""
        values = frame[self.feature].to_numpy()
        return frame["new"].to_numpy() & (values >= self.low) & (values <= self.high)


@dataclass(frozen=True)
class Rule:
    """A sum of features above a threshold, and special cases."""

    weights: tuple[tuple[str, int], ...] = ()
    threshold: float = 0.0
    cases: tuple[Case, ...] = ()

    @property
    def right(self) -> str:
        """The query: is the rule right on a record?"""
        terms = " + ".join(f"{weight} * {name}" for name, weight in self.weights) or "0"
        said = f"{terms} > {self.threshold}"
        for case in self.cases:
            where = f"new and {case.feature} between {case.low} and {case.high}"
            said = f"case when {where} then not ({said}) else {said} end"
        return f"({said}) = outcome"

    def predict(self, frame: pl.DataFrame) -> np.ndarray:
        """Predict the records of a visible table."""
        zero = np.zeros(frame.height)
        total = sum((weight * frame[name].to_numpy() for name, weight in self.weights), zero)
        said = total > self.threshold
        for case in self.cases:
            said ^= case.holds(frame)
        return said


def score(said: np.ndarray, frame: pl.DataFrame) -> float:
    """Compute how often a prediction is right."""
    return float((said == frame["outcome"].to_numpy()).mean())


def proposals(random: np.random.Generator) -> Iterator[Any]:
    """Propose changes without end: features first, then thresholds, then special cases."""
    for name in random.permutation(FEATURES):
        yield from (lambda rule, n=str(name), w=w: _reweigh(rule, n, w) for w in (1, -1))
    for step in (0.25, -0.25):
        yield lambda rule, step=step: replace(rule, threshold=rule.threshold + step)
    while True:
        name, low = str(random.choice(FEATURES)), round(float(random.normal()), 3)
        case = Case(name, low, round(low + 0.02, 3))
        yield lambda rule, case=case: replace(rule, cases=(*rule.cases, case))


def _reweigh(rule: Rule, name: str, weight: int) -> Rule:
    return replace(rule, weights=(*(p for p in rule.weights if p[0] != name), (name, weight)))


# ------------------------------------------------------------------------------------- the agent


class Tools:
    """The server's tools, as an agent's host offers them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.last = ""  # the text of the last call

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments)
        self.last = result.content[0].text
        return result.structured_content

    async def read(self) -> None:
        """List the tools and their cost, as a model does first."""
        for tool in (await self._client.list_tools()).tools:
            is_free = tool.annotations.read_only_hint or "(free)" in tool.title
            print(f"{tool.name:<12}{'free' if is_free else 'charged':<9}{tool.title}")
            assert is_free or "Refusals are final" in tool.description


async def improve(tools: Tools, run: str, random: np.random.Generator) -> Rule:
    """Run the loop. Each question depends on all earlier answers; ``run`` prefixes the keys."""
    rule, fruitless, asked = Rule(), 0, 0
    for propose in proposals(random):
        new = propose(rule)
        question = f"difference({new.right}, {rule.right})"
        quote = await tools.call("quote", query=question)
        if not quote["allowed"] or quote["answers_left_after"] < RESERVED:
            print(f"stop: the budget is spent ({tools.last.splitlines()[0]})")
            break
        gain = await tools.call("ask", query=question, key=f"{run} proposal {asked}")
        asked, fruitless = asked + 1, fruitless + 1
        if gain["interval"][0] > 0:  # the whole interval, so it is certainly better
            rule, fruitless = new, 0
            print(f"kept: {rule.right:<44}{tools.last.splitlines()[0]}")
        if fruitless == PATIENCE:
            width = gain["width"]
            print(f"stop: {PATIENCE} proposals, none was shown to be better (± {width:.2f} each)")
            break
    print(f"{asked} questions asked")
    return rule


def improve_on_raw_numbers(frame: pl.DataFrame, random: np.random.Generator) -> tuple[Rule, float]:
    """Run the same loop on the records themselves, and keep whatever scores higher."""
    rule = Rule()
    said = rule.predict(frame)
    for _, propose in zip(range(TIRELESS), proposals(random), strict=False):
        new = propose(rule)
        is_case = len(new.cases) > len(rule.cases)
        tried = said ^ new.cases[-1].holds(frame) if is_case else new.predict(frame)
        if score(tried, frame) > score(said, frame):
            rule, said = new, tried
    return rule, score(said, frame)


def say(text: str) -> None:
    print(f"\n==> {text}")


async def main(folder: Path) -> None:
    path = folder / "agent_loop"
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.default_rng(20261118)

    say("the custodian: 40,000 records behind Surehold, every fraction within ±0.05")
    plan = sh.plan(n0=RECORDS, n=RECORDS, alpha=0.05, beta=0.05)
    held = records(RECORDS, random)
    with sh.create(path, plan=plan, like=held) as dataset:
        print(f"{dataset.append(held)}; the plan allows {plan.queries} answers")

    say("the agent: start `surehold mcp`, and read the tool descriptions")
    command = ["-m", "surehold", "mcp", str(path), "--analyst", "agent"]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
        tools = Tools(client)
        await tools.read()
        await tools.call("budget")
        print(tools.last)

        say("improve: propose, quote, ask; keep only what is certainly better")
        run = str(uuid.uuid4())  # all callers of a dataset share its keys
        rule = await improve(tools, run, np.random.default_rng(7))

        say("how good is it?")
        final = await tools.call("ask", query=rule.right, key=f"{run} final")
        print(tools.last)

        say("one more wish: the best of two rules, at the price of a hundred answers")
        wish = f"select(highest, 100, {rule.right}, {Rule().right})"
        quote = await tools.call("quote", query=wish)
        print(tools.last)
        assert not quote["allowed"]  # so the agent does not ask

    say("the same loop on raw numbers: keep whatever scores higher")
    naive, found = improve_on_raw_numbers(held, np.random.default_rng(7))
    error = 1.96 * (found * (1 - found) / RECORDS) ** 0.5
    print(f"{TIRELESS:,} proposals, {len(naive.cases)} special cases kept")
    print(f"its score: {found:.4f} ± {error:.4f}, with the textbook error")

    say("a million fresh records")
    fresh = records(FRESH, random)
    truth, naive_truth = (score(one.predict(fresh), fresh) for one in (rule, naive))
    low, high = final["interval"]
    print(
        f"guarded: {truth:.4f}, reported {final['value']:.4f} in [{low:.4f}, {high:.4f}]: it holds"
    )
    print(f"raw:     {naive_truth:.4f}, reported {found:.4f} ± {error:.4f}: a miss")
    assert low <= truth <= high
    assert found - error > naive_truth + 0.001
    assert sorted(rule.weights) == [("x0", 1), ("x1", 1)]
    assert not rule.cases

    say("verify: replay every entry, charge, width and byte")
    with sh.open(path) as dataset:
        print(dataset.verify())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo")))
