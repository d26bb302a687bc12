"""An agent loop of 200 experiments on one evaluation set, with the surprise guard and without.

    .venv/bin/python benchmarks/bench_agent_loop.py [REPEATS]      (default 200; half a minute)

The simulation is `surehold.lab.agent_loop`: guesses come from a dev set with a standard error of
0.005, and the naive loop looks at exact scores with 95 % intervals. Wanted: widths of at most 0.10,
0.08 and 0.055 at 1,000, 2,000 and 5,000 records, no miss, and a naive loop that misses in most
repeats.
"""

from __future__ import annotations

import sys

import numpy as np
from side_by_side import report

from surehold.lab.agent_loop import simulate_guarded_loop, simulate_naive_loop

WANTED = {1_000: 0.10, 2_000: 0.08, 5_000: 0.055}


def main(repeats: int) -> None:
    for n, width in WANTED.items():
        guarded = [simulate_guarded_loop(n, seed) for seed in range(repeats)]
        naive = [simulate_naive_loop(n, seed) for seed in range(repeats)]
        widest = np.array([one.widest for one in guarded])
        within = f"{np.mean(widest <= width):.0%} of repeats within, largest {widest.max():.4f}"
        report(f"{n:,} records: widest answer, median", np.median(widest), f"<= {width}", within)
        report(f"{n:,} records: widest answer, mean", widest.mean(), f"<= {width}")
        report(f"{n:,} records: loops with a miss", sum(one.missed > 0 for one in guarded), "<= 0")
        surprises = f"most {max(one.surprises for one in guarded)}"
        mean_surprises = np.mean([one.surprises for one in guarded])
        report(f"{n:,} records: surprises", mean_surprises, None, surprises)
        last = np.mean([one.final_missed for one in naive])
        report(f"{n:,} records: naive loops whose final model misses", last, ">= 0.5")
        gains = [np.mean([one.gained for one in side]) for side in (guarded, naive)]
        detail = f"{gains[1]:.4f} without the guard"
        report(f"{n:,} records: accuracy gained", gains[0], None, detail)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:] or ["200"]))
