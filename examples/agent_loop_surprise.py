"""An agent that tries 200 changes against an evaluation set of 2,000, and every interval holds.

The agent improves a rule: it tries a change, asks how often the new rule is right on the evaluation
set, keeps the change if the answer is higher, and continues. Sixteen changes are about features, of
which two matter. The others invert the rule for the new customers of one region, who are pure
chance: such a change can only seem to help.

The agent has a dev set of its own, so it can guess each answer to about 0.005. Under the surprise
guard a right guess costs almost nothing, so the last of 200 intervals is hardly wider than the
first. The same loop on exact scores, with textbook intervals, ends up believing in chance.
The population is known here, so the program knows which intervals hold.

    python examples/agent_loop_surprise.py [FOLDER]
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

import surehold as sh

FEATURES = [f"x{i}" for i in range(8)]  # only x0 and x1 matter
RECORDS, REGIONS = 2_000, 184
DEV = 6_000  # records of the agent's own; a score on them has a standard error of 0.005
NEW, ODD = 0.25, 0.02  # customers who are pure chance; the others, with an odd outcome
EXPERIMENTS = 2 * len(FEATURES) + REGIONS
WITHIN = 0.03  # three standard errors of a guess and a score on the evaluation set together


def draw(count: int, random: np.random.Generator) -> pl.DataFrame:
    """Draw customers: features, an outcome that two of them predict, and a region."""
    block = random.normal(size=(count, len(FEATURES)))
    new, odd = random.random(count) < NEW, random.random(count) < ODD
    outcome = np.where(new, random.random(count) < 0.5, (block[:, 0] + block[:, 1] > 0) ^ odd)
    region = random.integers(0, REGIONS, count)
    columns = dict(zip(FEATURES, block.T, strict=True))
    return pl.DataFrame({"outcome": outcome, "new": new, "region": region, **columns})


@dataclass(frozen=True)
class Rule:
    """A sum of features above zero, inverted for the new customers of some regions."""

    weights: tuple[tuple[str, int], ...] = (("x0", 1),)
    regions: tuple[int, ...] = ()

    @property
    def right(self) -> str:
        """The query: is the rule right on a record?"""
        said = " + ".join(f"{weight} * {name}" for name, weight in self.weights) + " > 0"
        if self.regions:
            said = f"({said}) <> (new and region in ({', '.join(map(str, self.regions))}))"
        return f"({said}) = outcome"

    def score(self, frame: pl.DataFrame) -> float:
        """Compute how often it is right on visible records."""
        said = sum(weight * frame[name].to_numpy() for name, weight in self.weights) > 0
        inverted = frame["new"].to_numpy() & np.isin(frame["region"].to_numpy(), self.regions)
        return float(((said ^ inverted) == frame["outcome"].to_numpy()).mean())

    @property
    def truth(self) -> float:
        """How often it is right in the population: by the angle to x0 + x1, or by chance."""
        weights = dict(self.weights)
        length = math.sqrt(2 * sum(weight**2 for weight in weights.values()))
        cosine = (weights.get("x0", 0) + weights.get("x1", 0)) / length
        agree = 1 - math.acos(min(max(cosine, -1.0), 1.0)) / math.pi
        return (1 - NEW) * (agree * (1 - ODD) + (1 - agree) * ODD) + NEW / 2


def changes() -> Iterator[tuple[str, int]]:
    """The changes to try: a feature and its sign, or a region."""
    for name in FEATURES[::-1]:
        yield from ((name, 1), (name, -1))
    yield from (("region", region) for region in range(REGIONS))


def apply(rule: Rule, change: tuple[str, int]) -> Rule:
    name, number = change
    if name == "region":
        return replace(rule, regions=(*rule.regions, number))
    return replace(rule, weights=(*(w for w in rule.weights if w[0] != name), change))


def improve_guarded(
    session: sh.Session, dev: pl.DataFrame
) -> tuple[Rule, list[tuple[Rule, sh.NumberOutcome]]]:
    """Run the loop through the guard: guess on the dev set, ask, keep what seems better."""
    rule, offset = Rule(), 0.0
    asked: list[tuple[Rule, sh.NumberOutcome]] = []
    best = session.ask(rule.right, expect=round(rule.score(dev), 4), within=WITHIN).value
    for change in changes():
        new = apply(rule, change)
        guess = round(new.score(dev) + offset, 4)
        answer = session.ask(new.right, expect=guess, within=WITHIN)
        asked.append((new, answer))
        if not answer.expected:  # the dev set is overfitted by now: move half of the way
            move = (answer.value - guess) / 2
            offset, best = offset + move, best + move
        elif answer.value > best:
            rule, best = new, answer.value
    return rule, asked


def improve_naively(records: pl.DataFrame) -> tuple[Rule, int]:
    """Run the same loop on exact scores; count the textbook intervals that miss."""
    rule, missed = Rule(), 0
    best = rule.score(records)
    for change in changes():
        new = apply(rule, change)
        score = new.score(records)
        missed += abs(score - new.truth) > textbook(score)
        if score > best:
            rule, best = new, score
    return rule, missed


def textbook(score: float) -> float:
    """The half-width of the usual 95 % interval."""
    return 1.96 * math.sqrt(score * (1 - score) / RECORDS)


def say(text: str) -> None:
    print(f"\n==> {text}")


def main(folder: Path) -> None:
    path = folder / "agent_loop_surprise"
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.default_rng(20261118)
    records, dev = draw(RECORDS, random), draw(DEV, random)

    say("the custodian: 2,000 records behind the surprise guard, no plan")
    with sh.create(path, beta=0.05, claims=EXPERIMENTS + 1, like=records) as dataset:
        print(dataset.append(records))
        session = dataset.session(analyst="agent")
        print(f"a plain number: {session.quote('new')}")
        print(f"with a guess:   {session.quote('new', expect=0.25, within=WITHIN)}")

        say(f"the agent: {EXPERIMENTS} experiments, each with a guess from its dev set")
        rule, asked = improve_guarded(session, dev)
        answers = [answer for _, answer in asked]
        missed = sum(not one.low <= new.truth <= one.high for new, one in asked)
        surprises = sum(not one.expected for one in answers)
        print(f"{len(asked)} answers for {answers[-1].spent:.1f} bits; surprises: {surprises}")
        print(f"first ± {answers[0].width:.4f}, last ± {answers[-1].width:.4f}")
        noise = sh.plan(n0=RECORDS, n=RECORDS, queries=EXPERIMENTS, beta=0.05, batches=1)
        print(f"(under the noise guard each of them would be ± {noise.width:.4f})")
        print(f"{missed} of {len(asked)} intervals miss the truth")
        final = next(one for new, one in reversed(asked) if new == rule)
        print(f"the rule it kept: {final}; the truth is {rule.truth:.3f}: it holds")
        assert len(asked) == EXPERIMENTS
        assert missed == 0
        assert max(one.width for one in answers) < 0.08
        assert {"x0", "x1"} <= {name for name, _ in rule.weights}

        say("the same loop on exact scores, with 95 % intervals of the textbook")
        naive, wrong = improve_naively(records)
        score = naive.score(records)
        print(f"{wrong} of {EXPERIMENTS} intervals miss the truth")
        print(f"the rule it kept: {score:.3f} ± {textbook(score):.3f}", end="")
        print(f"; the truth is {naive.truth:.3f}: a miss")
        assert score - textbook(score) > naive.truth
        assert wrong > EXPERIMENTS / 2

        say("verify: compute every menu, price, interval and outcome again")
        print(dataset.verify())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
