"""Surehold's surprise guard: exact outcomes from menus, paid for by how surprising they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from surehold.lab.defenders.base import Defender, Guard, Replies, View
from surehold.lab.questions import Expected, Questions
from surehold.lab.setting import Setting
from surehold.lab.surprise_book import SurpriseBook


class Surprise(Defender):
    """Plain numbers from the surprise guard, with default shares; it never refuses an answer.

    A question that is asked again, at a later round, is expected to be where it was. Guesses of the
    analyst's own are taken as they are.
    """

    name = "surprise"
    source: ClassVar[str] = "surprise-theorem.md; Langford and Blum 1999, Dwork et al. 2015"
    claim = "all together, for any analyst, whenever, while the data grows; widths grow with use"
    has_public_half: ClassVar[bool] = False
    book: ClassVar[type[SurpriseBook]] = SurpriseBook

    def guard(self, setting: Setting, random: np.random.Generator) -> Guard:
        return SurpriseGuard(self.book(Fraction(str(setting.beta))), self.has_public_half)


class SurpriseGuess(Surprise):
    """The surprise guard with the guesses that Guess and Check has: the mean over the other half.

    Even records are public and give the guess, odd ones are guarded. A guess and what it guesses
    differ by 1/sqrt(t), the standard error of both together, or less; three times that is within.
    """

    name = "surprise-guess"
    has_public_half: ClassVar[bool] = True


class SurpriseGuard(Guard):
    """Asks the book, question by question."""

    def __init__(self, book: SurpriseBook, has_public_half: bool) -> None:
        self._book = book
        self._has_public_half = has_public_half

    def answer(self, questions: Questions, view: View, t: int) -> Replies:
        if self._has_public_half:
            guarded, records = slice(1, t, 2), len(range(1, view.n, 2))
        else:
            guarded, records = slice(0, t), view.n
        size = len(range(t)[guarded])
        counts = view.counts(questions, guarded).tolist()
        expect, within = self._guesses(questions, view, t)
        given = np.empty((3, len(questions)))
        asked = zip(questions.names(), counts, expect, strict=True)
        for place, (name, count, guess) in enumerate(asked):
            found = self._book.ask(name, count, size, expect=guess, within=within, records=records)
            interval = found.interval
            given[:, place] = float(found.cell.middle), float(interval.low), float(interval.high)
        return Replies(*given)

    def _guesses(
        self, questions: Questions, view: View, t: int
    ) -> tuple[Sequence[Fraction | None], Fraction | None]:
        """The analyst's own, or those of the public half, or none; and how far off they may be."""
        if isinstance(questions, Expected):
            return [_decimal(one) for one in questions.guesses.tolist()], _decimal(questions.within)
        if not self._has_public_half:
            return [None] * len(questions), None
        size = len(range(0, t, 2))
        counts = view.counts(questions, slice(0, t, 2)).tolist()
        return [Fraction(count, size) for count in counts], Fraction(3, max(math.isqrt(t), 6))


def _decimal(number: float) -> Fraction:
    """To six places, as a person would write it."""
    return Fraction(round(number * 10**6), 10**6)
