"""Options that several commands share, and the values that need reading."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from stratalog.knowledge.display.progress import LONG, STAGES

MAINTENANCE = "How updates are done: auto, counting, dred, dred-c, bf, bf-c, rematerialise."

FORMATS = ("table", "csv", "tsv", "jsonl", "nt", "parquet")


def parse_keep(text: str) -> int | str:
    """Return a number of versions, or `all`."""
    if text == "all":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is no number of versions; write 1 or more, or all")
    return int(text)


def progress_of(listed: bool, *, quiet: bool) -> bool | str:
    """Return the library's choice of progress for --progress and --quiet."""
    return STAGES if listed else (False if quiet else LONG)


def parse_format(text: str) -> str:
    """Return the output format, if there is such a one."""
    if text not in FORMATS:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(FORMATS)}")
    return text


Threads = Annotated[
    int | None, typer.Option(min=1, max=256, metavar="N", help="Use N threads, at most 256.")
]
Memory = Annotated[
    str | None,  # read where options of Python are
    typer.Option(
        metavar="AMOUNT",
        help="Stop if facts and constants take more: 4GiB, 500MB, ...",
    ),
]
MaxFacts = Annotated[int | None, typer.Option(min=1, metavar="N", help="Stop beyond N facts.")]
MaxDigits = Annotated[
    int | None,
    typer.Option(
        min=20, max=100_000, metavar="N", help="The most digits of a number; 4,300 by default."
    ),
]
Spill = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Where to begin again if memory is full: spark."),
]
Timeout = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Stop reasoning after this time.")
]
StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="The store's folder.")]
Version = Annotated[
    int | None,
    typer.Option("--version", min=1, metavar="N", help="Read version N, not the current."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        parser=parse_format,
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)}; by default what FILE's name tells, or table.",
    ),
]
Keep = Annotated[
    Any,
    typer.Option(
        "--keep",
        parser=parse_keep,
        metavar="N",
        help="After this and every later commit, drop all but the last N versions; all: none.",
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=0, metavar="N", help="At most N rows.")]
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE, not to stdout.")
]
Header = Annotated[bool, typer.Option("--header", help="Write column names into CSV and TSV.")]
Sorted = Annotated[
    bool, typer.Option("--sorted", help="Lines in byte order; tables and Parquet by columns.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Progress = Annotated[bool, typer.Option("--progress", help="List finished stages, also in a pipe.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or summary.")]
