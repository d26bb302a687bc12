"""Surehold itself: a plan, its filter and its mechanism, as a session has them, but no disk."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np

from surehold.errors import NotReady
from surehold.lab.defenders.base import Defender, Guard, Replies, View
from surehold.lab.questions import Questions
from surehold.lab.seeded_noise import SeededNoise
from surehold.lab.setting import Setting
from surehold.ledger.policy import Policy
from surehold.mechanisms import NoiseSource
from surehold.planning import Plan, plan

_FIXED = ("ours-n", "ours-u")  # they need to know beforehand when is asked
_BATCHES = 10


class Guarded(Defender):
    """A plan of one certificate, solved for the setting's alpha and beta.

    `sharp` and the paper's `adaptive` leave it to the analyst when to ask; `ours-n` and `ours-u`
    have a fixed schedule, here of ten rounds from n0 to n, and answer at the last one reached.
    """

    source: ClassVar[str] = "Marchant and Rubinstein 2025; for sharp, sharp-bound.md"

    def __init__(self, certificate: str) -> None:
        self.certificate = certificate
        self.name = f"surehold-{certificate}"
        rounds = "at ten fixed rounds" if certificate in _FIXED else "whenever"
        self.about = f"Surehold with the certificate {certificate}, solved for alpha and beta."
        self.claim = f"all together, for any analyst, {rounds}, while the data grows"

    def plan(self, setting: Setting) -> Plan:
        return _solve(self.certificate, setting)

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        return PlanGuard(self.plan(setting), SeededNoise(int(random.integers(2**63))))


class Planned(Defender):
    """The user's own plan, exactly as it is."""

    name = "surehold"
    source: ClassVar[str] = "the plan given"
    claim = "all together, for any analyst, when the plan lets them, while the data grows"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        return PlanGuard(self.plan, SeededNoise(int(random.integers(2**63))))


class PlanGuard(Guard):
    """Decides, charges and answers as a session does; tests compare the two answer by answer."""

    def __init__(self, plan: Plan, noise: NoiseSource) -> None:
        self._policy = Policy(plan)
        self._filter = self._policy.new_filter()
        self._noise = noise
        self._given = 0
        self._charged = 0

    @property
    def carries_over(self) -> bool:
        """Not with a schedule: what is not asked at one of its rounds is lost at the later ones."""
        return self._policy.schedule is None

    @property
    def spent(self) -> float:
        return self._charged / self._policy.budget

    def answers_left(self, view: View, t: int) -> int:
        """As a quote says it; none where nothing can be asked."""
        try:
            at = self._policy.round_for(view.n, self._held(view, t))
        except NotReady:
            return 0
        return self._policy.answers_left(self._filter, at, self._given)

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        count = min(len(questions), self.answers_left(view, t))
        if count == 0:
            return Replies.refusals(len(questions))
        policy, mechanism = self._policy, self._policy.mechanism
        at = policy.round_for(view.n, self._held(view, t))
        charge = mechanism.charge(at)
        self._filter.charge(at, count * charge)
        self._charged += count * charge
        self._given += count
        totals = view.counts(questions[:count], slice(0, at)).tolist()
        given = np.empty((3, count))
        for place, (total, noise) in enumerate(zip(totals, self._noise.draw(count), strict=True)):
            value = mechanism.noisy(total, at, noise)
            bounds = policy.widths.bounds(value, 0.0, 1.0, 0)
            given[:, place] = value, bounds.low, bounds.high
        return Replies(*given).then(Replies.refusals(len(questions) - count))

    def _held(self, view: View, t: int) -> int | None:
        """An earlier round is held; a plan with fixed rounds has one at or before it."""
        return None if t == view.n else self._policy.nearest_round(t)


@lru_cache(maxsize=64)
def _solve(certificate: str, setting: Setting) -> Plan:
    batches = (_BATCHES if setting.grows else 1) if certificate in _FIXED else None
    return plan(
        n0=setting.n0,
        n=setting.n,
        alpha=setting.alpha,
        beta=setting.beta,
        batches=batches,
        certificate=certificate,
    )
