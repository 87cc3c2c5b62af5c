"""`stratalog query`: questions to a store."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from stratalog.cli import options as o
from stratalog.cli import stopped
from stratalog.cli.materialise import respelled
from stratalog.cli.output import Form, chosen_format, write_table
from stratalog.cli.show import answer, note
from stratalog.errors import EngineError
from stratalog.knowledge.display.progress import plural

HELP = """Answer a query: a body, whose columns are its variables, or a rule, whose columns are
those of its head. A query without variables answers true or false."""

EXAMPLES = """\b
Examples:
  stratalog query kb 'path(?x, "c")'
  stratalog query kb 'top(?x) :- edge(?x, ?y), NOT edge(?z, ?x)' --format csv
  stratalog query kb 'AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n), FILTER(?n > 2)'"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("query", help=HELP, epilog=EXAMPLES)(_command)


def _command(  # noqa: PLR0913  # the contract's options
    *,
    store: o.StorePath,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A body or a rule.")],
    limit: o.Limit = None,
    data_format: o.Format = None,
    output: o.Output = None,
    in_order: o.Sorted = False,
    header: o.Header = False,
    version: o.Version = None,
    max_facts: o.MaxFacts = None,
    timeout: o.Timeout = None,
    quiet: o.Quiet = False,
) -> None:
    from stratalog.knowledge.stored.open import open_store

    form = Form(chosen_format(data_format, output), limit, header=header, in_order=in_order)
    stopped.will_write_file(output)
    limits = {"max_facts": max_facts, "timeout": timeout}
    try:
        kb = open_store(store, version, **{k: v for k, v in limits.items() if v is not None})
    except EngineError as error:
        raise respelled(error, limits) from None
    answers = kb.query(query)
    if not answers.num_columns and form.format == "table" and output is None:
        answer("true" if answers.num_rows else "false")
        return
    if limit is not None and not in_order:
        answers = answers.slice(0, limit)
    count = write_table(answers, form, output)
    sys.stdout.flush()
    if not quiet:
        note(plural(count, "answer") + (f" -> {output}" if output else ""))
