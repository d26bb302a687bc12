"""Who may sign in with an account of an OpenID provider, and what they may do: `serve --oidc`."""

from __future__ import annotations

import os
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator

from surehold.checks import is_loopback
from surehold.errors import AccessDenied, InvalidInput
from surehold.server.errors import invalid_input
from surehold.server.schemas import Body, Finite
from surehold.server.tokens import Role

SECRET = "SUREHOLD_OIDC_SECRET"
MOST_HOURS = 12.0
Text = Annotated[str, Field(min_length=1, max_length=2000)]


class Rule(Body):
    """What people may do, one of whose claims has one of these values; `*` stands for a beginning.

    >>> Rule(claim="groups", values=["data", "*-science"], role="viewer").covers(
    ...     {"groups": ["all", "life-science"]}
    ... )
    True
    >>> Rule(claim="email", values=["*@example.org"], role="viewer").covers(
    ...     {"email": "eve@example.org", "email_verified": False}
    ... )
    False
    """

    claim: Text
    values: list[Text] = Field(min_length=1)
    role: Role
    datasets: list[str] | None = None
    limit: Finite | None = None

    def covers(self, claims: Mapping[str, Any]) -> bool:
        """Whether it is about a person with these claims."""
        found = verified(claims, self.claim)
        listed = found if isinstance(found, list) else [found]
        return any(_fits(one, value) for one in listed for value in self.values)


class Oidc(Body):
    """An OpenID provider, this service as its client, and the rules, of which the first counts."""

    issuer: Text
    client_id: Text
    client_secret_file: Path | None = Field(default=None, strict=False)
    label: Annotated[str, Field(min_length=1, max_length=60)] = "your company's account"
    scopes: Text = "openid email profile"
    analyst: Text = "email"
    hours: float | None = Field(default=None, gt=0, le=MOST_HOURS, allow_inf_nan=False)
    address: Text | None = None
    allow: list[Rule] = Field(min_length=1)

    @field_validator("issuer", "address")
    @classmethod
    def _check_address(cls, given: str | None) -> str | None:
        if given is not None and not is_safe(given):
            raise ValueError("an address that begins with https://, or is on this machine")
        return given

    @property
    def secret(self) -> str | None:
        """Return the client's secret: from the environment, or from its file."""
        if self.client_secret_file is None:
            return os.environ.get(SECRET)
        try:
            return self.client_secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeError):
            raise InvalidInput("client_secret_file", "a text file", "unreadable") from None

    def seconds(self, claims: Mapping[str, Any]) -> float:
        """Return how long a session lasts: the given hours, or as long as the ID token does."""
        if self.hours is not None:
            return self.hours * 3600
        return max(1.0, min(MOST_HOURS * 3600, float(claims["exp"]) - time.time()))

    def admit(self, claims: Mapping[str, Any]) -> tuple[str, Rule]:
        """Return a person's name in the ledger, and the first rule that is about them."""
        rule = next((one for one in self.allow if one.covers(claims)), None)
        if rule is None:
            hint = "ask the custodian for it"
            raise AccessDenied("this account has no access to this service", hint, 403)
        analyst = verified(claims, self.analyst)
        if (
            not isinstance(analyst, str)
            or not 1 <= len(analyst) <= 200
            or not analyst.isprintable()
        ):
            reason = f"this account has no claim {self.analyst} that can be an analyst's name"
            raise AccessDenied(reason, "ask the custodian to name another in --oidc", 403)
        return analyst, rule


def read(path: Path) -> Oidc:
    """Read the file of `serve --oidc`."""
    try:
        found = Oidc.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidInput("--oidc", "a file", str(path), error.strerror or "") from None
    except ValidationError as error:
        raise invalid_input([dict(one) for one in error.errors()]) from None
    except ValueError as error:
        raise InvalidInput("--oidc", "a file in TOML", str(path), str(error)) from None
    _ = found.secret  # which can be read, or the service does not start
    return found


def is_safe(url: str) -> bool:
    """Whether nobody can listen on the way to an address."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or _is_here(parts.scheme, str(host)))


def verified(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim; an address only if the provider says that it is the person's own."""
    if name == "email" and claims.get("email_verified") is not True:
        return None
    return claims.get(name)


def _fits(found: object, value: str) -> bool:
    if not isinstance(found, str):
        return False
    return found.endswith(value[1:]) if value.startswith("*") else found == value


def _is_here(scheme: str, host: str) -> bool:
    return scheme == "http" and is_loopback(host)
