"""One measurement in a process of its own.

    python -m stratalog_bench.harness.worker PLACE FOLDER SETTINGS

PLACE is `module:function`, below `stratalog_bench`; the function gets the folder, a function that
hears its stages, and the JSON object SETTINGS as keywords. Each line on standard output is a JSON
object: {"stage": ...} when a stage begins, at last {"result": ...} or {"left_out": reason}.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from stratalog_bench.failures import Inexpressible

Measure = Callable[..., dict[str, Any]]


def main(place: str, folder: str, settings: str) -> None:
    """Measure, tell how it went, and end this process."""
    answers = _private_stdout()

    def tell(**message: Any) -> None:  # noqa: ANN401  # what JSON can hold
        os.write(answers, json.dumps(message).encode() + b"\n")

    tell(stage="starting")
    measure = function_at(place)
    try:
        found = measure(Path(folder), lambda stage: tell(stage=stage), **json.loads(settings))
        tell(result=found)
    except Inexpressible as reason:
        tell(left_out=str(reason))
    sys.stderr.flush()
    os._exit(0)  # taking a large heap apart would only cost time


def function_at(place: str) -> Measure:
    """Return the function that measures, imported now."""
    module, _, name = place.partition(":")
    found: Measure = getattr(import_module(f"stratalog_bench.{module}"), name)
    return found


def _private_stdout() -> int:
    """Return a copy of standard output, and let what libraries print go to standard error."""
    copy = os.dup(1)
    os.dup2(2, 1)
    return copy


if __name__ == "__main__":
    main(*sys.argv[1:])
