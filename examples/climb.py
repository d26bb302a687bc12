"""The main use, end to end: data that grows, an analyst who adapts, answers that hold.

Each record has a hundred coin flips and an outcome. None of the coins predicts the outcome, so any
rule built from them is right half of the time, 50 %. The analyst does not know that. They ask how
often each coin agrees with the outcome, flip those that agree less than half of the time, and let
all of them vote. On the records they looked at, the vote does better than it ever will again.
Surehold's answer says how far off it can be; the plain mean of the same records, with its textbook
interval, is wrong.

Run it with `make demo`, or: python examples/climb.py FOLDER
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

import surehold as sh

COINS = 100
TRUTH = 0.5


def records(count: int, random: np.random.Generator) -> pl.DataFrame:
    """Draw coin flips, and an outcome that is independent of them."""
    columns = {f"coin{i:02}": random.random(count) < 0.5 for i in range(COINS)}
    return pl.DataFrame({"outcome": random.random(count) < 0.5, **columns})


def vote(favourable: list[bool]) -> str:
    """The query: does the majority of the coins, flipped where needed, match the outcome?"""
    turned = (
        f"cast({'' if good else 'not '}coin{i:02} as number)" for i, good in enumerate(favourable)
    )
    return f"({' + '.join(turned)} > {COINS // 2}) = outcome"


def say(text: str) -> None:
    print(f"\n==> {text}")


def main(folder: Path) -> None:
    sys.stdout.reconfigure(line_buffering=True)  # the commands below write to it too
    path = folder / "climb"
    shutil.rmtree(path, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(20261115)

    say("plan: from 20,000 to 60,000 records, every answer within ±0.1 with probability 95 %")
    plan = sh.plan(n0=20_000, n=60_000, alpha=0.1, beta=0.05)
    print(f"{plan.paces.at_n0:,} answers fit if asked at once, {plan.paces.at_n:,} if asked late")

    say("create a dataset and append the first records")
    first = records(20_000, random)
    dataset = sh.create(path, plan=plan, like=first)
    print(dataset.append(first))

    say(f"ask {COINS} questions, one for each coin; each answer has a width")
    session = dataset.session(analyst="climber")
    print("a quote, free:", session.quote("coin00 = outcome"))
    answers = session.ask_many([f"coin{i:02} = outcome" for i in range(COINS)])
    for answer in answers[:3]:
        print(f"{answer}   {answer.query}")
    print(f"... {len(answers) - 3} more; {session.budget}")

    say("restart in the middle: close, open, and ask from another process")
    dataset.close()
    asked = [sys.executable, "-m", "surehold", "ask", str(path), "coin00 = outcome"]
    subprocess.run(asked, check=True)  # recorded: free
    dataset = sh.open(path)
    session = dataset.session(analyst="climber")

    say("adapt: let all coins vote, each flipped the way it seemed to agree")
    # A careless analyst with the raw records flips the coins by the exact counts.
    outcome = first["outcome"].to_numpy()
    agree = [float((first[f"coin{i:02}"].to_numpy() == outcome).mean()) for i in range(COINS)]
    turned = [share > 0.5 for share in agree]
    heads = sum((first[f"coin{i:02}"].to_numpy() == good) for i, good in enumerate(turned))
    naive = float(((heads > COINS // 2) == outcome).mean())
    error = 1.96 * (naive * (1 - naive) / first.height) ** 0.5
    print(f"the raw records say   {naive:.3f} ± {error:.3f}   and the truth is {TRUTH}: a miss")
    held = session.ask(vote([answer.value > 0.5 for answer in answers]))
    print(f"Surehold says         {held}   which holds")
    picture = [sys.executable, "-m", "surehold", "plot", str(path), "--most", "6"]
    subprocess.run([*picture, "--out", str(folder / "analysis.png")], check=True)
    low, high = held.interval
    assert low <= TRUTH <= high < 1.0
    assert abs(naive - TRUTH) > error

    say("the data grows; old rounds can still be asked, new ones cost less")
    session.hold(20_000)
    print(dataset.append(records(20_000, random)))
    print("held at 20,000:", session.quote("outcome"))
    session.hold(None)
    print("at 40,000:     ", session.quote("outcome"))

    say("go on until the budget is exhausted")
    given = 0
    try:
        while True:
            session.ask(f"coin{given % COINS:02} and coin{given // COINS:02} = outcome")
            given += 1
    except sh.BudgetExhausted as refusal:
        print(f"after {given:,} more answers: {refusal}")

    say("verify: replay every entry, charge, width and byte")
    print(dataset.verify())
    dataset.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
