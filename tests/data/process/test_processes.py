"""Children: what they can't do to us, and that none of them is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeRegressor

from surehold.data.process import crew as crews
from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.errors import InvalidInput
from surehold.models.payload import payload_of
from surehold.queries import Schema

FEATURES = Schema.of({"x": "float"})
FRAME = pl.DataFrame({"x": np.arange(200.0)})
LIMITS = ModelLimits(seconds_per_block=1.0, seconds_in_all=20.0)


def runner_of(model, want="scores", limits=LIMITS, **more):
    return ModelRunner(payload_of(model), FEATURES, want, limits, **more)


def process_of(runner):
    return runner._crew.children[0]._process.pid


def is_alive(pid):
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    if sys.platform != "linux":
        told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
        return told.stdout.strip()[:1] not in ("", "Z")
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pid, seconds=5.0):
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


def noisy(block):
    import sys

    with contextlib.suppress(OSError, ValueError):  # closed by an earlier call
        for _ in range(300):
            os.write(1, b"x" * 1000)
            os.write(2, b"y" * 1000)
            sys.stdout.write("record" * 100)
        sys.stdin.read()
    sys.stdout.close()
    sys.stderr.close()
    for handle in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.close(handle)
    return block[:, 0]


def test_what_a_model_prints_goes_nowhere(capfd):
    with runner_of(noisy) as runner:
        results = list(runner.evaluate([FRAME, FRAME]))
    assert all((result.values[:, 0] == FRAME["x"].to_numpy()).all() for result in results)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (lambda block: block.mean(), "a number for each of 3 records"),
        (lambda block: block[:-1, 0], r"shape \(2,\)"),
        (lambda block: np.hstack([block, block]), r"shape \(3, 2\)"),
        (lambda block: ["a"] * len(block), "numbers"),
        (lambda block: (x for x in block), "generator"),
        (lambda block: os._exit(0), "ends its process"),
        (lambda block: time.sleep(60), "1 seconds"),
    ],
)
def test_models_that_are_refused_by_made_up_rows(model, says):
    with runner_of(model) as runner, pytest.raises(InvalidInput, match=says):
        runner.probe()


class Unloadable:
    def __init__(self, how):
        self.how = how

    def __reduce__(self):
        return (self.how, ("no_such_module_anywhere",))

    def __call__(self, block):
        return block


@pytest.mark.parametrize(
    ("how", "says"), [(__import__, "no_such_module_anywhere"), (sys.exit, "SystemExit")]
)
def test_models_that_do_not_load_are_refused(how, says):
    with runner_of(Unloadable(how)) as runner, pytest.raises(InvalidInput, match=says):
        runner.probe()


def test_models_that_raise_on_made_up_rows_are_not_refused():
    def picky(block):
        if (block < 2).any():
            raise KeyError(block[0])
        return block[:, 0]

    with runner_of(picky) as runner:
        assert runner.probe().raises
        [result] = runner.evaluate([FRAME])
    assert result.known.tolist() == [False, False] + [True] * 198


def test_children_are_kept_for_the_same_model_and_closed_when_there_are_many():
    def first(block):
        return block[:, 0]

    with runner_of(first) as runner:
        list(runner.evaluate([FRAME]))
        kept = process_of(runner)
    with runner_of(first) as runner:
        list(runner.evaluate([FRAME]))
        assert process_of(runner) == kept
        # One that is busy is not given away.
        with runner_of(first) as other:
            list(other.evaluate([FRAME]))
            assert process_of(other) != kept
    with runner_of(first, want="labels") as runner:
        runner.probe()
        assert process_of(runner) != kept
    crews.close_idle()
    assert gone(kept)


@pytest.mark.skipif(crews.most_children() < 2, reason="one core, one child")
def test_a_second_child_helps_with_much_to_do(monkeypatch):
    monkeypatch.setattr(crews, "_WORTH_ANOTHER", 0.05)

    def slow(block):
        time.sleep(0.02)
        return block[:, 0]

    with runner_of(slow, cell=8) as runner:
        [result] = runner.evaluate([FRAME.head(100)])
        [result] = runner.evaluate([pl.concat([FRAME] * 4)])
        assert all(child.is_running for child in runner._crew.children)
    assert (result.values[:, 0] == np.tile(FRAME["x"].to_numpy(), 4)).all()


@pytest.fixture
def _interruptible():
    """Python leaves interrupts ignored if they were when it started, as in a background job."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_ends_the_child_and_goes_on(tmp_path):
    begun = tmp_path / "begun"

    def slow(block):
        if block.max() > 100:
            begun.touch()
            time.sleep(600)
        return block[:, 0]

    def interrupt():
        # Not before: Polars handles signals in its own way while it works.
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    with runner_of(slow, limits=ModelLimits(seconds_per_block=600.0)) as runner:
        runner.probe()
        pid = process_of(runner)
        waiting = threading.Thread(target=interrupt, daemon=True)
        waiting.start()
        with pytest.raises(KeyboardInterrupt):
            list(runner.evaluate([FRAME]))
        waiting.join()
        assert gone(pid)
        [result] = runner.evaluate([FRAME.head(5)])
        assert result.known.all()


def test_an_evaluation_that_is_left_ends_its_child():
    with runner_of(lambda block: block[:, 0]) as runner:
        results = runner.evaluate(FRAME for _ in range(50))
        next(results)
        with pytest.raises(InvalidInput, match="one evaluation at a time"):
            next(runner.evaluate([FRAME]))
        results.close()
        assert len(list(runner.evaluate([FRAME]))) == 1


PARENT = """
import sys, time, os
import numpy as np, polars as pl
from surehold.models.payload import payload_of
from surehold.data.process.runner import ModelLimits, ModelRunner
from surehold.queries import Schema

def model(block):
    if block.max() > 0:
        (lambda x: [0 for _ in iter(int, 1)])(0)  # for ever, and never lets another thread run
    return block[:, 0]

runner = ModelRunner(payload_of(model), Schema.of({"x": "float"}), "scores", ModelLimits(50.0))
runner.probe()
print(runner._crew.children[0]._process.pid, flush=True)
list(runner.evaluate([pl.DataFrame({"x": [1.0]})]))
"""


def test_a_child_dies_with_its_parent():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    time.sleep(0.3)
    assert is_alive(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(child)


def handles():
    return len(os.listdir("/dev/fd"))  # noqa: PTH208


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    shared = Path("/dev/shm")
    crews.close_idle()
    before, open_before = set(shared.glob("*")), handles()
    with runner_of(lambda block: block[:, 0]) as runner:
        list(runner.evaluate([FRAME]))
        pid = process_of(runner)
    crews.close_idle()
    assert gone(pid)
    assert handles() == open_before
    assert set(shared.glob("*")) == before
    assert list(tmp_path.iterdir()) == []


def test_a_fork_does_not_own_the_children():
    with runner_of(lambda block: block[:, 0]) as runner:
        runner.probe()
        pid = os.fork()
        if pid == 0:
            try:
                list(runner.evaluate([FRAME]))
            except InvalidInput:
                os._exit(7)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        [result] = runner.evaluate([FRAME])
        assert result.known.all()


def test_the_child_does_not_run_the_script_of_its_parent(tmp_path):
    script = tmp_path / "script.py"
    (tmp_path / "beside.py").write_text("def half(block):\n    return block[:, 0] / 2\n")
    (tmp_path / "numpy.txt").write_text("")
    script.write_text(
        "import os\nos.write(1, b'once ')\n"
        "import polars as pl, beside\n"
        "from surehold.models.payload import payload_of\n"
        "from surehold.data.process.runner import ModelRunner\n"
        "from surehold.queries import Schema\n"
        "def model(block):\n    return beside.half(block)\n"
        "os.chdir('/')\n"
        "with ModelRunner(payload_of(model), Schema.of({'x': 'float'}), 'scores') as runner:\n"
        "    [result] = runner.evaluate([pl.DataFrame({'x': [3.0]})])\n"
        "os.write(1, repr(result.values.tolist()).encode())\n"
    )
    command = [sys.executable, str(script)]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (finished.stdout, finished.stderr) == ("once [[1.5]]", "")


@pytest.mark.parametrize("name", ["seconds_per_block", "seconds_in_all", "memory_bytes"])
def test_limits_are_checked(name):
    with pytest.raises(InvalidInput, match=name):
        ModelLimits(**{name: 0})


def test_models_of_one_kind_take_turns_in_the_same_processes(monkeypatch):
    started = []
    real = crews.Child.start
    monkeypatch.setattr(crews.Child, "start", lambda self: started.append(self) or real(self))
    crews.close_idle()
    x = np.arange(200.0)
    for factor in range(1, 8):
        model = DecisionTreeRegressor().fit(x[:, None], x * factor)
        with runner_of(model) as runner:
            [result] = runner.evaluate([FRAME])
        assert result.values[:, 0] == pytest.approx(model.predict(x[:, None]), abs=1e-9)
    assert len(started) == 2
    for factor in range(1, 4):  # a process would go on with modules that may have been edited
        with runner_of(lambda matrix, factor=factor: matrix[:, 0] * factor) as runner:
            [result] = runner.evaluate([FRAME])
        assert (result.values[:, 0] == x * factor).all()
    assert len(started) == 5
