"""An attempt to sign in at a provider, from the way there to the way back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote, unquote

from surehold.errors import AccessDenied


@dataclass(frozen=True)
class Attempt:
    """An attempt to sign in, which a cookie binds to one browser; ``then`` is where it goes on.

    All that the provider is given follows from one secret, which is in the cookie alone.
    """

    secret: str
    then: str

    @classmethod
    def begin(cls, then: str) -> Attempt:
        """Begin one."""
        return cls(secrets.token_urlsafe(32), then)

    @classmethod
    def read(cls, text: str | None) -> Attempt:
        """Return the attempt that a cookie is about."""
        secret, _, then = (text or "").partition(".")
        try:
            return cls(secret, unquote(then, errors="strict"))
        except ValueError:
            deny("the cookie of this attempt is damaged")

    def __str__(self) -> str:
        return f"{self.secret}.{quote(self.then, safe='')}"

    def part(self, name: str) -> str:
        """Return the attempt's state, nonce or verifier: 256 bits that tell nothing of the rest."""
        return _base64(hmac.digest(self.secret.encode(), name.encode(), "sha256"))

    @property
    def challenge(self) -> str:
        """Return the hash of the verifier, which the provider compares with it."""
        return _base64(hashlib.sha256(self.part("verifier").encode()).digest())

    def check(self, name: str, given: object) -> None:
        """Refuse a response that is not to this attempt."""
        got = given.encode() if isinstance(given, str) else b""
        if not self.secret or not hmac.compare_digest(self.part(name).encode(), got):
            deny(f"the response has another {name} than this browser's attempt to sign in")


def deny(reason: str) -> NoReturn:
    """Refuse to sign somebody in."""
    raise AccessDenied(reason, "sign in again")


def _base64(given: bytes) -> str:
    return base64.urlsafe_b64encode(given).rstrip(b"=").decode()
