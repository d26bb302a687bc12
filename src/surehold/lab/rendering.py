"""A report as text: tables that read as well on a screen as on a page."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from surehold.formatting import count, percent, several, width
from surehold.lab.attackers import ATTACKERS, Attacker
from surehold.lab.defenders import DEFENDERS, Defender
from surehold.lab.report import CONFIDENCE, Report, Row

_FEW = 20  # repeats


def heading(report: Report) -> str:
    """What was played, in two lines."""
    setting = report.setting
    data = f"{count(setting.n)} records"
    if setting.grows:
        data = f"data that grows from {count(setting.n0)} to {count(setting.n)} records"
    return (
        f"{several(len(report.attacks), 'attack')} on {data}, {report.data}; up to "
        f"{count(setting.queries)} queries,\n"
        f"alpha = {setting.alpha:g}, beta = {setting.beta:g}, "
        f"{several(report.repeats, 'repeat')} each, seed {report.seed}"
    )


def summary(report: Report) -> str:
    """One line a defender: which attacks break it, and how much it answers."""
    rows = []
    for defender in report.defenders:
        played = [row for row in report.rows if row.defender == defender and row.reason is None]
        share = report.share(defender)
        if share is None:
            rows.append([defender, "no answers", "", "", "", ""])
            continue
        broken = report.broken(defender)
        worst = min(played, key=lambda row: row.covered / row.repeats)
        rows.append(
            [
                defender,
                f"{len(broken)} of {len(played)}",
                f"{worst.covered} of {worst.repeats}",
                _share(share),
                _up_to(max(row.widest for row in played)),
                _failures(broken, [row.attack for row in played]),
            ]
        )
    heads = ["defender", "broken by", "worst", "answers", "width", "which"]
    return _table(heads, rows, left=(0, 5))


def _details(report: Report, attack: str) -> str:
    played = [row for row in report.rows if row.attack == attack]
    wanted = report.wanted(attack)
    rows = [row_texts(row, wanted) for row in played]
    heads = ["defender", "all right", "coverage", "answers", "width", "largest error", "spent"]
    return _table(heads, rows, left=(0,))


def reasons(report: Report) -> list[str]:
    """Why a defender had no answers."""
    found = {row.defender: row.reason for row in report.rows if row.reason is not None}
    return [f"{defender}: {reason}" for defender, reason in found.items()]


_CONTROLS = {"wide": "Exact answers of the same width", "plain": "Textbook intervals"}


def control(report: Report, name: str = "wide") -> str:
    """Which attacks had teeth: those under which the control fails, which has no guard."""
    rows = [row for row in report.rows if row.defender == name]
    strong = [row.attack for row in rows if row.covered < row.repeats]
    if not strong:
        return (
            f"{_CONTROLS[name]} hold as well: no attack here can overfit that far "
            "with this few\nqueries, and this check could not have failed."
        )
    return f"{_CONTROLS[name]} fail under {', '.join(strong)}."


def verdict(report: Report, defender: str) -> str:
    """Whether a promise of 1 - beta was kept, as far as can be seen."""
    promised = percent(report.setting.beta)
    broken = report.broken(defender)
    if broken:
        return f"{defender} does NOT hold with probability {promised} under {', '.join(broken)}"
    rows = [row for row in report.rows if row.defender == defender and row.reason is None]
    covered, repeats = sum(row.covered for row in rows), sum(row.repeats for row in rows)
    right = f"{count(covered)} of {count(repeats)} analyses are right in all their answers"
    what = "guard" if defender == "surprise" else "plan"
    return f"{defender}: {right}; the {what} promises {promised} under each attack"


def render(report: Report, details: bool, of: str | None = None) -> str:
    """What the command prints: a table for a single attack, a summary of several.

    Last a verdict, if it is about one defender.
    """
    parts = [heading(report)]
    if len(report.attacks) > 1:
        parts.append(summary(report))
    if details or len(report.attacks) == 1:
        for attack in report.attacks:
            parts.append(f"{attack}\n{_details(report, attack)}")
        parts.append(LEGEND)
    parts += reasons(report)
    if report.repeats < _FEW:
        seen = "only gross failures show" if report.can_tell else "nothing can be ruled out"
        parts.append(f"With {several(report.repeats, 'repeat')} {seen}.")
    if of is not None:
        parts.append(f"{verdict(report, of)}.\n{control(report)}")
    return "\n\n".join(parts)


def list_known() -> dict[str, Any]:
    """The attackers and defenders there are, as plain values."""
    return {
        "attackers": [
            {"name": one.name, "kind": one.kind, "source": one.source, "about": _about(one)}
            for one in ATTACKERS
        ],
        "defenders": [
            {"name": one.name, "claim": one.claim, "source": one.source, "about": _about(one)}
            for one in DEFENDERS
        ],
    }


def render_known() -> str:
    """The same for people."""
    lines = []
    for heading, items in list_known().items():
        lines += ["", heading.capitalize()]
        for item in items:
            lines.append(f"  {item['name']:18} {item['about']}")
            lines += [f"  {'':18} claims: {item['claim']}"] if "claim" in item else []
            lines.append(f"  {'':18} source: {item['source']}")
    return "\n".join(lines[1:])


def _about(one: Attacker | Defender) -> str:
    """The first line of what its class says."""
    about = getattr(one, "about", None) or (inspect.getdoc(type(one)) or "").split("\n", 1)[0]
    return str(about)


def render_page(report: Report) -> str:
    """All of it, as a Markdown page."""
    parts = [f"# Contest\n\n{heading(report)}", f"## Summary\n\n{summary(report)}"]
    parts += [f"- {reason}" for reason in reasons(report)]
    parts += [f"## {attack}\n\n{_details(report, attack)}" for attack in report.attacks]
    parts.append(LEGEND)
    return "\n\n".join(parts) + "\n"


LEGEND = (
    f"*all right*: analyses in which every answer was within its interval; *coverage*: exact "
    f"{CONFIDENCE:.0%} bounds\n(Clopper-Pearson) for their probability; *answers*: mean number "
    "given, of those the attack would ask;\n*width*: the largest half-width, which is that of "
    "the smallest round; *spent*: mean share of the budget."
)


def row_texts(row: Row, wanted: float) -> list[str]:
    """A row as texts: defender, all right, coverage, answers, width, largest error, spent."""
    if row.reason is not None:
        return [row.defender, "no answers", "", "", "", "", ""]
    low, high = row.coverage
    return [
        row.defender,
        f"{row.covered} of {row.repeats}",
        f"{low:.3f} to {high:.3f}",
        f"{row.answered:,.0f} of {wanted:,.0f}",
        _up_to(row.widest),
        f"{row.largest_error:.4f}",
        "" if row.spent is None else _share(row.spent),
    ]


def _up_to(widest: float) -> str:
    return "none" if widest == 0.0 else f"± {width(widest, 3)}"


def _share(share: float) -> str:
    return f"{100.0 * share:.0f} %"


def _failures(broken: Sequence[str], played: Sequence[str]) -> str:
    """The shorter list of the two: those that break it, or those that do not."""
    withstood = [attack for attack in played if attack not in broken]
    if len(broken) <= max(3, len(withstood)):
        return ", ".join(broken)
    return f"all but {', '.join(withstood)}" if withstood else "all of them"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.ljust(size) if i in left else cell.rjust(size)
            for i, (cell, size) in enumerate(zip(cells, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ["-" * size if i in left else "-" * (size - 1) + ":" for i, size in enumerate(widths)]
    return "\n".join([line(heads), line(rule), *map(line, rows)])
