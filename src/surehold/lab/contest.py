"""run(): every attacker against every defender, often enough to see which intervals hold."""

from __future__ import annotations

import pickle
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from difflib import get_close_matches
from multiprocessing import get_context
from typing import TypeVar

import numpy as np

from surehold.checks import check_whole
from surehold.errors import InvalidInput, NotApplicable, NotReady, Unreachable
from surehold.lab.analysis import Analysis, Tally
from surehold.lab.attackers import ATTACKERS, Attacker
from surehold.lab.defenders import DEFENDERS, Defender, Planned
from surehold.lab.populations import Population
from surehold.lab.report import Report, Row
from surehold.lab.setting import Setting
from surehold.ledger.policy import Policy
from surehold.planning import Plan

Progress = Callable[[int, int], None]
"""Called with how many of how many repeats are done."""

_MOST_BITS = 2**31

_T = TypeVar("_T", Attacker, Defender)


@dataclass(frozen=True)
class Outcome:
    """One analysis: an attacker, a defender, and the tally, or the reason why there is none."""

    attack: str
    defender: str
    tally: Tally
    spent: float | None
    seconds: float
    reason: str | None = None


@dataclass(frozen=True)
class Contest:
    """Everything needed to play any repeat of any attack, in this process or another."""

    setting: Setting
    attackers: tuple[Attacker, ...]
    defenders: tuple[Defender, ...]
    population: Population | None
    seed: int

    def play(self, attacker: Attacker, repeat: int) -> list[Outcome]:
        """One repeat of an attack: each defender gets the same records."""
        random = self._random(repeat, attacker.name)
        population = self.population or attacker.population(self.setting, random)
        records = population.draw(self.setting.n, random)
        outcomes = []
        for defender in self.defenders:
            names, began = (attacker.name, defender.name), time.perf_counter()
            try:
                guard = defender.guard(self.setting, self._random(repeat, *names))
            except (Unreachable, NotApplicable, NotReady) as error:
                outcomes.append(Outcome(*names, Tally(), None, 0.0, str(error)))
                continue
            # A stream of its own, or the attacker could work out the defender's noise.
            choices = self._random(repeat, *names, "choices")
            analysis = Analysis(self.setting, population, records, guard, choices)
            attacker.attack(analysis)
            seconds = time.perf_counter() - began
            outcomes.append(Outcome(*names, analysis.tally, analysis.spent, seconds))
        return outcomes

    def _random(self, repeat: int, *names: str) -> np.random.Generator:
        """A stream of its own for each, the same whatever else is played."""
        return np.random.default_rng([self.seed, repeat, *(zlib.crc32(n.encode()) for n in names)])


def run(
    attackers: str | Attacker | Iterable[str | Attacker] = "all",
    defenders: str | Defender | Iterable[str | Defender] = "all",
    *,
    n0: int,
    n: int,
    queries: int = 2_000,
    alpha: float = 0.1,
    beta: float = 0.05,
    repeats: int = 40,
    seed: int = 1,
    jobs: int = 1,
    population: Population | None = None,
    data: str = "made up for each attack",
    progress: Progress | None = None,
) -> Report:
    """Let attackers loose on defenders, and count how often all intervals of an analysis held.

    Names are those of ``ATTACKERS`` and ``DEFENDERS``, "all" is all of them, and your own may stand
    beside them. Attacks that need growth are left out if the data does not grow.
    ``population`` replaces the one that each attack brings, and ``data`` says what it is. The same
    seed gives the same report, however many ``jobs`` (processes) work on it; a script that uses
    more than one has to have its ``if __name__ == "__main__":``.

    >>> sizes = {"n0": 5_000, "n": 5_000, "queries": 600, "repeats": 3}
    >>> report = run("sign", ["bonferroni", "surehold-sharp"], alpha=0.2, **sizes)
    >>> [(row.defender, row.covered) for row in report.rows]
    [('bonferroni', 0), ('surehold-sharp', 3)]
    """
    setting = Setting(n0=n0, n=n, queries=queries, alpha=alpha, beta=beta)
    repeats, jobs = check_whole("repeats", repeats, 1), check_whole("jobs", jobs, 1)
    seed = check_whole("seed", seed, 0)
    applicable = [one for one in ATTACKERS if setting.grows or one.kind != "growing"]
    contest = Contest(
        setting,
        _resolve(attackers, applicable, Attacker, "attack"),  # type: ignore[type-abstract]
        _resolve(defenders, DEFENDERS, Defender, "defender"),  # type: ignore[type-abstract]
        population,
        seed,
    )
    outcomes: dict[tuple[str, str], list[Outcome]] = {}
    # Repeat by repeat, so that after the first of each attack the time of all is known.
    tasks = [(attack, i) for i in range(repeats) for attack in range(len(contest.attackers))]
    for done, found in enumerate(_play_all(contest, tasks, jobs), start=1):
        for outcome in found:
            outcomes.setdefault((outcome.attack, outcome.defender), []).append(outcome)
        if progress is not None:
            progress(done, len(tasks))
    rows = [
        _row(attacker, defender, outcomes[attacker.name, defender.name])
        for attacker in contest.attackers
        for defender in contest.defenders
    ]
    return Report(setting, repeats, seed, tuple(rows), data)


def check(
    plan: Plan,
    attackers: str | Attacker | Iterable[str | Attacker] = "all",
    *,
    queries: int | None = None,
    repeats: int = 20,
    seed: int = 1,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Let attackers loose on a plan of your own, exactly as it is.

    Beside it stands `wide`, exact answers with the plan's own width: where that holds too, the
    attack was too weak to tell anything. Attackers ask up to ``queries``, by default as many as the
    plan answers, but no more than 10,000 or than fit two billion features of records.

    >>> import surehold as sh
    >>> plan = sh.plan(n0=2_000, n=6_000, alpha=0.2, beta=0.1)
    >>> check(plan, ["sign", "flooding"], repeats=2).row("flooding", "surehold").covered
    2
    """
    policy = Policy(plan)  # says if it is one that datasets do not run
    if queries is None:
        queries = max(min(plan.queries, 10_000, _MOST_BITS // plan.n), 2)
    return run(
        attackers,
        ["wide", Planned(plan)],
        n0=plan.n if plan.batches == 1 else plan.n0,
        n=plan.n,
        queries=queries,
        alpha=min(policy.widths.widest(0.0, 1.0, 0), 0.999),
        beta=plan.beta,
        repeats=repeats,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )


def _resolve(
    given: _T | str | Iterable[_T | str], known: Sequence[_T], kind: type[_T], word: str
) -> tuple[_T, ...]:
    """Look up names, and take objects as they are; each once."""
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    by_name = {one.name: one for one in known}
    found: dict[str, _T] = {}
    for one in listed:
        chosen: Iterable[_T]
        if one == "all":
            chosen = known
        elif isinstance(one, str):
            if one not in by_name:
                if kind is Attacker and any(one == other.name for other in ATTACKERS):
                    raise InvalidInput(word, "one that data of one size allows (n = n0)", one)
                near = get_close_matches(one, by_name, n=1)
                hint = f"did you mean {near[0]}?" if near else ""
                raise InvalidInput(word, f"all or one of {', '.join(by_name)}", one, hint)
            chosen = [by_name[one]]
        elif isinstance(one, kind):
            chosen = [one]
        else:
            raise InvalidInput(word, f"a name or an object of {kind.__name__}", one)
        for each in chosen:
            if found.setdefault(each.name, each) is not each:
                raise InvalidInput(word, "names that differ", each.name)
    if not found:
        raise InvalidInput(word, "at least one", "none")
    return tuple(found.values())


def _play_all(
    contest: Contest, tasks: Sequence[tuple[int, int]], jobs: int
) -> Iterator[list[Outcome]]:
    """In the order of the tasks, whichever process plays them."""
    if jobs == 1:
        for attack, repeat in tasks:
            yield contest.play(contest.attackers[attack], repeat)
        return
    try:
        pickle.dumps(contest)
    except Exception as error:  # whatever pickling a user's own class raises
        required = "1, as these attackers, defenders or populations can't be pickled"
        hint = "define their classes in a module of their own"
        raise InvalidInput("jobs", required, jobs, hint) from error
    # New processes are started rather than forked: Polars' threads do not survive a fork.
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(contest,)
    ) as pool:
        try:
            yield from pool.map(_play, *zip(*tasks, strict=True))
        except BrokenProcessPool as error:
            required = "1, or a number of processes that can be started and have enough memory"
            hint = "in a script, call this under if __name__ == '__main__':"
            raise InvalidInput("jobs", required, jobs, hint) from error


_contest: Contest | None = None


def _begin(contest: Contest) -> None:
    """In another process: what it is about, sent once."""
    global _contest
    _contest = contest


def _play(attack: int, repeat: int) -> list[Outcome]:
    assert _contest is not None
    return _contest.play(_contest.attackers[attack], repeat)


def _row(attacker: Attacker, defender: Defender, outcomes: Sequence[Outcome]) -> Row:
    tallies = [outcome.tally for outcome in outcomes]
    spent = [outcome.spent for outcome in outcomes if outcome.spent is not None]
    return Row(
        attack=attacker.name,
        kind=attacker.kind,
        defender=defender.name,
        repeats=len(outcomes),
        covered=sum(tally.missed == 0 for tally in tallies),
        asked=float(np.mean([tally.asked for tally in tallies])),
        answered=float(np.mean([tally.answered for tally in tallies])),
        largest_error=max(tally.largest_error for tally in tallies),
        usual_error=float(np.median([tally.largest_error for tally in tallies])),
        widest=max(tally.widest for tally in tallies),
        spent=float(np.mean(spent)) if spent else None,
        seconds=sum(outcome.seconds for outcome in outcomes),
        last=tuple(tally.last for tally in tallies if tally.last is not None),
        reason=outcomes[0].reason,
    )
