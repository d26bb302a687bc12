"""How long the arithmetic takes, and how much memory: one run, everything side by side.

    python benchmarks/bench_theory.py          # half a minute
    python benchmarks/bench_theory.py --all    # also `surehold reproduce all`

Seconds depend on the machine and on who else uses it, so every time is also given as a multiple of
a reference taken in the same run (one `scipy.special.ndtr` of a million doubles; for starting the
command, a Python that does nothing), and as a multiple of what `sharp` takes. The best of several
repeats counts: noise only ever adds. Nothing is asserted; `benchmarks/README.md` keeps the numbers.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import ndtr

from surehold.theory.certificates import CERTIFICATES, Batches, Certificate

ALPHA, BETA, QUERIES = 0.1, 0.05, 10_000
# The searches over constants and over batches take more steps at some k than at others.
OTHER_QUERIES = (100, 101, 1_000, 10_001, 50_000, 361_286)
BATCHED = Batches(n0=500_000, n=1_500_000, b=100)
REPEATS = 7

# Run in a process of its own, whose peak memory is then that of one certificate alone.
_MILLION_ROUNDS = """
import resource, sys, time
import numpy as np
from surehold.theory.certificates import get
from surehold.theory.exposure import Schedule

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

certificate = get(sys.argv[1])
random = np.random.default_rng(1)
rounds = 500_000 + np.cumsum(random.integers(1, 1000, 1_000_000))
counts = random.integers(1, 1000, 1_000_000)
before = peak()
start = time.perf_counter()
schedule = Schedule(rounds, counts)
width = certificate.width(schedule, 0.05).value
print(time.perf_counter() - start, peak(), before, width)
"""


@dataclass(frozen=True)
class Row:
    """One measurement and what it is held against."""

    what: str
    certificate: str
    value: float
    unit: str
    target: float | None
    reference: float | None
    sharp: float | None = None

    def line(self) -> str:
        return (
            f"{self.what:<30} {self.certificate:<9} {_amount(self.value, self.unit):>10} "
            f"{_amount(self.target, self.unit):>9} {_share(self.value, self.target):>7} "
            f"{_times(self.value, self.reference):>8} {_times(self.value, self.sharp):>8}"
        )


def best(action: Callable[[], object], repeats: int = REPEATS) -> float:
    """Seconds of the fastest repeat."""
    return min(_seconds(action) for _ in range(repeats))


def in_process(reference: float) -> list[Row]:
    """Width and queries at b = 100."""

    def width(certificate: Certificate, queries: int) -> float:
        design = BATCHED.at(queries)
        return best(lambda: certificate.width(design, BETA))

    rows = []
    for what, target, measure in (
        (f"width, b = 100, k = {QUERIES:,}", 0.02, lambda c: width(c, QUERIES)),
        ("  at the slowest of 6 other k", 0.02, lambda c: max(width(c, k) for k in OTHER_QUERIES)),
        ("queries, b = 100", 0.5, lambda c: best(lambda: c.queries(BATCHED, ALPHA, BETA), 3)),
    ):
        taken = {name: measure(certificate) for name, certificate in CERTIFICATES.items()}
        rows += [
            Row(what, name, seconds, "s", target, reference, taken["sharp"])
            for name, seconds in taken.items()
        ]
    return rows


def million_rounds(reference: float) -> list[Row]:
    """1,000,000 distinct rounds at odd distances, each certificate in a fresh process."""
    times, peaks = [], []
    sharp: tuple[float, float] | None = None
    for name in CERTIFICATES:
        runs = [_run(sys.executable, "-c", _MILLION_ROUNDS, name).split() for _ in range(3)]
        seconds = min(float(run[0]) for run in runs)
        peak = max(float(run[1]) for run in runs)
        sharp = sharp or (seconds, peak)
        times.append(Row("1,000,000 rounds, time", name, seconds, "s", 2.0, reference, sharp[0]))
        peaks.append(Row("1,000,000 rounds, peak", name, peak, "MB", 500.0, None, sharp[1]))
    before = float(runs[0][2])
    return [*times, *peaks, Row("  (of that: before it starts)", "", before, "MB", None, None)]


def starting(bare: float) -> list[Row]:
    """The command and the import, against a Python that does nothing."""
    python = sys.executable
    return [
        Row(what, "", best(lambda command=command: _run(*command)), "s", target, bare)
        for what, target, command in (
            ("surehold --help", 0.4, (python, "-m", "surehold", "--help")),
            ("python -c 'import surehold'", None, (python, "-c", "import surehold")),
            ("  (... and surehold.plan)", None, (python, "-c", "import surehold; surehold.plan")),
        )
    ]


def reproduce_all(reference: float) -> Row:
    """Every figure of the paper, once."""
    with tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "surehold", "reproduce", "all", "--out", folder)
        seconds = _seconds(lambda: _run(*command))
    return Row("surehold reproduce all", "", seconds, "s", 120.0, reference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="also time `surehold reproduce all`")
    with_figures = parser.parse_args().all

    points = np.linspace(-8.0, 8.0, 1_000_000)
    reference = best(lambda: ndtr(points))
    bare = best(lambda: _run(sys.executable, "-c", "pass"))
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(f"references: ndtr of 1e6 doubles {reference * 1e3:.2f} ms, bare Python {bare:.3f} s\n")
    print(
        f"{'what':<30} {'which':<9} {'value':>10} {'target':>9} {'share':>7} "
        f"{'x ref.':>8} {'x sharp':>8}"
    )
    for rows in (in_process(reference), million_rounds(reference), starting(bare)):
        for row in rows:
            print(row.line(), flush=True)
    if with_figures:
        print(reproduce_all(reference).line())


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "s" and value < 1.0:
        value, unit = (value * 1e3, "ms") if value >= 1e-3 else (value * 1e6, "µs")
    return f"{value:.3g} {unit}"


def _share(value: float, target: float | None) -> str:
    return "" if target is None else f"{value / target:.0%}"


def _times(value: float, other: float | None) -> str:
    return "" if other is None else f"{value / other:.3g}"


if __name__ == "__main__":
    main()
