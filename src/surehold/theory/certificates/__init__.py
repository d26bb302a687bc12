"""The certificates: one file a bound, one interface for all.

>>> get("sharp").queries(Batches(n0=100_000, n=100_000), alpha=0.1, beta=0.05)
6804
"""

from __future__ import annotations

from surehold.errors import InvalidInput
from surehold.theory.certificates.base import Certificate, Width
from surehold.theory.certificates.jlnrss import Jlnrss, JlnrssPlus
from surehold.theory.certificates.ours import AdaptiveFilter, OursN, OursU
from surehold.theory.certificates.sharp import Lopsided, Sharp
from surehold.theory.certificates.split import Split
from surehold.theory.settings import Batches, Growing

CERTIFICATES: dict[str, Certificate] = {
    certificate.name: certificate
    for certificate in (
        Sharp(),
        OursN(),
        OursU(),
        AdaptiveFilter(),
        JlnrssPlus(),
        Jlnrss(),
        Split(),
    )
}
"""Every certificate by its name, tightest kind first."""

__all__ = ["CERTIFICATES", "Batches", "Certificate", "Growing", "Lopsided", "Width", "get"]


def get(name: object) -> Certificate:
    """The certificate of that name."""
    if not isinstance(name, str) or name not in CERTIFICATES:
        raise InvalidInput("certificate", f"one of {', '.join(CERTIFICATES)}", name)
    return CERTIFICATES[name]
