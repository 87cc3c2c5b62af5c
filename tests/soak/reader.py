"""Another process that reads the store: `python -m tests.soak.reader STORE WRITERS SECONDS TURNS`.

Its answer is a line of JSON: what was done, what was wrong, how memory and open files grew.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.soak.actors import reopen
from tests.soak.gauge import Gauge
from tests.soak.running import Run


def main() -> None:
    """Open the store over and over, then tell what was seen."""
    path, writers, seconds, turns = sys.argv[1:]
    run = Run(float(seconds) or None, int(turns))
    gauge = Gauge()
    thread = run.repeat("openings", reopen(Path(path), int(writers), run.count))
    while thread.is_alive():
        gauge.look()
        time.sleep(0.1)
    told = {"done": run.done, "problems": run.problems, "n": run.n_problems}
    print(json.dumps({**told, "growth": gauge.growth()}))  # noqa: T201  # the answer


if __name__ == "__main__":
    main()
