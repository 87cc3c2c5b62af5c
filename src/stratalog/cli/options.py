"""Options that several commands share, and the values that need reading."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

UNITS = {"": 1, "B": 1}
UNITS |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {f"{letter}IB": 1024**power for power, letter in enumerate("KMGT", 1)}
UNITS |= {letter: 1024**power for power, letter in enumerate("KMGT", 1)}

_AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")

MAINTENANCE = "How updates are done: auto, counting, dred, dred-c, bf, bf-c, rematerialise."

FORMATS = ("table", "csv", "tsv", "jsonl", "nt", "parquet")


def parse_amount(text: str) -> int:
    """Return bytes: `4GiB`, `500MB` and plain numbers are read."""
    found = _AMOUNT.fullmatch(text)
    if found is None or found[2].upper() not in UNITS:
        raise typer.BadParameter(f"{text!r} is no amount of memory; write 4GiB, 500MB or bytes")
    return int(float(found[1]) * UNITS[found[2].upper()])


def parse_keep(text: str) -> int | str:
    """Return a number of versions, or `all`."""
    if text == "all":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(f"{text!r} is no number of versions; write 1 or more, or all")
    return int(text)


def parse_format(text: str) -> str:
    """Return the output format, if there is such a one."""
    if text not in FORMATS:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(FORMATS)}")
    return text


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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, notes or summary.")]
