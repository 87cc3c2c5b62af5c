"""How fast N-Triples become numbers: million triples per CPU second, all processes together.

python benchmarks/ingest.py [--triples N] [--repeats N] [--file FILE.nt] [-o FILE]

Prints one JSON object: Spark's reader, the local reader, and the bare parser with the text of each
term, which does less: it numbers nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox

from stratalog import spark as sessions
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.local import read_paths
from stratalog.pipeline.spark_read import read_spark

TARGET = 1 / 3
"""Of the bare parser's rate, what the reader on Spark must reach."""

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def lines(count: int) -> Iterator[str]:
    """Yield triples of people at universities: links, names with escapes, numbers."""
    made = random.Random(7)
    base = "http://www.University{}.edu/Department{}/"
    number = 0
    while number < count:
        place = base.format(number // 60_000, number // 3_000 % 20)
        subject = f"<{place}Student{number}>"
        yield f"{subject} <{TYPE}> <http://e.org/Student> .\n"
        yield f"{subject} <http://e.org/advisor> <{place}Professor{made.randrange(40)}> .\n"
        for _ in range(3):
            yield f"{subject} <http://e.org/takesCourse> <{place}Course{made.randrange(90)}> .\n"
        yield f'{subject} <http://e.org/name> "Student {number} \\"{made.randrange(9)}\\"" .\n'
        yield f'{subject} <http://e.org/age> "{made.randrange(18, 60)}"^^<{INTEGER}> .\n'
        yield f'{subject} <http://e.org/email> "Student{number}@Department.edu"@en .\n'
        number += 8


def cpu_seconds() -> float:
    """Return the CPU time of this process and all its descendants, those that ended included."""
    times: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        times[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ours = {os.getpid()}
    while more := {p for p, (parent, _) in times.items() if parent in ours} - ours:
        ours |= more
    return sum(times[p][1] for p in ours) / os.sysconf("SC_CLK_TCK")


def measure(run: Callable[[], int], repeats: int) -> dict[str, float]:
    """Return the best of several runs, after one that is not counted."""
    run()
    found = []
    for _ in range(repeats):
        cpu, begun = cpu_seconds(), time.perf_counter()
        rows = run()
        wall = time.perf_counter() - begun
        cpu = round(cpu_seconds() - cpu, 2)
        found.append({"rate": round(rows / cpu / 1e6, 3), "cpu": cpu, "wall": round(wall, 2)})
    return max(found, key=lambda each: each["rate"])


def parse(path: str) -> int:
    """Parse with pyoxigraph and spell every term; return how many triples there are."""
    count = 0
    for quad in ox.parse(path=path, format=ox.RdfFormat.N_TRIPLES):
        str(quad.subject), str(quad.predicate), str(quad.object)
        count += 1
    return count


def compare(path: str, repeats: int) -> dict[str, object]:
    """Return the rates of all ways to read one file."""
    spark = sessions.session("local[2]")
    ways: dict[str, Callable[[], int]] = {
        "pyoxigraph": lambda: parse(path),
        "local": lambda: read_paths([path], dictionary=Dictionary()).count,
        "spark": lambda: read_spark(spark, [path], dictionary=Dictionary()).count,
    }
    found: dict[str, object] = {name: measure(run, repeats) for name, run in ways.items()}
    sessions.stop()
    rates = {name: each["rate"] for name, each in found.items()}  # type: ignore[index]
    share = round(rates["spark"] / rates["pyoxigraph"], 2)
    return found | {"share": share, "target": round(TARGET, 2), "reached": share >= TARGET}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--file", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.file or Path(folder) / "people.nt"
        if chosen.file is None:
            with path.open("w") as file:
                file.writelines(lines(chosen.triples))
        size = {"megabytes": path.stat().st_size >> 20, "cores": os.cpu_count()}
        found = json.dumps(size | compare(str(path), chosen.repeats), indent=2)
    print(found)
    if chosen.output:
        chosen.output.write_text(found + "\n")


if __name__ == "__main__":
    main()
