"""Updates, questions, saves, publications and a stream together, in threads and processes.

    python -m tests.soak --minutes 20

Every answer must be that of one version, and no call may fail. Memory and open files of each Python
process are compared between the second third of the run and its last sixth: the least memory may be
10 % and 32 MiB more, the least number of open files 8 more. The last line tells what was done; the
exit status is 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import SPARK_SETTINGS
from tests.soak.running import Run
from tests.soak.soak import Soak


def last_line(soak: Soak, seconds: float) -> str:
    """Return what was done, what was wrong, and what grew."""
    run = soak.run
    parts = [f"{n:,} {what}" for what, n in sorted(run.done.items())]
    grown = [
        f"{where} {g['memory'] >> 20} -> {g['memory at the end'] >> 20} MiB,"
        f" {g['files']} -> {g['files at the end']} files"
        for where, g in soak.growth.items()
        if g
    ]
    verdict = "passed" if not run.n_problems else f"FAILED, {run.n_problems:,} problems"
    return f"soak {verdict}: " + "; ".join([f"{seconds:.0f} s", ", ".join(parts), *grown])


def main() -> int:
    """Soak as long as asked for; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20, metavar="N")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="that read; 2")
    parser.add_argument("--no-stream", action="store_true", help="without Spark")
    options = parser.parse_args()
    session = None
    if not options.no_stream:
        from stratalog import spark

        session = spark.session("local[2]", SPARK_SETTINGS)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stratalog-soak-") as folder:
        run = Run(60 * options.minutes)
        soak = Soak(Path(folder), run, session, options.processes)
        soak.work()
        for problem in run.problems:
            print(problem)  # noqa: T201  # the answer
        print(last_line(soak, time.monotonic() - begun), flush=True)  # noqa: T201
    return 1 if run.n_problems else 0


if __name__ == "__main__":
    sys.exit(main())
