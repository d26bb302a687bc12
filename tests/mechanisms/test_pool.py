"""The pool of noise: oldest first, nothing twice or shared, nothing made while somebody waits."""

from __future__ import annotations

import ast
import copy
import itertools
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import surehold
from surehold.errors import InvalidInput
from surehold.mechanisms import SystemNoise, noise, system_noise

SOURCE = Path(surehold.__file__).parent
BATCH = 1024  # what a pool makes ahead
LOW = BATCH // 2


@pytest.fixture
def counted(monkeypatch):
    """A sampler that counts 0, 1, 2, ..., and the threads in which it was called."""
    numbers, threads = itertools.count(), []

    def sampler(scale, bits):
        assert scale == noise.SCALE
        threads.append(threading.get_ident())
        return next(numbers)

    monkeypatch.setattr(noise, "discrete_gaussian", sampler)
    return threads


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.usefixtures("counted")
def test_oldest_first_and_each_once():
    pool = SystemNoise()
    drawn = pool.draw(3) + pool.draw(0) + pool.draw(LOW - 3)
    assert drawn == list(range(LOW))


def test_a_draw_makes_nothing_when_the_pool_has_enough(counted):
    pool, me = SystemNoise(), threading.get_ident()
    pool.fill()
    assert counted.count(me) == BATCH
    for _ in range(3):
        pool.draw(LOW + 1)  # below the mark: somebody else fills
        wait_for(lambda: len(pool._pool) > LOW + 1 and not pool._refilling)
    assert counted.count(me) == BATCH
    assert len(counted) > BATCH


def test_the_pool_is_filled_by_whole_batches(counted):
    pool = SystemNoise()
    assert pool.draw(2 * BATCH + 5) == list(range(2 * BATCH + 5))
    assert counted.count(threading.get_ident()) == 3 * BATCH
    pool.fill()
    assert counted.count(threading.get_ident()) == 3 * BATCH  # it was not low
    with pytest.raises(InvalidInput, match="count"):
        pool.draw(-1)


def test_without_a_pool_each_draw_makes_what_it_gives(counted, monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", None)  # it needs none
    source = SystemNoise(ahead=0)
    source.fill()
    assert source.draw(3) + source.draw(0) + source.draw(1) == [0, 1, 2, 3]
    assert len(counted) == 4


def test_without_threads_the_next_draw_fills(counted, monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    pool = SystemNoise()
    assert pool.draw(BATCH) + pool.draw(1) == list(range(BATCH + 1))
    assert set(counted) == {threading.get_ident()}


@pytest.mark.usefixtures("counted")
def test_a_refill_that_fails_is_tried_again(monkeypatch):
    failures = []
    monkeypatch.setattr(threading, "excepthook", failures.append)
    pool = SystemNoise()
    pool.fill()
    with monkeypatch.context() as patch:
        patch.setattr(noise, "_sample", lambda count: 1 / 0)
        pool.draw(BATCH)
        wait_for(lambda: failures and not pool._refilling)
        with pytest.raises(ZeroDivisionError):
            pool.draw(1)
    assert pool.draw(1) == [BATCH]


def test_many_threads_never_share_a_draw():
    pool, drawn = SystemNoise(), []

    def work():
        for count in (1, 2, 3, 50) * 15:
            drawn.extend(pool.draw(count))  # append and extend are atomic

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == len(set(drawn)) == 4 * 15 * 56


def test_nothing_of_a_draw_is_shown_or_copied():
    pool = SystemNoise()
    pool.draw(1)
    assert repr(pool) == "SystemNoise()"
    assert system_noise() is system_noise()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="never copied"):
            attempt(pool)


FORK = """
import os, sys, time
from surehold.mechanisms import SystemNoise, noise, system_noise
pools = [system_noise(), SystemNoise()]
for pool in pools:
    pool.draw(600)  # so few are left that a thread is filling while we fork
if "--unprotected" in sys.argv:
    noise._POOLS.clear()
    while any(pool._refilling for pool in pools):  # the child might inherit a lock that is held
        time.sleep(0.001)
read, write = os.pipe()
child = os.fork()
drawn = [str(z) for pool in pools for z in pool.draw(20)]
if child == 0:
    os.write(write, " ".join(drawn).encode())
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
theirs = os.read(read, 100_000).decode().split()
assert len(set(drawn)) == len(set(theirs)) == 40
print(len(set(drawn) & set(theirs)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.parametrize(("flag", "shared"), [("", "0"), ("--unprotected", "40")])
def test_a_forked_child_draws_its_own(flag, shared):
    # In a process of its own: pytest's may have threads, which a fork had better not meet.
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, flag],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (run.stdout.strip(), run.stderr) == (shared, "")


def test_only_this_module_draws():
    """Ids may come from uuid; random numbers only from the module of the noise.

    The lab makes up records, and its noise for these can be repeated. It is a surface: by the
    layers that import-linter holds nothing a dataset runs on can import it.
    """

    def random_names(path):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Attribute):
                yield f"{getattr(node.value, 'id', '')}.{node.attr}"

    def is_random(name):
        root, _, rest = name.partition(".")
        return (
            root in {"secrets", "random"}
            or name in {"os.urandom", "os.getrandom"}
            or (root in {"np", "numpy"} and rest.split(".")[0] == "random")
        )

    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(map(is_random, random_names(path)))
    }
    # Tokens and attempts to sign in are secrets, not noise; the lab has nothing to keep.
    drawing = {path for path in found if not path.startswith("lab/")}
    assert drawing == {"mechanisms/noise.py", "server/attempt.py", "server/tokens.py"}
    assert "lab/seeded_noise.py" in found
