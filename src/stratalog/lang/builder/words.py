"""What the parser calls for words: names, IRIs, constants and variables, and where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from lark import Token, Transformer

from stratalog.lang import effort, names
from stratalog.lang.diagnostics import line_at, mistake
from stratalog.lang.syntax import Argument, Place, Variable
from stratalog.lang.terms import BNODE_KIND, BOOLEAN, DECIMAL, DOUBLE, INTEGER, IRI_KIND, Term
from stratalog.lang.values.numbers import LONG_HELP, digits_in, is_long
from stratalog.lang.values.terms import literal

ANY = "ANY"
"""The type of the token `_`."""

_NUMBERS = {"INTEGER": INTEGER, "DECIMAL": DECIMAL, "DOUBLE": DOUBLE, "BOOLEAN": BOOLEAN}


class Words(Transformer[Token, Any]):
    """Reads the words of one text: `begin`, then the grammar's names."""

    def begin(
        self, text: str, path: str | None, prefixes: Iterable[tuple[str, str]], base: str | None
    ) -> None:
        """Forget the last text and expect `text`."""
        self._text, self._path, self._base = text, path, base
        self._prefixes = names.all_prefixes(prefixes)
        self._names: dict[str, str] = {}
        self._shared: dict[str, Argument] = {}
        self._annotated = Token("", "")

    def fail(self, code: str, message: str, token: Token, help: str) -> NoReturn:  # noqa: A002
        """Raise the error at `token`."""
        line, column, source = line_at(self._text, token.start_pos or 0)
        raise mistake(code, message, Place(self._path, line, column), source, help)

    def _line_of(self, place: Place | None) -> str | None:
        return None if place is None else self._text.split("\n")[place.line - 1].rstrip()

    def _forget_spellings(self) -> None:
        self._names.clear()
        self._shared.clear()

    def bare_word(self, children: Sequence[Token]) -> Token:
        word = children[0]
        return Token.new_borrow_pos(ANY, word, word) if word == "_" else self._refuse(word)

    def _refuse(self, word: Token) -> NoReturn:
        if word == "_":
            self.fail(
                "S121",
                "_ stands for any constant, and has no value to compute with",
                word,
                "write a variable such as ?x, in the atom too; _ is an argument of an atom",
            )
        self.fail(
            "S110",
            f"the bare word {word} is neither a constant nor a variable",
            word,
            f'write "{word}", <{word}> or ?{word}: a string, an IRI or a variable',
        )

    def tagged(self, children: Sequence[Token]) -> Term:
        self._annotated = children[0]
        return literal(self._string(children[0]), lang=str(children[1])[1:])

    def typed(self, children: Sequence[Token]) -> Term:
        text, datatype = children
        self._annotated = text
        kind = self._iri(datatype)
        if not names.is_absolute(kind):
            self.fail(
                "S120",
                f"the datatype <{kind}> is not an absolute IRI",
                datatype,
                "write a datatype such as xsd:date, or declare a base with @base",
            )
        return self._number_in_bounds(literal(self._string(text), datatype=kind), text)

    def _argument(self, child: Argument | Token) -> Argument:
        if not isinstance(child, Token):
            return child
        shared = self._shared.get(child)
        if shared is not None:
            return shared
        match child.type:
            case "VARIABLE":
                argument: Argument = Variable(child[1:])
            case "IRIREF" | "PNAME":
                argument = Term(IRI_KIND, self._iri(child))
            case "BARE" | "ANY":
                self._refuse(child)
            case "BLANK":
                return Term(BNODE_KIND, child[2:])
            case "STRING":
                return literal(self._string(child))
            case number:
                return self._number_in_bounds(literal(str(child), datatype=_NUMBERS[number]), child)
        self._shared[str(child)] = argument
        return argument

    def _number_in_bounds(self, term: Term, token: Token) -> Term:
        """Return the constant, unless it is a number of too many digits."""
        most = effort.max_digits()
        if is_long(term, most):
            self.fail(
                "D302",
                f"a number of {digits_in(term.text):,} digits; max_digits={most:,} is the most",
                token,
                LONG_HELP,
            )
        return term

    def _spelled(self, token: Token) -> str:
        name = self._names.get(token)
        if name is None:
            if token.type != "BARE":
                name = f"<{self._iri(token)}>"
            elif token.upper() in names.KEYWORDS:
                self.fail(
                    "S113",
                    f"{token} is a word of the rule language",
                    token,
                    "choose another name for the predicate",
                )
            else:
                name = str(token)
            self._names[str(token)] = name
        return name

    def _iri(self, token: Token) -> str:
        if token.type == "IRIREF":
            return names.resolve(self._base, self._unescaped(token, token[1:-1]))
        prefix, _, local = token.partition(":")
        if prefix not in self._prefixes:
            self.fail(
                "S111", f"the prefix {prefix}: is not declared", token, names.prefix_help(prefix)
            )
        return self._prefixes[prefix] + names.unescape_local(local)

    def _string(self, token: Token) -> str:
        quotes = 3 if token[:3] in {'"""', "'''"} else 1
        return self._unescaped(token, token[quotes:-quotes])

    def _unescaped(self, token: Token, text: str) -> str:
        try:
            return names.unescape(str(text))
        except ValueError as problem:
            known = r"\t \b \n \r \f \" \' \\ \uXXXX \UXXXXXXXX"
            advice = rf"write \\ for a backslash; the escapes are {known}"
            self.fail("S108", f"{problem} is not an escape", token, advice)

    def _place(self, token: Token) -> Place:
        return Place(self._path, token.line or 1, token.column or 1)
