"""An agent that tunes a model against the same records until the budget is spent.

The agent has a linear rule with integer weights and does not know which are right. It changes one
weight, asks whether the new rule is better than the old one, keeps it if so, and repeats: each
question depends on all earlier answers. Records keep arriving, and the agent paces itself, because
later questions cost less. A free quote says how many answers are left; the agent keeps two in
reserve. With these it asks how good its rule is, and how much better than the first one. Both
answers hold, however hard the records were used. A million fresh records, which only this program
has, show the truth.

    python examples/tune_model.py [FOLDER]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import polars as pl

import surehold as sh

TRUE = np.array([3, -2, 2, 1, -1, 0, 0, 0])  # what the agent does not know
FEATURES = [f"x{i}" for i in range(len(TRUE))]
FIRST, ARRIVING, LAST = 50_000, 5_000, 100_000
PACE = 20  # questions at each round
RESERVED = 2  # answers, for the final questions


def records(count: int, random: np.random.Generator) -> pl.DataFrame:
    """Draw eight features, five of which matter, and a noisy outcome."""
    block = random.normal(size=(count, len(TRUE)))
    outcome = block @ TRUE + random.normal(size=count) > 0
    return pl.DataFrame({"outcome": outcome, **dict(zip(FEATURES, block.T, strict=True))})


def right(weights: np.ndarray) -> str:
    """The query: is the rule of these weights right on a record?"""
    terms = " + ".join(f"{w} * {name}" for w, name in zip(weights, FEATURES, strict=True) if w)
    return f"({terms} > 0) = outcome"


def mutate(weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Change one weight by one; never make all of them zero."""
    new = weights.copy()
    new[random.integers(len(new))] += random.choice([-1, 1])
    return new if new.any() else mutate(weights, random)


def say(text: str) -> None:
    print(f"\n==> {text}")


def main(folder: Path) -> None:
    path = folder / "tune_model"
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.default_rng(20261117)

    say("plan: from 50,000 to 100,000 records, every fraction within ±0.05 with probability 95 %")
    plan = sh.plan(n0=FIRST, n=LAST, alpha=0.05, beta=0.05)
    dataset = sh.create(
        path, plan=plan, columns={"outcome": "bool", **dict.fromkeys(FEATURES, "float")}
    )
    print(dataset.append(records(FIRST, random)))
    agent = dataset.session(analyst="agent")
    print(f"{plan.paces.at_n0:,} answers fit at once, {plan.paces.evenly:,} as the records arrive")

    say("tune: change a weight, ask whether it is better, keep it if it seems better")
    first = weights = np.array([0, 0, 0, 0, 0, 1, 1, 1])  # no better than a coin
    tried, asked, kept = {tuple(weights)}, 0, 0
    while True:
        new = mutate(weights, random)
        while tuple(new) in tried:
            new = mutate(new, random)
        tried.add(tuple(new))
        question = sh.difference(right(new), right(weights))
        if agent.quote(question).answers_left <= RESERVED:
            break
        gain = agent.ask(question)
        asked += 1
        if gain.value > 0:
            weights, kept = new, kept + 1
            if kept % 10 == 1:
                print(f"question {asked:>3}: {gain}   {weights.tolist()}")
        if asked % PACE == 0 and dataset.n < LAST:
            dataset.append(records(ARRIVING, random))
    print(f"{asked} questions, {kept} changes kept; {agent.budget}")
    assert asked > plan.paces.at_n0

    say("how good is it, and how much better than the first rule?")
    final = agent.ask(right(weights))
    better = agent.ask(sh.difference(right(weights), right(first)))
    print(f"right         {final}")
    print(f"better by     {better}")

    say("a million fresh records")
    fresh = records(1_000_000, random)
    truth, start = (
        float(((fresh[FEATURES].to_numpy() @ w > 0) == fresh["outcome"].to_numpy()).mean())
        for w in (weights, first)
    )
    print(f"right         {truth:.3f}, and the first rule {start:.3f}")
    assert final.interval[0] <= truth <= final.interval[1]
    assert better.interval[0] <= truth - start <= better.interval[1]
    assert better.interval[0] > 0
    assert agent.answers_left(dataset.n) < RESERVED
    print("both are within their intervals, and the whole second interval is above 0: it is better")

    say("one question too many")
    try:
        while True:
            agent.ask(right(mutate(weights, random)))
    except sh.BudgetExhausted as refusal:
        print(refusal)

    say("verify: replay every entry, charge, width and byte")
    print(dataset.verify())
    dataset.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
