"""One row of a comparison of certificates; importing it loads no scipy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from surehold import formatting
from surehold.display import Shown
from surehold.planning.plans import Paces, Unknown


@dataclass(frozen=True)
class ComparisonRow(Shown):
    """What one certificate gives; ``reason`` says why, where it gives nothing."""

    certificate: str
    theorem: str
    summary: str
    mechanism: str
    is_prompt: bool
    solved_for: Unknown
    reason: str | None
    queries: int | None = None
    width: float | None = None
    n0: int | None = None
    n: int | None = None
    sigma: float | None = None
    terms: dict[str, float] | None = None
    constants: dict[str, float] | None = None
    paces: Paces | None = None
    display: Mapping[str, str] = field(init=False, compare=False, repr=False)

    @property
    def is_useful(self) -> bool:
        """Whether there is a result."""
        return self.reason is None

    @property
    def result(self) -> float:
        """The number that was asked for; 0 where there is none."""
        found = {"queries": self.queries, "width": self.width, "records": self.n}[self.solved_for]
        return float(found or 0)

    def _display(self) -> dict[str, str]:
        return {} if self.width is None else {"width": f"± {formatting.width(self.width)}"}
