"""What a service allows: sizes, rates and timeouts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surehold.server.oidc import Oidc

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Limits of one service. Sizes are bytes of a request's body.

    ``rate`` is how many requests a second one caller may make in the long run, and twice as many at
    once. A body has to arrive within ``patience`` seconds, or steadily at ``slowest`` bytes a
    second, and no part of it later than ``patience`` after the one before. The headers of a request
    may take ``head_seconds``, and a client may leave a response unread for ``unread_seconds``. A
    stream of events shows that it is alive every ``alive_seconds``, and ends after
    ``stream_seconds``; its reader reconnects. ``streams``, ``uploads`` of models and ``slow_asks``,
    which evaluate a model or read the records many times, are the most at once, in all and of one
    caller; ``connections``, in all and from one address, so that one client cannot take them all.
    With ``fixed_time`` an answer is released at a time that does not depend
    on records; at most ``asks`` run or are held back at once. ``base_path`` is what the path of
    every address begins with, and ``proxies`` are the addresses whose forwarded headers count.
    ``alert_url`` is called when less than a share in ``alert_at`` is left of a budget or a limit,
    or when the next interval is wider than ``alert_width``.
    ``oidc`` is the provider at which people sign in.
    """

    rate: float = 50.0
    json_bytes: int = 5 * MEGABYTE
    json_parts: int = 40_000
    append_bytes: int = 256 * MEGABYTE
    model_bytes: int = 64 * MEGABYTE
    table_bytes: int = 256 * MEGABYTE
    shelf_bytes: int = 1024 * MEGABYTE
    patience: float = 20.0
    slowest: float = 16_384.0
    head_seconds: float = 10.0
    unread_seconds: float = 60.0
    connections: tuple[int, int] = (512, 64)
    models: int = 1000
    tables: int = 10_000
    streams: tuple[int, int] = (64, 24)
    slow_asks: tuple[int, int] = (4, 2)
    uploads: tuple[int, int] = (8, 4)
    stream_seconds: float = 3600.0
    alive_seconds: float = 15.0
    fixed_time: bool = True
    asks: int = 256
    base_path: str = ""
    proxies: tuple[str, ...] = ()
    alert_url: str | None = field(default=None, repr=False)
    alert_at: tuple[float, ...] = (0.1,)
    alert_width: float | None = None
    oidc: Oidc | None = None
