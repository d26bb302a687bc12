"""The page: one shell for all views, which fetches its data from the routes under /v1."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parents[1] / "pages"
VIEWS = ("/", "/ask", "/transcript", "/answer", "/explore", "/developers")

router = APIRouter(include_in_schema=False)


def shell() -> FileResponse:
    """Return the page; its address says which view it shows."""
    return FileResponse(FOLDER / "index.html", media_type="text/html; charset=utf-8")


def missing(request: Request) -> FileResponse | None:
    """Return the page for an address that leads nowhere, to a browser; None to a program."""
    is_look = request.method in ("GET", "HEAD") and not request.url.path.startswith("/v1")
    if not is_look or "text/html" not in request.headers.get("accept", ""):
        return None
    return FileResponse(FOLDER / "index.html", 404, media_type="text/html; charset=utf-8")


for _view in VIEWS:
    router.add_api_route(_view, shell, methods=["GET", "HEAD"], response_class=HTMLResponse)


def files() -> StaticFiles:
    """Return scripts, styles, and the charting library with its licence."""
    return StaticFiles(directory=FOLDER / "static")
