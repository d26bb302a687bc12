"""Every route, the role that it needs, and a request to it that is good."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from support.runtime import records
from support.service import Got, heard, knock, read, send

# By hand, from the description of the service: what the routes say of themselves is compared.
LOOK = "viewer"
TABLE: dict[tuple[str, str], str | None] = {
    ("GET", "/healthz"): None,
    ("GET", "/metrics"): LOOK,
    ("GET", "/v1/me"): "any",
    ("GET", "/v1/session"): "any",
    ("POST", "/v1/session"): "any",
    ("DELETE", "/v1/session"): "any",
    ("GET", "/v1/schema"): "any",
    ("GET", "/v1/status"): "any",
    ("GET", "/v1/plan"): LOOK,
    ("GET", "/v1/outlook"): LOOK,
    ("GET", "/v1/rounds"): LOOK,
    ("GET", "/v1/growth"): LOOK,
    ("GET", "/v1/dashboard"): LOOK,
    ("GET", "/v1/history"): LOOK,
    ("GET", "/v1/histories"): LOOK,
    ("GET", "/v1/compare"): LOOK,
    ("GET", "/v1/room"): LOOK,
    ("GET", "/v1/models"): LOOK,
    ("GET", "/v1/tables"): LOOK,
    ("GET", "/v1/transcript"): LOOK,
    ("GET", "/v1/transcript.csv"): LOOK,
    ("GET", "/v1/transcript/{entry}"): LOOK,
    ("GET", "/v1/events"): LOOK,
    ("POST", "/v1/quote"): LOOK,
    ("POST", "/v1/hold"): LOOK,
    ("POST", "/v1/verify"): LOOK,
    ("POST", "/v1/ask"): "analyst",
    ("POST", "/v1/ask-many"): "analyst",
    ("POST", "/v1/select"): "analyst",
    ("POST", "/v1/register"): "analyst",
    ("POST", "/v1/watch"): "analyst",
    ("POST", "/v1/models"): "analyst",
    ("POST", "/v1/tables"): "analyst",
    ("GET", "/v1/leaderboard"): "any",
    ("POST", "/v1/leaderboard"): "custodian",
    ("POST", "/v1/leaderboard/submissions"): "submitter",
    ("POST", "/v1/append"): "appender",
    ("POST", "/v1/reserve"): "custodian",
    ("POST", "/v1/succeed"): "custodian",
    ("POST", "/v1/retire"): "custodian",
    ("GET", "/v1/lab"): "custodian",
    ("POST", "/v1/lab"): "custodian",
    ("DELETE", "/v1/lab"): "custodian",
    ("GET", "/v1/tokens"): "custodian",
    ("POST", "/v1/tokens"): "custodian",
    ("DELETE", "/v1/tokens/{id}"): "custodian",
}
# The page holds nothing about the dataset: what it shows it fetches from the routes above.
VIEWS = {"/", "/ask", "/transcript", "/answer", "/explore", "/lab", "/tokens", "/developers"}
PAGES = VIEWS | {"/leaderboard", "/openapi.json"}
ORDER = ("viewer", "submitter", "analyst", "appender", "custodian")
MAY = {
    "viewer": {"any", "viewer"},
    "submitter": {"any", "submitter"},
    "analyst": {"any", "viewer", "submitter", "analyst"},
    "appender": {"any", "appender"},
    "custodian": {"any", "viewer", "submitter", "analyst", "appender", "custodian"},
}

BYTES = {"Content-Type": "application/octet-stream"}
# What the routes that need one are sent, and what they say to who may: no model, table or name is
# valid.
BODIES: dict[str, Any] = {
    "/v1/quote": {"query": "age > 65"},
    "/v1/hold": {"round": 1000},
    "/v1/ask": {"query": "age > 65"},
    "/v1/ask-many": {"queries": ["age > 65", "age > 66"]},
    "/v1/select": {"candidates": ["age > 65", "age > 66"], "price": 2},
    "/v1/register": {"queries": ["age > 65", "age > 67"]},
    "/v1/watch": {"questions": ["nobody named it"]},
    "/v1/models": b"no model",
    "/v1/tables": [{"no": "id"}],
    "/v1/leaderboard": {"title": "Older", "target": "age > 65", "step": 0.01},
    "/v1/leaderboard/submissions": [{"no": "id"}],
    "/v1/append": records(2000, 2001),
    "/v1/reserve": {"analyst": "ann", "amount": 0},
    "/v1/succeed": {"name": "next", "reason": "nothing is to be changed"},
    "/v1/retire": {"reason": ""},
    "/v1/lab": {"attacks": ["nobody wrote it"]},
    "/v1/tokens": {"analyst": "bob", "role": "viewer", "expires": "1h"},
}
OF_THE_OTHER_GUARD = {
    "noise": {
        *("/v1/register", "/v1/succeed", "/v1/leaderboard", "/v1/leaderboard/submissions"),
    },
    "surprise": {"/v1/plan", "/v1/outlook", "/v1/rounds", "/v1/room"},
}
"""What a dataset refuses with WrongGuard."""
ADDRESSES = {
    "/v1/room": "/v1/room?round=1000",
    "/v1/compare": "/v1/compare?n0=200&n=2000&alpha=0.3&beta=0.1",
    "/v1/transcript/{entry}": "/v1/transcript/5",
    "/v1/history": "/v1/history?question=age%20%3E%2065",
    "/v1/tokens/{id}": "/v1/tokens/000000000000",
}
MISSING = {
    *(("DELETE", path) for path in ("/v1/tokens/{id}", "/v1/session", "/v1/lab")),
    ("GET", "/v1/leaderboard"),
    ("POST", "/v1/leaderboard/submissions"),
}
"""What responds with 404: there is no such token, no session, no run of the lab, no leaderboard."""
WITHOUT_IDS = ("POST", "/v1/leaderboard")
"""What needs records with an id."""
GUARDED = sorted(key for key, role in TABLE.items() if role is not None)


def knocked(url: str, method: str, path: str, token: str | None = None, **headers: str) -> Got:
    """A request that is good, but for who sends it. Of a stream only the beginning is read."""
    address, body = ADDRESSES.get(path, path), BODIES.get(path) if method == "POST" else None
    given = {**(BYTES if isinstance(body, bytes) else {}), **headers}
    if path != "/v1/events":
        return send(url, method, address, body, token=token, headers=given)
    if token is not None:
        given["Authorization"] = f"Bearer {token}"
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    root = urlsplit(url).path
    head = f"GET {root}{address} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{lines}\r\n"
    with knock(url, head.encode()) as connection:
        first = connection.recv(1 << 16)
        return read(first if b" 200 OK" in first else first + heard(connection))
