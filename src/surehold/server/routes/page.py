"""The page: one shell for all views, which fetches its data from the routes under /v1."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from surehold.errors import SureholdError
from surehold.server.auth import SITE
from surehold.server.errors import status_of

FOLDER = Path(__file__).parents[1] / "pages"
VIEWS = ("/", "/ask", "/transcript", "/answer", "/explore", "/lab", "/tokens", "/developers")

router = APIRouter(include_in_schema=False)
front = APIRouter(include_in_schema=False)


def shell(request: Request) -> Response:
    """Return the page of a dataset; its address says which view it shows."""
    return _page("index.html", request)


def list_shell(request: Request) -> Response:
    """Return the page that lists the datasets of a server."""
    return _page("datasets.html", request)


def board_shell(request: Request) -> Response:
    """Return the page of a leaderboard, which may be public."""
    return _page("leaderboard.html", request)


def missing(request: Request) -> Response | None:
    """Return the page for an address that leads nowhere, to a browser; None to a program."""
    path = request.url.path.removeprefix(request.scope.get("root_path", ""))
    is_look = request.method in ("GET", "HEAD") and not path.startswith("/v1")
    if not is_look or not _is_browser(request):
        return None
    is_front = request.scope[SITE].name is None
    return _page("datasets.html" if is_front else "index.html", request, 404)


def refusal(request: Request, error: SureholdError) -> Response | None:
    """Return the page to sign in, which says why it was refused, to a browser."""
    if not _is_browser(request):
        return None
    return _page("datasets.html", request, status_of(error), str(error))


def _is_browser(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


for _view in VIEWS:
    router.add_api_route(_view, shell, methods=["GET", "HEAD"], response_class=HTMLResponse)
router.add_api_route(
    "/leaderboard", board_shell, methods=["GET", "HEAD"], response_class=HTMLResponse
)
for _view in ("/", "/tokens"):
    front.add_api_route(_view, list_shell, methods=["GET", "HEAD"], response_class=HTMLResponse)


def _page(name: str, request: Request, status: int = 200, refused: str = "") -> Response:
    """Return a page whose links begin with the root of its dataset, or of the server.

    It says where people sign in with an account, and why they were refused there.
    """
    root, settings = request.scope.get("root_path", ""), request.scope[SITE].settings
    if not root and settings.oidc is None:
        return FileResponse(FOLDER / name, status, media_type="text/html; charset=utf-8")
    text = (FOLDER / name).read_text(encoding="utf-8")
    text = re.sub('(href|src|data-root)="/', f'\\1="{escape(root)}/', text)
    if settings.oidc is not None:
        start = f'data-provider="{settings.base_path}/v1/oidc/start'
        said = f'data-label="{escape(settings.oidc.label)}" data-refused="{escape(refused)}"'
        text = text.replace("<body", f'<body {start}" {said}', 1)
    return HTMLResponse(text, status)


def files() -> StaticFiles:
    """Return scripts, styles, and the charting library with its licence."""
    return StaticFiles(directory=FOLDER / "static")
