"""Constants with large numbers, as knowledge bases with millions of them have, interpreted."""

from __future__ import annotations

import os
import subprocess
import sys

MERGED = """
import numpy as np
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary

engine, pair = ColumnarEngine(Dictionary()), Predicate("r", 2)
rows = np.arange(2_000, dtype=np.uint32)
columns = [rows % 50 * np.uint32(80_000_000), rows]
for _ in range(2):
    engine.load(pair, [column.copy() for column in columns], rows.size)
print(engine.relation(pair).rows)
"""


def test_facts_are_found_again_by_interpreted_kernels():
    done = subprocess.run(
        [sys.executable, "-c", MERGED],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"STRATALOG_KERNELS": "interpreted"},
    )
    assert (done.stdout.strip(), done.returncode) == ("2000", 0), done.stderr
