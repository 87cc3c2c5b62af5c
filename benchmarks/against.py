"""Compares the speed of this tree with that of another commit.

    python benchmarks/against.py REV [--runs 7] [--only NAME ...] [--spark] [--json FILE]

Each case runs in fresh processes, with the code of REV, of this tree, and of REV again, in turn.
The table has the least CPU time of each; `ratio` is after to before, `again` is REV to itself: what
differs as little as that is noise. Then each tree counts the calls of kernels in a process of its
own. The exit status is 1 if a step is slower, or its counts differ.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

from comparison.cases import CASES, prepare
from comparison.run import AFTER, AGAIN, BEFORE, ROOT, RunError, described, measure, worktree
from comparison.table import as_json, rows_of, show, verdict


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the revision, the number of runs and the cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", metavar="REV", help="a commit, branch or tag")
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="runs of each; 7")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help=f"some of {', '.join(CASES)}"
    )
    parser.add_argument("--spark", action="store_true", help="the cases on Spark; minutes")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all runs and counts")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.only if name not in CASES]:
        parser.error(f"no case {', '.join(unknown)}; the cases are {', '.join(CASES)}")
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"there is no folder for {options.json}")
    if options.runs < 1:
        parser.error("--runs is 1 or more")
    return options


def chosen(options: argparse.Namespace) -> list[str]:
    """Return the names of the cases that are to be measured."""
    named = [*options.only]
    if options.spark:
        named += [name for name, case in CASES.items() if case.task == "spark"]
    return named or [name for name, case in CASES.items() if not case.only_by_name]


def report(what: str) -> None:
    """Show on a terminal what is running."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """Print the table; return the exit status."""
    options = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the worktree is removed then, too
    found = []
    try:
        with worktree(options.revision) as tree, tempfile.TemporaryDirectory() as folder:
            trees = {BEFORE: tree, AFTER: ROOT, AGAIN: tree}
            for name in chosen(options):
                report(f"{name}: making facts")
                given = prepare(name, Path(folder))
                found.append(measure(name, given, trees, options.runs, report))
    except RunError as error:
        print(error, file=sys.stderr)
        return 2
    report("")
    rows = [row for measured in found for row in rows_of(measured)]
    failures = [f"{each.name}: {each.failure}" for each in found if each.failure]
    text, is_well = verdict(rows, failures, options.runs)
    print(show(rows), text, sep="\n\n")
    if options.json:
        trees_measured = {BEFORE: described(options.revision), AFTER: described()}
        content = {**trees_measured, **as_json(rows, found)}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
