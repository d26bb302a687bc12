"""Ways of answering, good and bad."""

from surehold.lab.defenders import exact, other, transcripts
from surehold.lab.defenders.base import Defender, Guard, Replies, View
from surehold.lab.defenders.guarded import Guarded, Planned
from surehold.lab.defenders.surprise import Surprise, SurpriseGuess

DEFENDERS: tuple[Defender, ...] = (
    exact.Raw(),
    exact.Plain(),
    exact.Bonferroni(),
    exact.Hoeffding(),
    exact.ConfidenceSequence(),
    exact.Wide(),
    other.UncertifiedNoise(),
    other.Thresholdout(),
    transcripts.GuessAndCheck(),
    transcripts.Verdicts(),
    transcripts.Ladder(),
    other.Splitting(),
    Guarded("ours-u"),
    Guarded("ours-n"),
    Guarded("adaptive"),
    Guarded("sharp"),
    Surprise(),
    SurpriseGuess(),
)
"""All that the lab knows, from the weakest claim to the strongest."""

__all__ = ["DEFENDERS", "Defender", "Guard", "Guarded", "Planned", "Replies", "View"]
