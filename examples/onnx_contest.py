"""A contest on hidden records: strangers submit ONNX files, and get a score with a width.

Three teams fit models on few, some and many records of their own. A fourth has no model: it submits
random ones and lets those that scored well vote. A fifth submits a file that would draw random
numbers, which is refused before any record is read. Nobody sees a hidden record, and the host can
accept files from anyone, because a file can only do arithmetic on one row at a time. One selection
chooses the winner among all files, at one price.

    python examples/onnx_contest.py [FOLDER]          (needs the extra `models`)
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
import polars as pl
from onnx import TensorProto, helper

import surehold as sh

TRUE = np.array([1.5, -1.0, 0.5, 0.0])
FEATURES = [f"x{i}" for i in range(len(TRUE))]
HIDDEN, LAST = 40_000, 400_000
GUESSES = 12
ABOUT = {"features": FEATURES, "target": "y"}


def records(count: int, random: np.random.Generator) -> pl.DataFrame:
    block = random.normal(size=(count, len(TRUE)))
    y = block @ TRUE + random.normal(size=count) > 0
    return pl.DataFrame({"y": y, **dict(zip(FEATURES, block.T, strict=True))})


def linear(weights: np.ndarray) -> bytes:
    """Build an ONNX file: class 1 where the weighted sum is positive, else class 0."""
    node = helper.make_node(
        "LinearClassifier",
        ["rows"],
        ["label", "scores"],
        domain="ai.onnx.ml",
        coefficients=[float(w) for w in (*-weights, *weights)],
        intercepts=[0.0, 0.0],
        classlabels_ints=[0, 1],
        post_transform="SOFTMAX",
    )
    return _file([node])


def cheat() -> bytes:
    """Build a file that draws numbers instead of computing them."""
    noise = helper.make_node("RandomNormalLike", ["rows"], ["noise"])
    node = onnx.ModelProto.FromString(linear(TRUE)).graph.node[0]
    node.input[0] = "noise"
    return _file([noise, node])


def _file(nodes: list[onnx.NodeProto]) -> bytes:
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, len(TRUE)])
    label = helper.make_tensor_value_info("label", TensorProto.INT64, [None])
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 2])
    graph = helper.make_graph(nodes, "model", [rows], [label, scores])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def fit(own: pl.DataFrame) -> np.ndarray:
    """Fit a team's own records; least squares is enough."""
    return np.linalg.lstsq(own[FEATURES].to_numpy(), 2.0 * own["y"].to_numpy() - 1, rcond=None)[0]


def say(text: str) -> None:
    print(f"\n==> {text}")


def main(folder: Path) -> None:
    path = folder / "onnx_contest"
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.default_rng(20261120)

    say("plan: from 40,000 hidden records on, every score within ±0.05 with probability 95 %")
    plan = sh.plan(n0=HIDDEN, n=LAST, alpha=0.05, beta=0.05)
    host = sh.create(path, plan=plan, columns={"y": "bool", **dict.fromkeys(FEATURES, "float")})
    print(host.append(records(HIDDEN, random)))
    host.limit_models(sh.ModelLimits(seconds_per_block=10, seconds_in_all=60))
    print(f"the plan allows {plan.paces.at_n0:,} answers now")

    say("three teams submit models fitted on their own records")
    submitted = {f"team-{own}": fit(records(own, random)) for own in (10, 40, 4_000)}
    board = {}
    for team, weights in submitted.items():
        session = host.session(analyst=team)
        board[team] = session.ask(sh.accuracy(linear(weights), **ABOUT), key=f"{team}/1")
        print(f"{team:10} {board[team]}")

    say(f"a fourth submits {GUESSES} random models and lets the better ones vote")
    session = host.session(analyst="guesser")
    guesses = random.normal(size=(GUESSES, len(TRUE)))
    scores = session.ask_many([sh.accuracy(linear(guess), **ABOUT) for guess in guesses])
    signs = np.sign([score.value - 0.5 for score in scores])
    submitted["guesser"] = signs @ guesses
    board["guesser"] = session.ask(sh.accuracy(linear(submitted["guesser"]), **ABOUT))
    print(f"guesser    {board['guesser']}   after {GUESSES} answers for its random models")

    say("a fifth submits a file that draws random numbers")
    before = session.budget.spent
    try:
        host.session(analyst="cheat").ask(sh.accuracy(cheat(), **ABOUT))
        raise AssertionError("the file was accepted")
    except sh.InvalidInput as refusal:
        print(refusal)
    assert session.budget.spent == before  # refused before a record was read, so not charged

    say("the winner: one selection among all files, for the price of 16 answers")
    jury = host.session(analyst="jury")
    choice = jury.ask(
        sh.select(
            {team: sh.accuracy(linear(weights), **ABOUT) for team, weights in submitted.items()},
            best="highest",
            price=16,
        )
    )
    print(choice)
    print(jury.budget)

    say("a million fresh records, which only this program has")
    fresh = records(1_000_000, random)
    block, y = fresh[FEATURES].to_numpy(), fresh["y"].to_numpy()
    truth = {
        team: float(((block @ weights > 0) == y).mean()) for team, weights in submitted.items()
    }
    for team, score in board.items():
        held = score.interval[0] <= truth[team] <= score.interval[1]
        print(f"{team:10} {truth[team]:.3f}   {'within' if held else 'outside'} its interval")
        assert held
    short = max(truth.values()) - truth[choice.name]
    print(f"the winner is {short:.3f} short of the best; the promise was {choice.width:.3f}")
    assert short <= choice.width

    say("verify: replay every entry, charge, width and byte; no file is needed")
    print(host.verify())
    host.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
