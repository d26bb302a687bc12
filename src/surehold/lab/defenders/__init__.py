"""Ways of answering, good and bad."""

from surehold.lab.defenders.base import Defender, Guard, Replies, View
from surehold.lab.defenders.exact import (
    Bonferroni,
    ConfidenceSequence,
    Hoeffding,
    Plain,
    Raw,
    Wide,
)
from surehold.lab.defenders.guarded import Guarded, Planned
from surehold.lab.defenders.other import (
    GuessAndCheck,
    Splitting,
    Thresholdout,
    UncertifiedNoise,
)

DEFENDERS: tuple[Defender, ...] = (
    Raw(),
    Plain(),
    Bonferroni(),
    Hoeffding(),
    ConfidenceSequence(),
    Wide(),
    UncertifiedNoise(),
    Thresholdout(),
    GuessAndCheck(),
    Splitting(),
    Guarded("ours-u"),
    Guarded("ours-n"),
    Guarded("adaptive"),
    Guarded("sharp"),
)
"""All that the lab knows, from the weakest claim to the strongest."""

__all__ = ["DEFENDERS", "Defender", "Guard", "Guarded", "Planned", "Replies", "View"]
