"""Faults that come while a store is changed, or between: kills, full disks, Ctrl-C, corruptions.

Each function brings one fault about in a process of its own and fails unless what is left is right.
It returns whether the fault took place: a process that ends before it is killed is tried again.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import stratalog as sl
from stratalog.pipeline.store import Store
from tests.faults.worlds import Step, World, any_of, files_of
from tests.oracle.living import Stop
from tests.unit.pipeline import test_store_crash as crash

HIT = crash.KILLED  # the status of a process in which the fault took place
MOST_OPERATIONS = 40  # of a step, on files
ATTEMPTS = 8
REFUSED = {"T101", "T102", "T103", "T104", "T108"}  # what a damaged store may be refused with


def until_hit(chosen: random.Random, attempt: Callable[[float], int]) -> bool:
    """Try moments between 0 and 1 until the fault comes before the end; return whether it did."""
    most = 1.0
    for _ in range(ATTEMPTS):
        moment = chosen.uniform(0, most)
        status = attempt(moment)
        assert status in (0, HIT), f"the process ended with {status}"
        if status == HIT:
            return True
        most = moment
    return False


# -- kills


def do(step: Step, path: Path) -> None:
    step.do(sl.open(path), path)


def killed_at(step: Step, path: Path, operation: int) -> None:
    crash.at_file_operation(operation, lambda: os._exit(HIT))
    do(step, path)


def kill(world: World, chosen: random.Random) -> bool:
    """End a process before one of its file operations, or by SIGKILL at any time."""
    step = any_of(chosen, world.steps)
    path = world.folder / "killed"

    def attempt(moment: float) -> int:
        world.copy(step, path.name)
        operation = 1 + int(moment * MOST_OPERATIONS)
        return int(crash.ending(crash.fork(killed_at, step, path, operation)))

    def attempt_by_signal(moment: float) -> int:
        world.copy(step, path.name)
        child = crash.fork(do, step, path)
        time.sleep(moment * 0.2)
        os.kill(child, signal.SIGKILL)
        status = crash.ending(child)
        return HIT if status == -signal.SIGKILL else int(status)

    is_hit = until_hit(chosen, attempt if chosen.random() < 0.75 else attempt_by_signal)
    world.check_whole(step, path)
    world.check_going_on(step, path)
    return is_hit


# -- full disks


def refused_as_full(step: Step, path: Path, limit: int, operation: int) -> None:
    """Do a step with files that may have `limit` bytes, or where one operation fails."""
    kb = sl.open(path)
    before, counts = files_of(path), kb.counts()
    if operation:
        stop = Stop(operation, OSError(errno.ENOSPC, "No space left on device"))
        for name in ("open", "fsync", "link"):
            patch.object(os, name, stop.before(getattr(os, name))).start()
    else:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        step.do(kb, path)
    except sl.StoreError as error:
        patch.stopall()
        assert error.code == "T106", error  # noqa: PT017  # the process ends here
        assert kb.counts() == counts or kb.version == step.after
        if not operation:
            assert files_of(path) == before
        os._exit(HIT)


def fill_disk(world: World, chosen: random.Random) -> bool:
    """Let files not grow beyond a size, or an operation fail for want of space."""
    step = chosen.choice([s for s in world.steps if s.update is not None] or world.steps)
    path = world.folder / "full"
    is_of_operations = chosen.random() < 0.4
    largest = 2000 + max(file.stat().st_size for file in files_of(step.start))

    def attempt(moment: float) -> int:
        world.copy(step, path.name)
        limit = int(moment * largest)
        operation = 1 + int(moment * MOST_OPERATIONS) if is_of_operations else 0
        return int(crash.ending(crash.fork(refused_as_full, step, path, limit, operation)))

    is_hit = until_hit(chosen, attempt)
    world.check_whole(step, path)
    world.check_going_on(step, path)
    return is_hit


# -- Ctrl-C


def interrupted(world: World, step: Step, path: Path, moment: float, is_timed: bool) -> None:
    """Press Ctrl-C while a step is done: memory and store agree, and go on together."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    kb = sl.open(path)
    is_hit = False
    try:
        if is_timed:
            signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
            signal.setitimer(signal.ITIMER_REAL, max(moment * 0.1, 1e-4))
        else:
            operation = 1 + int(moment * MOST_OPERATIONS)
            crash.at_file_operation(operation, lambda: signal.raise_signal(signal.SIGINT))
        try:
            step.do(kb, path)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        is_hit = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert kb.version == Store.open(path).version
    assert kb.counts() == world.states[kb.version]
    if kb.version == step.before and step.update is not None:
        step.do(kb, path)
        assert kb.counts() == world.states[step.after]
    os._exit(HIT if is_hit else 0)


def interrupt(world: World, chosen: random.Random) -> bool:
    """Press Ctrl-C at a file operation, or at any time."""
    step = any_of(chosen, world.steps)
    path = world.folder / "interrupted"
    is_timed = chosen.random() < 0.5

    def attempt(moment: float) -> int:
        world.copy(step, path.name)
        child = crash.fork(interrupted, world, step, path, moment, is_timed)
        return int(crash.ending(child))

    is_hit = until_hit(chosen, attempt)
    world.check_whole(step, path)
    world.check_going_on(step, path)
    return is_hit


# -- corruptions


def flip(file: Path, chosen: random.Random) -> None:
    content = bytearray(file.read_bytes())
    if content:
        content[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
    file.write_bytes(content)


def truncate(file: Path, chosen: random.Random) -> None:
    os.truncate(file, chosen.randrange(file.stat().st_size + 1) // chosen.choice((1, 1, 1000)))


def overwrite(file: Path, chosen: random.Random) -> None:
    content = bytearray(file.read_bytes())
    begin = chosen.randrange(len(content) + 1)
    content[begin : begin + 16] = chosen.randbytes(16)
    file.write_bytes(content)


def extend(file: Path, chosen: random.Random) -> None:
    file.write_bytes(file.read_bytes() + chosen.randbytes(chosen.randrange(1, 20)))


def remove(file: Path, _: random.Random) -> None:
    file.unlink()


def swap(file: Path, chosen: random.Random) -> None:
    other = chosen.choice(sorted(file.parent.iterdir()))
    if other.is_file() and other != file:
        spare = file.with_name("spare")
        file.rename(spare)
        other.rename(file)
        spare.rename(other)


def put_in_place(file: Path, chosen: random.Random) -> None:
    other = chosen.choice(sorted(file.parent.iterdir()))
    if other.is_file() and other != file:
        file.write_bytes(other.read_bytes())


DAMAGES = (flip, flip, flip, truncate, overwrite, extend, remove, swap, put_in_place)


def corrupt(world: World, chosen: random.Random) -> bool:
    """Damage a file: what is read is right or refused, and an update makes nothing worse."""
    step = chosen.choice(world.steps)
    path = world.copy(step, "corrupted")
    groups = [[f for f in files_of(path) if f.parent.name == n] for n in ("data", "versions")]
    groups += [[f for f in files_of(path) if f.parent == path]]
    before = [(file, file.read_bytes()) for file in files_of(path)]
    while [(file, file.read_bytes()) for file in files_of(path)] == before:
        file = chosen.choice(chosen.choice([group for group in groups if group]))
        chosen.choice(DAMAGES)(file, chosen)
    assert crash.ending(crash.fork(check_damaged, world, step, path)) == 0, file
    return True


def readable(world: World, path: Path, numbers: list[int]) -> set[int]:
    """Return the versions that can be read, all of which are right."""
    found = set()
    for number in numbers:
        try:
            counts = sl.open(path, version=number).counts()
        except sl.StoreError as error:
            assert error.code in REFUSED, error  # noqa: PT017  # others may be right
        else:
            assert counts == world.states[number], number
            found.add(number)
    return found


def check_damaged(world: World, step: Step, path: Path) -> None:
    numbers = Store.open(step.start).numbers()
    before = readable(world, path, numbers)
    try:
        kb = sl.open(path)
        assert kb.version == step.before, kb.version
        assert kb.counts() == world.states[step.before]
        step.do(kb, path)
        assert sl.open(path).counts() == world.states[step.after]
    except sl.StoreError as error:
        assert error.code in REFUSED, error  # noqa: PT017  # it may also do all
    left = readable(world, path, numbers)
    if before and (step.update is None or world.setting.keep is not None):
        before &= set(Store.open(path).numbers())
    assert before <= left, (before, left)


FAULTS: dict[str, Callable[[World, random.Random], bool]] = {
    "kills": kill,
    "full-disks": fill_disk,
    "interrupts": interrupt,
    "corruptions": corrupt,
}
