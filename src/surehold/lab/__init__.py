"""The proving ground: attacks that break ordinary practice, and defenders that may withstand them.

An *attacker* (:class:`Attacker`) asks questions of growing data, each led by the answers before. A
*defender* (:class:`Defender`) answers, with an interval. The population is known, so it is known
which intervals are wrong. :func:`run` lets every attacker loose on every defender.

>>> from surehold import lab
>>> report = lab.run("flooding", "raw", n0=1_000, n=2_000, queries=100, repeats=2)
>>> report.rows[0].covered
0
"""

from surehold.lab.analysis import Analysis, Tally
from surehold.lab.attackers import ATTACKERS, Attacker
from surehold.lab.contest import check, run
from surehold.lab.defenders import DEFENDERS, Defender, Guard, Guarded, Planned, Replies, View
from surehold.lab.populations import Coins, Listed, Population
from surehold.lab.questions import (
    Ablations,
    Agreements,
    Expected,
    Joints,
    Lookups,
    Memberships,
    Questions,
    Votes,
)
from surehold.lab.records import Records
from surehold.lab.report import Report, Row, clopper_pearson
from surehold.lab.setting import Setting

__all__ = [
    "ATTACKERS",
    "DEFENDERS",
    "Ablations",
    "Agreements",
    "Analysis",
    "Attacker",
    "Coins",
    "Defender",
    "Expected",
    "Guard",
    "Guarded",
    "Joints",
    "Listed",
    "Lookups",
    "Memberships",
    "Planned",
    "Population",
    "Questions",
    "Records",
    "Replies",
    "Report",
    "Row",
    "Setting",
    "Tally",
    "View",
    "Votes",
    "check",
    "clopper_pearson",
    "run",
]
