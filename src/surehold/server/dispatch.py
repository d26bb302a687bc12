"""Dispatch: which dataset of a server a request is for, by the beginning of its path."""

from __future__ import annotations

import re
from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from surehold.errors import InvalidInput
from surehold.server.auth import HOST, SITE
from surehold.server.host import Host
from surehold.server.tokens import is_name

BELOW = "/d/"
"""Where the datasets of a server are, each below its name."""
_BASE = re.compile("(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,8}", re.ASCII)
_OF_SERVERS = ("/v1/datasets", "/v1/oidc", "/readyz")  # and of no dataset
_TAKEN = ("d", "v1", "static", "healthz", "readyz", "metrics", "mcp", "openapi.json")


def check_base_path(given: str) -> str:
    """Return the path that every address of a server begins with; "" for none."""
    base = given.rstrip("/")
    if base and (not _BASE.fullmatch(base) or base.split("/")[1] in _TAKEN):
        required = "a path such as /eval, whose first part is none of " + ", ".join(_TAKEN)
        raise InvalidInput("--base-path", required, given)
    return base


class Dispatch:
    """Passes requests below /d/NAME, or at the root of a server with one dataset, to ``dataset``.

    Others go to ``front``. Both are the same for all datasets: the scope says which one it is, and
    has the address of its root. A proxy may remove the base path, or leave it.
    """

    def __init__(self, host: Host, dataset: ASGIApp, front: ASGIApp) -> None:
        self._host, self._dataset, self._front = host, dataset, front
        self._base = host.settings.base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._dataset(scope, receive, send)
            return
        path: str = scope["path"]
        if self._base and (path == self._base or path.startswith(f"{self._base}/")):
            path = path.removeprefix(self._base)
        scope[HOST] = self._host
        root, app = self._base, self._dataset
        name, _, rest = path.removeprefix(BELOW).partition("/")
        if path.startswith(BELOW) and is_name(name):
            scope[SITE] = self._host.site(name)
            root, path = f"{root}{BELOW}{name}", f"/{rest}"
        elif self._host.main is not None and not path.startswith(_OF_SERVERS):
            scope[SITE] = self._host.main
        else:
            scope[SITE], app = self._host.front, self._front
        if root:
            scope["root_path"], scope["path"] = root, f"{root}{path or '/'}"
            scope["raw_path"] = quote(scope["path"]).encode()
        await app(scope, receive, send)
