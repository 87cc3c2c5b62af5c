"""The command `stratalog`: its commands, its exit status, and how it ends on errors."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Annotated, NoReturn

import typer

from stratalog import __version__
from stratalog.cli import (
    facts,
    materialise,
    plan,
    query,
    stopped,
    stores,
    stream,
    update,
    warmup,
)
from stratalog.cli.benchmarks import BENCH, GENERATE
from stratalog.cli.show import listening, note, show_error
from stratalog.errors import EngineError, StratalogError

OK, USER, USAGE, INTERNAL, ENGINE = range(5)
"""Exit status: done, a mistake in the input, in the command, in Stratalog, or a limit or Ctrl-C."""

STATUS_OF_CODE = {"E120": USAGE, "E121": USER, "E125": USER, "E206": USAGE}
"""Options are checked by the library, whose errors about them are no failures of an engine."""

NOT_YET = ("explain",)

UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # click's, or typer's own

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,  # plain help needs no rich, which is slow to import
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Stratalog derives every consequence of Datalog rules and facts, and answers questions.",
    epilog="""\b
Examples:
  stratalog materialise family.dlog facts/ --store kb
  stratalog update kb --insert parent=born.csv --delete parent=mistakes.csv
  stratalog facts kb path --limit 10
  stratalog query kb 'path(?x, ?y), NOT path(?y, ?x)'

stratalog COMMAND --help explains a command.""",
)
for module in (materialise, update, stream, facts, query, plan, stores, BENCH, warmup, GENERATE):
    module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"stratalog {__version__}")  # noqa: T201  # the answer
        raise typer.Exit


@app.callback()
def _common(
    *,
    version: Annotated[  # its callback answers
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[  # read where errors end
        bool, typer.Option("--debug", help="Show tracebacks, also as COMMAND --debug.")
    ] = False,
) -> None:
    pass


def run() -> NoReturn:
    """Run the command of this process and end it with the command's status."""
    signal.signal(signal.SIGTERM, _stop)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may not know a character
    sys.meta_path.insert(0, _WithoutPandas())
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    status = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()
    sys.stderr.flush()
    sys.exit(status)


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status."""
    is_debugging = "--debug" in arguments
    given = [argument for argument in arguments if argument != "--debug"]
    try:
        stopped.begin()
        with listening():
            return _invoke(given)
    except StratalogError as error:
        show_error(str(error))
        return STATUS_OF_CODE.get(error.code, ENGINE if isinstance(error, EngineError) else USER)
    except KeyboardInterrupt as cancelled:
        show_error(f"E105: cancelled; {str(cancelled) or stopped.what_was_written()}")
        return ENGINE
    except BrokenPipeError:
        _forget_stdout()
        return OK
    except Exception as error:  # noqa: BLE001  # the last resort
        if is_debugging:
            note(traceback.format_exc())
        return _explain(error)


def _invoke(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        if arguments and arguments[0] in NOT_YET:
            raise typer.BadParameter(f"the command {arguments[0]} is not supported yet")
        with command.make_context("stratalog", arguments) as context:
            command.invoke(context)
    except typer.Exit as done:
        return int(done.exit_code)
    except UsageError as error:
        return _explain_usage(error)
    return OK


def _explain_usage(error: Exception) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)  # type: ignore[attr-defined]  # noqa: T201
        return USAGE
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "stratalog"
    is_ours = getattr(error, "param", None) is None and hasattr(error, "message")
    message = error.message if is_ours else error.format_message()  # type: ignore[attr-defined]
    show_error(f"U100: {message.rstrip('.')}\n  help: {command} --help")
    return USAGE


def _explain(error: Exception) -> int:
    """Say what nobody has foreseen: the machine's failures in its own words, all else as ours."""
    if isinstance(error, MemoryError):
        show_error(
            "E101: the machine's memory is full\n  help: set --memory to stop at a rule instead"
        )
        return ENGINE
    if isinstance(error, OSError):
        place = f"\n  {error.filename}" if error.filename else ""
        show_error(
            f"D313: {error.strerror or error}{place}\n  help: check the disk and permissions"
        )
        return USER
    what = " ".join(f"{type(error).__name__}: {error}".split())
    show_error(
        f"X100: this is a mistake in Stratalog ({what[:300]})"
        "\n  help: please report it with the traceback that the same command prints with --debug"
    )
    return INTERNAL


class _WithoutPandas(MetaPathFinder):
    """Makes pandas look absent: Arrow imports it, for 0.2 s, to ask whether arrays are its own.

    PySpark does not work without it.
    """

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas" and "pyspark" not in sys.modules:
            raise ModuleNotFoundError("the command line does without pandas", name=fullname)


def _stop(_signal: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _forget_stdout() -> None:
    """Let what is left to write go nowhere: the reader of the pipe has seen enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
