"""`stratalog warmup`: compile all kernels now, so that no later run has to."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Annotated

import typer

from stratalog.cli import options as o
from stratalog.cli.show import note

HELP = """Compile all kernels for this machine, on all cores. Otherwise those that much is asked of
are compiled when it is. They are kept in ~/.cache/stratalog, or in the folder that
STRATALOG_CACHE_DIR names; a new version of Stratalog, Numba or NumPy compiles anew."""

EXAMPLES = """\b
Examples:
  stratalog warmup
  stratalog warmup --output /opt/kernels    # in an image that sets STRATALOG_CACHE_DIR to it"""

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FOLDER",
        help="Keep them there; STRATALOG_CACHE_DIR names it then, also if it is read-only.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("warmup", help=HELP, epilog=EXAMPLES)(_command)


def _command(*, output: Output = None, quiet: o.Quiet = False) -> None:
    from stratalog.kernels.cache import SUFFIX, cache_folder
    from stratalog.kernels.compiling import compile_kernels
    from stratalog.kernels.every import all_kernels
    from stratalog.knowledge.display.progress import reporter

    begun = time.perf_counter()
    with reporter(progress=None):
        compile_kernels(all_kernels())
    if output is not None:
        _copy(cache_folder(), output, f"*{SUFFIX}")
    if not quiet:
        seconds = time.perf_counter() - begun
        place = output or cache_folder().parent
        note(f"kernels are ready in {place}, after {seconds:.1f} s")


def _copy(kept: Path, output: Path, which: str) -> None:
    """Copy compiled kernels to where `STRATALOG_CACHE_DIR` may name them; others may read them."""
    folder = output / kept.name
    folder.mkdir(parents=True, exist_ok=True)
    for path in kept.glob(which):
        shutil.copyfile(path, folder / path.name)
