"""Dashboards at run time: questions are named once, and watched as the data grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from surehold import formatting
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.ledger.ledger import Ledger
from surehold.ledger.names import KeptName
from surehold.queries import Dashboard, Form, NamedQuestion
from surehold.queries.derived import judge
from surehold.session.histories import Scale, number_of
from surehold.session.outcomes import DecisionOutcome, Outcome, Registered
from surehold.session.results import Result, Verdict

_WORST = ("fail", "undecided", "pass")


@dataclass(frozen=True, repr=False)
class WatchedQuestion(Shown):
    """One question of a dashboard as it stands now.

    ``verdict`` says whether it passes its gate, None without one. ``display`` has its numbers in
    its unit.
    """

    name: str
    unit: str | None
    at_least: float | None
    at_most: float | None
    verdict: str | None
    result: Result
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        number = number_of(self.result)
        if number is None or number.value is None or number.interval is None:
            return {"value": str(self.result.display["value"])}
        scale = Scale(self.unit, number.range)
        texts = scale.texts(number.value, *number.interval)
        return {**texts, **scale.gate(self.at_least, self.at_most)}

    def __str__(self) -> str:
        texts = self.display
        parts = [texts["value"], *([f"in {texts['interval']}"] if "interval" in texts else [])]
        if "gate" in texts:
            parts.append(f"· {self.verdict}: {texts['gate']} wanted")
        elif self.verdict is not None:
            parts.append(f"· {self.verdict}")
        return f"{self.name}  {' '.join(parts)}"


@dataclass(frozen=True, repr=False)
class Watched(Shown):
    """All questions of a dashboard at one round.

    ``verdict`` is the worst of all, None if there are no gates: fail, undecided or pass. ``new``
    is how many answers were new; the others had been given before, and were free.
    """

    round: int
    verdict: str | None
    new: int
    questions: tuple[WatchedQuestion, ...]

    def __str__(self) -> str:
        verdict = "" if self.verdict is None else f": {self.verdict}"
        return (
            f"{formatting.several(len(self.questions), 'question')} at n = {self.round:,}{verdict}"
        )


def register_names(
    ledger: Ledger, names: Sequence[KeptName], forms: Sequence[object], analyst: str
) -> tuple[Registered, ...]:
    """Name questions under the noise guard, which claims nothing before it is asked."""
    with ledger.writing() as draft:
        new = [draft.add_name(name, analyst) for name in names]
        t = ledger.rules.nearest_round(draft.state.records)
    found = []
    for name, form, is_new in zip(names, forms, new, strict=True):
        width = ledger.policy.widths.of_form(form, t) if isinstance(form, Form) else None
        title = name.question.name
        found.append(Registered(title, name.canonical, None, None, None, width, is_new))
    return tuple(found)


def watched_names(ledger: Ledger, names: Sequence[str] | None) -> list[KeptName]:
    """The questions to watch: those of these names, or all that are watched."""
    ledger.refresh()
    known = ledger.names.by_name
    if names is None:
        found = [one for one in known.values() if one.question.watch]
        if not found:
            hint = "register some: surehold register DATASET dashboard.toml"
            raise InvalidInput("the dashboard", "of questions that are registered", "empty", hint)
        return found
    if isinstance(names, str) or not all(isinstance(name, str) for name in names) or not names:
        raise InvalidInput("questions", "a list of names", names)
    for name in names:
        if name not in known:
            listed = formatting.shorten(", ".join(known) or "none", 200)
            raise InvalidInput("the question", f"a registered name ({listed})", name)
    return [known[name] for name in dict.fromkeys(names)]


def watched(kept: Sequence[KeptName], results: Sequence[Result]) -> Watched:
    """What the answers to the questions of a dashboard say about their gates."""
    pairs = zip(kept, results, strict=True)
    questions = tuple(_question(one.question, result) for one, result in pairs)
    verdicts = {one.verdict for one in questions}
    worst = next((one for one in _WORST if one in verdicts), None)
    new = sum(not result.recorded for result in results)
    return Watched(results[0].round, worst, new, questions)


def _question(question: NamedQuestion, result: Result) -> WatchedQuestion:
    number, verdict = number_of(result), None
    if question.gate is not None:
        verdict = judge(*question.gate, None if number is None else number.interval)
    elif isinstance(result, Verdict | DecisionOutcome):
        verdict = "undecided" if result.verdict == "not pass" else result.verdict
    return WatchedQuestion(
        name=question.name,
        unit=question.unit,
        at_least=question.at_least,
        at_most=question.at_most,
        verdict=verdict,
        result=result,
    )


def dashboard_of(ledger: Ledger) -> Dashboard:
    """All questions that have a name."""
    ledger.refresh()
    return Dashboard(tuple(one.question for one in ledger.names.by_name.values()))


def spent_on(watched: Watched) -> str:
    """What a watch cost, in words."""
    if not watched.new:
        return "nothing new: all answers were recorded before, and free"
    new = formatting.several(watched.new, "new answer")
    results = [one.result for one in watched.questions if not one.result.recorded]
    bits = [one.surprise for one in results if isinstance(one, Outcome)]
    return f"{new} for {formatting.bits(sum(bits))}" if bits else new
