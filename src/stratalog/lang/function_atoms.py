"""Atoms that have the name of a function: how the function would be called."""

from __future__ import annotations

from stratalog.lang.builtins.functions import FUNCTIONS
from stratalog.lang.printer import show
from stratalog.lang.syntax import Argument, Atom, Bind, Call, Filter, Literal, Variable

_SAME = {
    "MATCH": "REGEX",
    "MATCHES": "REGEX",
    "LIKE": "REGEX",
    "STARTSWITH": "STRSTARTS",
    "STARTS_WITH": "STRSTARTS",
    "ENDSWITH": "STRENDS",
    "ENDS_WITH": "STRENDS",
    "CAT": "CONCAT",
    "LENGTH": "STRLEN",
    "LEN": "STRLEN",
    "LOWER": "LCASE",
    "UPPER": "UCASE",
}
_CONDITIONS = frozenset(
    ("REGEX", "CONTAINS", "STRSTARTS", "STRENDS", "LANGMATCHES", "SAMETERM", "BOUND", "ISIRI")
) | {"ISURI", "ISBLANK", "ISLITERAL", "ISNUMERIC"}
_TEXT_FIRST = frozenset({"REGEX", "CONTAINS"})


def call_for(atom: Atom) -> str | None:
    """Return how the function is called that an atom names, None if it names none."""
    called = atom.predicate.name.upper()
    name = _SAME.get(called, called)
    if name not in FUNCTIONS or not atom.args:
        return None
    args = _text_first(name, called, atom.args)
    where = "FILTER" if name in _CONDITIONS else "BIND and FILTER"
    return f"functions are called in {where}: write {show(_literal(name, args))}"


def _text_first(name: str, called: str, args: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the arguments in the order of SPARQL; others write the pattern before the text."""
    if name not in _TEXT_FIRST or len(args) == 1:
        return args
    is_turned = isinstance(args[1], Variable) and not isinstance(args[0], Variable)
    return (args[1], args[0], *args[2:]) if is_turned or called == "MATCH" else args


def _literal(name: str, args: tuple[Argument, ...]) -> Literal:
    """Return the call in a FILTER, or in a BIND to the last argument if there is one to spare."""
    if name in _CONDITIONS:
        return Filter(Call(name, args))
    least, most = FUNCTIONS[name]
    *given, last = args
    if isinstance(last, Variable) and least <= len(given) and most is not None:
        return Bind(Call(name, tuple(given)), last)
    return Bind(Call(name, args), Variable("value"))


def one_of_two(call: Call) -> str | None:
    """Return how the lesser or the greater of two values is written, if a call asks for it."""
    sign = {"MIN": "<", "MAX": ">"}.get(call.name)
    if sign is None or len(call.args) < 2:  # noqa: PLR2004  # there is something to choose
        return None
    if len(call.args) > 2:  # noqa: PLR2004  # of three it is long: how it is done is enough
        return f"IF(?x {sign} ?y, ?x, ?y)"
    return show(Call("IF", (Call(sign, call.args), *call.args)))
