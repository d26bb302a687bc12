"""Where the system lacks a call that only Linux has, something else does its work.

macOS is not at hand in every test run, so a process without those calls stands in for it.
"""

from __future__ import annotations

import ast
import subprocess
import sys

from support.documents import ROOT

SOURCE = ROOT / "src" / "surehold"
# https://docs.python.org/3/library/os.html, "Availability: Linux", or not macOS.
MISSING = (
    *("eventfd", "eventfd_read", "eventfd_write", "EFD_CLOEXEC", "EFD_NONBLOCK"),
    *("memfd_create", "MFD_CLOEXEC"),
    *("posix_fadvise", "posix_fallocate", "fdatasync", "copy_file_range", "splice"),
    *("sched_getaffinity", "sched_setaffinity", "sched_setscheduler", "sched_getscheduler"),
    *("getrandom", "pidfd_open"),
    *("O_DIRECT", "O_NOATIME", "O_PATH", "O_TMPFILE"),
)
# Of newer Pythons, or what the standard library itself may have taken before it could be removed.
NEVER_USED = {
    *("getxattr", "listxattr", "removexattr", "setxattr"),
    *("getresuid", "setresuid", "setns", "timerfd_create", "unshare"),
}

SCRIPT = """
import builtins, io, os, sys
for name in {missing}:
    if hasattr(os, name):
        delattr(os, name)
opened = io.open
def without_proc(file, *args, **named):
    is_ours = str(file).startswith(os.path.dirname(sys.argv[1]))  # tests may be there
    if str(file).startswith(("/proc", "/dev/shm")) and not is_ours:
        raise FileNotFoundError(2, "No such file or directory", file)
    return opened(file, *args, **named)
io.open = builtins.open = without_proc

import surehold as sh
plan = sh.plan(n0=200, n=2000, alpha=0.3, beta=0.1)
with sh.create(sys.argv[1], plan=plan, columns={{"age": "int", "ill": "bool"}}) as clinic:
    clinic.append([{{"age": i % 90, "ill": i % 3 == 0}} for i in range(2000)])
    session = clinic.session()
    model = sh.accuracy(lambda x: x[:, 0] > 45, features=["age"], target="ill")
    print(session.ask("age > 45").round, session.ask(model).round)
    clinic.verify()
"""


def used_of_os():
    """Names of the module os that the source says."""
    return {
        node.attr
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
    }


def test_asking_without_the_calls_of_linux(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(missing=MISSING), str(tmp_path / "clinic")],
        capture_output=True,
        text=True,
    )
    assert ended.stdout == "2000 2000\n", ended.stderr


def test_nothing_else_of_linux_is_used():
    assert "open" in used_of_os()
    assert not used_of_os() & NEVER_USED
