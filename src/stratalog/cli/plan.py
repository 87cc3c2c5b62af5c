"""`stratalog plan`: how a program will be evaluated."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stratalog.cli import options as o
from stratalog.cli.materialise import split_inputs
from stratalog.cli.show import answer, note
from stratalog.knowledge.display.terminal import is_terminal, visible_strings

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

HELP = """Show how programs will be evaluated: the strata with their rules, and for each rule the
steps of its joins. With --data, join orders are those for relations of that size; without,
all relations are assumed to be equally large.

A recursive rule has a version for each atom that may match facts that are new in a round."""

EXAMPLES = """\b
Examples:
  stratalog plan rules.dlog
  stratalog plan rules.dlog --data facts/ --data edge=links.tsv
  stratalog plan rules.dlog --json"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", help=HELP, epilog=EXAMPLES)(_command)


def _command(  # its options
    *,
    inputs: Annotated[list[str], typer.Argument(metavar="PROGRAM", help="Files of rules.")],
    data: Annotated[
        list[str] | None, typer.Option("--data", metavar="DATA", help="Facts; may be repeated.")
    ] = None,
    updates: Annotated[
        bool, typer.Option("--updates", help="Also the versions that only updates use.")
    ] = False,
    header: Annotated[bool, typer.Option("--header", help="Text tables begin with names.")] = False,
    graphs: Annotated[str, typer.Option(metavar="NAME", help="drop, keep.")] = "drop",
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
) -> None:
    from stratalog.knowledge.describe import describe

    programs, more = split_inputs(inputs)
    plan = describe(programs, [*more, *(data or [])], header=header, graphs=graphs)
    if as_json:
        answer(json.dumps(plan, ensure_ascii=False))
    else:
        _show(plan, updates=updates)
    if not quiet:
        strata = sum(bool(stratum["rules"]) for stratum in plan["strata"])
        note(f"{plan['rules']:,} rules, {plan['planned_rules']:,} planned, {strata:,} strata")


def _show(plan: dict[str, Any], *, updates: bool) -> None:
    from rich.console import Console

    if is_terminal(sys.stdout):
        console = Console(soft_wrap=True, highlight=False)
        plan = visible_strings(plan)
    else:
        console = Console(file=sys.stdout, soft_wrap=True, width=10_000, highlight=False)
    console.print(_tree(plan, updates=updates))


def _tree(plan: dict[str, Any], *, updates: bool) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text("plan", "bold"))
    for stratum in plan["strata"]:
        branch = root.add(_stratum_title(stratum, plan["sizes"]))
        for rule in stratum["rules"]:
            kind = "recursive" if rule["is_recursive"] else "nonrecursive"
            leaf = branch.add(Text(rule["rule"]).append(f"  {kind}", "cyan"))
            if rule["module"]:
                leaf.add(Text(_module(rule), "yellow"))
                continue
            for version in rule["versions"]:
                if updates or version["used"] == "materialise":
                    _add_steps(leaf, version)
    if plan["hidden"]:
        hidden = root.add(Text("hidden predicates", "dim"))
        for name, meaning in plan["hidden"].items():
            hidden.add(Text(f"{name}: {meaning}", "dim"))
    return root


def _module(rule: dict[str, Any]) -> str:
    how = "a closure, not spelled out" if rule["is_held"] else "its rules join external facts only"
    return f"module: {rule['module']}; {how}"


def _stratum_title(stratum: dict[str, Any], sizes: dict[str, int]) -> Text:
    from rich.text import Text

    kind = "given" if not stratum["rules"] else _kind(stratum)
    title = Text(f"level {stratum['level']}, {kind}: ", "bold")
    for place, name in enumerate(stratum["predicates"]):
        known = f" ({sizes[name]:,} facts)" if name in sizes else ""
        title.append(", " if place else "")
        title.append(name + known, "dim" if name.startswith("$") else "green")
    return title


def _kind(stratum: dict[str, Any]) -> str:
    return "recursive" if stratum["is_recursive"] else "not recursive"


def _add_steps(leaf: Tree, version: dict[str, Any]) -> None:
    from rich.text import Text

    delta = version["delta"]
    only = " (updates only)" if version["used"] == "update" else ""
    title = "all facts" if delta is None else f"new facts of {delta}{only}"
    branch = leaf.add(Text(title, "yellow"))
    for number, step in enumerate(version["steps"], 1):
        branch.add(Text(f"{number}. {_step(step)}"))


def _step(step: dict[str, Any]) -> str:
    if "compute" in step:
        return str(step["compute"])
    if "absent" in step:
        return f"absent: {step['absent']}"
    how = {"scan": "scan", "check": "look up", "index": "by column"}[step["access"]]
    if step["access"] == "index":
        places = [str(place + 1) for place in step["bound"]]
        how = f"by column{'s' if len(places) > 1 else ''} {', '.join(places)}"
    source = {"pos": "", "pos - delta": ", old facts", "delta": ", new facts"}
    return f"{step['read']}  [{how}{source.get(step['from'], ', ' + step['from'])}]"
