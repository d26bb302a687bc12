"""What a service allows: sizes, rates and patience."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Settings:
    """Limits of one service. Sizes are bytes of a request's body.

    ``rate`` is how many requests a second one caller may make, in the long run; at once twice as
    many. A body has to arrive ``patience`` seconds after its head, or steadily, at ``slowest``
    bytes a second, and no piece of it later than that after the one before. A stream of events ends
    after ``stream_seconds``: its reader comes again. Of ``streams``, of ``uploads`` of models, and
    of ``slow_asks``, which go through a model or through the records many times, there may be so
    many at once, and so many of one caller. With ``fixed_time`` an answer is released at a time
    that does not depend on records; ``asks`` are as many as may run or be held back at once.
    """

    rate: float = 50.0
    json_bytes: int = 5 * MEGABYTE
    json_parts: int = 40_000
    append_bytes: int = 256 * MEGABYTE
    model_bytes: int = 64 * MEGABYTE
    shelf_bytes: int = 1024 * MEGABYTE
    patience: float = 20.0
    slowest: float = 16_384.0
    models: int = 1000
    streams: tuple[int, int] = (64, 24)
    slow_asks: tuple[int, int] = (4, 2)
    uploads: tuple[int, int] = (8, 4)
    stream_seconds: float = 3600.0
    fixed_time: bool = True
    asks: int = 256
