"""Alerts: a webhook is called when a budget nears its end. No request waits for it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import urllib3

from surehold import files
from surehold.errors import SureholdError
from surehold.formatting import share_left, width
from surehold.server.host import Host
from surehold.server.service import Service
from surehold.session import Status
from surehold.session.results import when

FILE = "alerts.json"
"""In a dataset's folder: the alerts that were sent, so that a restart does not repeat them."""
_TIMEOUT = 10.0
_LONGEST_PAUSE = 600.0

logger = logging.getLogger("surehold.server")


class Alerts:
    """Looks at every open dataset every second, and sends what has crossed a threshold.

    Each crossing is sent once, or again and again until it is delivered, with growing pauses.
    """

    def __init__(
        self, host: Host, every: float = 1.0, clock: Callable[[], float] = time.time
    ) -> None:
        self._host, self._every, self._clock = host, every, clock
        self._settings, self._url = host.settings, str(host.settings.alert_url)
        self._to = urllib3.util.parse_url(self._url)
        self._pool = urllib3.PoolManager(timeout=_TIMEOUT, retries=False)
        self._stopped, self._failures = threading.Event(), 0
        self._sent: dict[Path, set[str]] = {}
        self._seen: dict[Path, object] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Look in a thread during the block."""
        thread = threading.Thread(target=self._run, name="alerts", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join(_TIMEOUT)

    def _run(self) -> None:
        pause = self._every
        while not self._stopped.wait(pause):
            is_delivered = True
            for service in self._host.services:
                with suppress(SureholdError):  # its callers get the error
                    is_delivered = self._look(service) and is_delivered
            self._failures = 0 if is_delivered else self._failures + 1
            pause = min(self._every * 2.0**self._failures, _LONGEST_PAUSE)

    def _look(self, service: Service) -> bool:
        """Send the alerts that are due; returns whether all were delivered."""
        folder = service.dataset.path
        now = (service.dataset.last_entry, service.book.tokens)
        if self._seen.get(folder) == now:
            return True
        due = {alert["id"]: alert for alert in self._due(service)}
        sent = self._sent.setdefault(folder, _read(folder))
        new = {id for id, alert in due.items() if id not in sent and self._deliver(alert)}
        after = (sent & due.keys()) | new
        if after != sent:
            self._sent[folder] = after
            with suppress(SureholdError):
                text = json.dumps({"format": 1, "sent": sorted(after)})
                files.write_file(folder / FILE, text.encode(), "noting an alert")
        if due.keys() <= after:
            self._seen[folder] = now
        return due.keys() <= after

    def _due(self, service: Service) -> Iterator[dict[str, Any]]:
        """Yield what is beyond a threshold now; made of sizes, charges and limits alone."""
        dataset = service.dataset
        status, name = dataset.status(), dataset.path.name
        common = {"dataset": name, "time": when(self._clock())}
        for analyst, left in self._left(service, status):
            whose, what = (name, "budget") if analyst is None else (f"{name}, {analyst}", "limit")
            for threshold in self._settings.alert_at:
                if left < threshold:
                    yield {
                        "text": f"{whose}: {share_left(left, 1.0)} of the {what} left",
                        **common,
                        "what": what,
                        "analyst": analyst,
                        "left": left,
                        "threshold": threshold,
                        "id": f"{what} {analyst or ''} {threshold:g}",
                    }
        most, now = self._settings.alert_width, status.width
        if most is not None and now is not None and now > most:
            text = f"{name}: the next interval is up to ± {width(now)}"
            about = {"what": "width", "analyst": None, "width": now, "threshold": most}
            yield {"text": text, **common, **about, "id": f"width  {most:g}"}

    def _left(self, service: Service, status: Any) -> Iterator[tuple[str | None, float]]:
        """Yield the share left of the budget, and of the limit of each analyst who has one."""
        if isinstance(status, Status):
            yield None, _share(status.budget.remaining, status.budget.total)
        elif status.limit is not None:
            yield None, _share(status.remaining, status.limit)
        for analyst in sorted({token.analyst for token in service.book.tokens}):
            limit = service.book.limit_of(analyst)
            if limit is not None:
                own = service.dataset.session(analyst, limit=limit).limit
                assert own is not None
                yield analyst, 1.0 - _share(own.spent, own.total)

    def _deliver(self, alert: dict[str, Any]) -> bool:
        body = {name: value for name, value in alert.items() if name != "id"}
        about = {name: alert[name] for name in ("dataset", "what", "analyst", "threshold")}
        about["host"] = self._to.host  # the rest of the address may be a secret
        try:
            headers = urllib3.util.make_headers(basic_auth=self._to.auth)
            response = self._pool.request(
                "POST",
                self._url,
                json=body,
                headers={"Content-Type": "application/json", **headers},
                redirect=False,
                preload_content=False,
            )
            outcome = str(response.status)
            response.close()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            outcome = type(error).__name__  # its message may have the address
        if outcome.startswith("2"):
            logger.info("alert sent", extra=about)
            return True
        logger.warning("alert not delivered", extra={**about, "outcome": outcome})
        return False


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


def _read(folder: Path) -> set[str]:
    """Return what was sent before; of a file that cannot be read, nothing."""
    try:
        return set(map(str, json.loads((folder / FILE).read_bytes())["sent"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
