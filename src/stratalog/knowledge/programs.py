"""Programs: given as paths or text, and edited while their consequences live."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stratalog.errors import ProgramError, StratalogWarning
from stratalog.lang.check import check, doubtful_rules
from stratalog.lang.parse import merge, parse_file, parse_program
from stratalog.lang.printer import show
from stratalog.lang.spellings import plain_rules
from stratalog.lang.syntax import Atom, Program, Rule

Prefixes = Sequence[tuple[str, str]]

_FILE_NAME = re.compile(r"[\w./\\~-]*[\w-]\.(?:dl|datalog|lp|rls|rules|pl|txt|ttl|owl|rdf|nt|csv)")


def load_program(program: object, prefixes: Prefixes = (), base: str | None = None) -> Program:
    """Return the union of programs: paths (Path, or str ending in .dlog), text or parsed.

    Prefixes and base are those that the text may use without declaring them.
    """
    parts = program if isinstance(program, list | tuple) else [program]
    return merge([_load_one(part, prefixes, base) for part in parts])


def _load_one(part: object, prefixes: Prefixes, base: str | None) -> Program:
    if isinstance(part, Program):
        return part
    if isinstance(part, os.PathLike):
        return parse_file(Path(part), prefixes, base)
    if isinstance(part, str):
        if part.endswith(".dlog"):
            return parse_file(part, prefixes, base)
        try:
            return parse_program(part, None, prefixes, base)
        except ProgramError:
            _refuse_file_name(part)
            raise
    raise ProgramError(
        "S100",
        f"a program is text, a path or a list of these, not {type(part).__name__}",
        help='write "path(?x, ?y) :- edge(?x, ?y) ." or Path("rules.dlog")',
    )


def _refuse_file_name(text: str) -> None:
    """Raise where text that is no program is the name of a file, or looks like one."""
    if "\n" in text or not (_is_file(text) or _FILE_NAME.fullmatch(text)):
        return
    told = "is the name of a file" if _is_file(text) else "looks like the name of a file"
    raise ProgramError(
        "S127",
        f"{text!r} is no program, but {told}",
        help=f"write Path({text!r}): a string is a path only if it ends in .dlog",
    ) from None


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long, or a character that no path has
        return False


@dataclass(frozen=True, slots=True)
class Edit:
    """A program after rules were added and removed, and what else their text says."""

    program: Program
    is_edited: bool = False  # rules or declarations are others than before
    inserted: tuple[Atom, ...] = ()  # facts in the text of what was added
    deleted: tuple[Atom, ...] = ()  # facts in the text of what was removed
    rules: tuple[Rule, ...] = ()  # those that are new
    warnings: tuple[StratalogWarning, ...] = ()  # about these


def edit_program(program: Program, add: object, remove: object) -> Edit:
    """Return the program with rules added and removed; a rule to remove must be there."""
    if add is None and remove is None:
        return Edit(program)
    added, removed = (
        Program() if text is None else load_program(text, program.prefixes, program.base)
        for text in (add, remove)
    )
    rules = _without(program.rules, removed.rules)
    new = _new(added.rules, rules)
    rules += new
    declared = dict.fromkeys((*program.declarations, *added.declarations))
    prefixes = dict((*added.prefixes, *program.prefixes))
    edited = replace(
        program, rules=rules, declarations=tuple(declared), prefixes=tuple(prefixes.items())
    )
    check(edited)
    is_edited = (rules, tuple(declared)) != (program.rules, program.declarations)
    return Edit(edited, is_edited, added.facts, removed.facts, new, tuple(doubtful_rules(new)))


def _new(added: tuple[Rule, ...], rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules, each once, that are not there yet."""
    fresh = {plain_rules(rule): rule for rule in reversed(added)}
    for rule in rules:
        fresh.pop(plain_rules(rule), None)
    return tuple(reversed(fresh.values()))


def _without(rules: tuple[Rule, ...], removed: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules that are not removed."""
    gone: set[Rule] = set()
    for rule in removed:
        same = _same(rule, rules)
        if not same:
            place = rule.place
            raise ProgramError(
                "S211",
                "the rule to remove is not in the program",
                path=place.path if place else None,
                line=place.line if place else None,
                source=rule.text or show(rule),
                help="write it as it was given, with the same names of variables",
            )
        gone.update(same)
    return tuple(rule for rule in rules if rule not in gone)


def _same(rule: Rule, rules: tuple[Rule, ...]) -> list[Rule]:
    """Return the rule, if it is among others, or those that say the same in plain literals."""
    if rule in rules:
        return [rule]
    plain = plain_rules(rule)
    return [other for other in rules if plain_rules(other) == plain]
