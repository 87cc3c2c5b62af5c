"""One store, read and written by all that can be at work on it, in threads and in processes."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import stratalog as sl
from tests.soak import actors, world
from tests.soak.gauge import Gauge, leaks
from tests.soak.running import Run

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds until a reader has answered after the end
UPDATES, STREAM = 0, 1  # writers


@dataclass
class Soak:
    """A soak in a folder: its knowledge bases, threads and processes."""

    folder: Path
    run: Run
    spark: Any = None  # a session, if there is to be a stream
    processes: int = 2
    growth: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.writers = 1 if self.spark is None else 2
        self.path = self.folder / "store"

    def work(self) -> None:
        """Do everything at once until the run is over; what was wrong is in the run."""
        begun = world.begun([UPDATES], [STREAM][: self.writers - 1])
        options = {"engine": "columnar", "progress": False}
        readers: list[subprocess.Popen[str]] = []
        with (
            sl.materialise(world.RULES, begun, store=self.path, **options) as kb,
            sl.materialise(world.RULES, world.begun([UPDATES]), **options) as unbound,
            sl.open(self.path, **options) as other,
        ):
            self.run.begun = time.monotonic()  # kernels are compiled
            updates = actors.Updates(kb, UPDATES)
            try:
                readers += [self._reader() for _ in range(self.processes)]
                with self._stream(kb) as feed:
                    threads = self._threads(kb, other, unbound)
                    threads.append(self.run.repeat("updates", updates))
                    self._wait(threads)
                self._hear(readers)
            finally:
                for reader in readers:
                    reader.kill()
            self._check_end(kb, [updates.step, *([] if feed is None else [feed.applied])])

    def _threads(
        self, kb: sl.KnowledgeBase, other: sl.KnowledgeBase, unbound: sl.KnowledgeBase
    ) -> list[threading.Thread]:
        """Start what reads and writes beside updates and stream."""
        repeat, writers = self.run.repeat, self.writers
        asked = [(kb, writers), (kb, writers), (other, writers), (other, writers), (unbound, 1)]
        questions = [actors.ask(*each, random.Random(n)) for n, each in enumerate(asked)]
        threads = [repeat("questions", question) for question in questions]
        return [
            *threads,
            repeat("publications", actors.publish(kb, self.folder, writers)),
            repeat("refreshes", actors.refresh(other)),
            repeat("openings", actors.reopen(self.path, writers, self.run.count)),
            repeat("drops", actors.drop(self.path)),
            repeat("unbound updates", actors.Updates(unbound, UPDATES)),
            repeat("saves", actors.save(unbound, self.folder, 1)),
        ]

    @contextmanager
    def _stream(self, kb: sl.KnowledgeBase) -> Iterator[actors.Feed | None]:
        """Run a stream that follows a feed; at the end it must have applied all of it."""
        if self.spark is None:
            yield None
            return
        feed = actors.Feed(self.folder / "feed", STREAM)

        def note(batch: Any) -> None:
            feed.note(batch)
            self.run.count("batches")

        stream = kb.stream(
            feed.folder.parent,
            output=self.folder / "told",
            emit=["c"],
            max_files=1,
            interval=0.1,
            on_batch=note,
            spark=self.spark,
        )
        with stream:
            thread = self.run.repeat("looks at the feed", feed)
            yield feed
            thread.join()
            while feed.applied < feed.step and stream.is_active:
                time.sleep(0.1)
            if feed.applied < feed.step:
                self.run.note(f"the stream ended after {feed.applied} of {feed.step} files")
        if told := feed.untold(self.folder / "told" / "c"):
            self.run.note(f"the stream's output leaves {told}")

    def _wait(self, threads: list[threading.Thread]) -> None:
        gauge = Gauge()
        while any(thread.is_alive() for thread in threads):
            gauge.look()
            time.sleep(0.1)
        self._note_growth("here", gauge.growth())

    def _note_growth(self, where: str, growth: dict[str, int]) -> None:
        self.growth[where] = growth
        for leak in leaks(growth):
            self.run.note(f"{where}: {leak}")

    def _reader(self) -> subprocess.Popen[str]:
        seconds = 0.0 if self.run.seconds is None else self.run.seconds
        arguments = [str(self.path), str(self.writers), str(seconds), str(self.run.turns)]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.soak.reader", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _hear(self, readers: list[subprocess.Popen[str]]) -> None:
        for number, reader in enumerate(readers):
            output, _ = reader.communicate(timeout=PATIENCE)
            if reader.returncode:
                self.run.note(f"reader {number} ended with status {reader.returncode}")
                continue
            told = json.loads(output.splitlines()[-1])
            for what, n in told["done"].items():
                self.run.count(f"{what} in processes", n)
            for problem in told["problems"]:
                self.run.note(f"reader {number}: {problem}")
            self._note_growth(f"reader {number}", told["growth"])

    def _check_end(self, kb: sl.KnowledgeBase, steps: list[int]) -> None:
        """The last version has every step that was taken, in memory and on disk."""
        wanted = [step % world.STEPS for step in steps]
        try:
            with sl.open(self.path, engine="columnar", progress=False) as again:
                for one in (kb, again):
                    found = world.steps_of(actors.whole(one), self.writers, one.version)
                    if found != wanted or one.version != 1 + sum(steps):
                        self.run.note(f"steps {found} of {wanted} are there at the end")
        except Exception as error:  # noqa: BLE001  # as of every turn
            self.run.note_error("the end", error)
