"""Kernels are compiled when much is asked of them: once, on all cores, and kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stratalog

pytestmark = pytest.mark.slow  # every test compiles in a folder of its own

FIND = ("stratalog.kernels.relation.find", "find")
MERGE = ("stratalog.kernels.relation.merge", "merge")
SETUP = """
import json, os, sys
from stratalog.kernels import cache, compiling, every, jit
every.import_all()
"""


def environment(folder, **others):
    usual = {k: v for k, v in os.environ.items() if not k.startswith(("STRATALOG_", "NUMBA_"))}
    return usual | {"STRATALOG_CACHE_DIR": str(folder)} | others


def run(folder, code, **others):
    """Run code with an empty cache, or what is in the folder; return what it printed, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", SETUP + code],
        env=environment(folder, **others),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with the kernels of `merge`, and how many they are."""
    folder = tmp_path_factory.mktemp("kernels")
    code = f"""
told = []
compiling.WATCHERS[:] = [lambda done, total: told.append([done, total])]
assert compiling.compile_kernels([{MERGE}])
print(json.dumps(told))
"""
    return folder, run(folder, code)


def test_whoever_waits_is_told_how_many_of_how_many_are_compiled(filled):
    _, told = filled
    total = told[0][1]
    assert told[0] == [0, total]
    assert told[-1] == [total, total]
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_only_what_a_kernel_calls_is_compiled(filled):
    folder, told = filled
    kept = {path.name.rsplit(".", 2)[0] for path in folder.glob("*/*.kernel")}
    assert "relation.merge.merge" in kept
    assert not any(name.startswith(("closure.", "plan.", "numbers.")) for name in kept)
    assert len(kept - {name for name in kept if name.startswith("intrinsics.")}) == told[0][1]


def test_the_next_process_loads_what_was_compiled(filled):
    folder, _ = filled
    code = f"""
from numba.core import event
from stratalog.kernels.versions import compile_versions
with event.install_recorder("numba:compile") as compiled:
    compile_versions({MERGE})
print(json.dumps([compiling.compile_kernels([{MERGE}]), len(compiled.buffer)]))
"""
    assert run(folder, code) == [True, 0]


def test_a_damaged_file_is_compiled_anew(filled, tmp_path):
    folder, _ = filled
    (inner,) = folder.iterdir()
    copy = tmp_path / inner.name
    copy.mkdir(mode=0o700)
    for path in inner.iterdir():
        data = path.read_bytes()
        if path.name.startswith("relation.merge.merge."):
            data = data[:-9] + b"damaged!!"
        (copy / path.name).write_bytes(data)
    code = f"""
from stratalog.kernels.compiled import COMPILED
from stratalog.kernels.versions import compile_versions
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    compile_versions({MERGE})
print(json.dumps(len(compiled.buffer) // 2))
"""
    assert run(tmp_path, code) == 1  # its callees are loaded


def test_a_change_of_a_callee_in_a_package_compiles_its_caller_anew(tmp_path):
    source = tmp_path / "src" / "stratalog"
    shutil.copytree(Path(stratalog.__file__).parent, source)
    code = f"""
from numba.core import event
compiling.MAX_PROCESSES = 1
with event.install_recorder("numba:compile") as compiled:
    assert compiling.compile_kernels([{FIND}])
print(json.dumps(len(compiled.buffer) // 2))
"""
    own = {"PYTHONPATH": str(source.parent)}
    first = run(tmp_path / "kept", code, **own)
    assert first > 1
    assert run(tmp_path / "kept", code, **own) == 0
    with (source / "kernels" / "relation" / "rows.py").open("a") as callee:
        callee.write("# changed\n")
    assert run(tmp_path / "kept", code, **own) == first


def test_two_processes_that_start_together_compile_nothing_twice(tmp_path):
    code = (
        SETUP
        + f"""
from numba.core import event
compiling.MAX_PROCESSES = 1
sys.stdin.read()
with event.install_recorder("numba:compile") as compiled:
    assert compiling.compile_kernels([{MERGE}])
print(json.dumps(sorted({{str(each.data["dispatcher"]) for _, each in compiled.buffer}})))
"""
    )
    pair = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment(tmp_path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for each in pair:
        each.stdin.close()
    first, second = (set(json.loads(each.stdout.read())) for each in pair)
    for each in pair:
        each.stdout.close()
        assert each.wait() == 0
    assert first | second
    assert not first & second


def test_kernels_that_processes_leave_are_compiled_here(tmp_path):
    code = f"""
from stratalog.kernels import compiler_process
compiler_process.sys.executable = "/bin/true"
assert compiling.compile_kernels([{MERGE}])
print(json.dumps(compiling.is_there({MERGE})))
"""
    assert run(tmp_path, code) is True


def test_no_process_is_left_behind_by_one_that_is_killed(tmp_path):
    code = (
        SETUP
        + """
from threading import Thread
def tell(done, total):
    if done:
        print(json.dumps(done), flush=True)
compiling.WATCHERS[:] = [tell]
compiling.compile_kernels(every.all_kernels())
"""
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment(tmp_path), stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()  # kernels are being compiled
        children = children_of(process.pid)
        process.kill()
    assert children
    for child in children:
        wait_until_gone(child)


def children_of(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("this system does not list the children of a process")
    return [int(each) for each in path.read_text().split()]


def wait_until_gone(pid):
    """Wait for the end of a process that is no child of ours."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    import select

    ended, _, _ = select.select([descriptor], [], [], 60)
    os.close(descriptor)
    assert ended, f"process {pid} goes on"


@pytest.mark.parametrize("last", [4_000, 60_000])
def test_ctrl_c_ends_the_wait_for_kernels_and_the_update_is_undone(last, tmp_path):
    code = f"""
last = {last}
"""
    code += """
import signal
import stratalog as sl
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
kb = sl.materialise("q(?x, ?z) :- p(?x, ?y), p(?y, ?z) .", {"p": [(1, 2)]}, progress=False)
jit.MIN_BUDGET_SECONDS, jit.BUDGET_SECONDS_PER_KERNEL = 0, 0
told = []
def press_once(done, total):
    told.append(done)
    if len(told) == 1:
        signal.raise_signal(signal.SIGINT)
compiling.WATCHERS[:] = [press_once]
try:
    kb.update(insert={"p": [(n, n + 1) for n in range(2, last)]})
    stopped = False
except KeyboardInterrupt:
    stopped = True
print(json.dumps([stopped, len(kb["p"]), len(kb["q"]), sum(told)]))
"""
    assert run(tmp_path, code) == [True, 1, 0, 0]
