"""Errors and warnings a user can act on: a stable code, what happened, where, what to do next."""

from __future__ import annotations


def _printable(text: str) -> str:
    """Return the text with halves of surrogate pairs escaped, which no encoding can print."""
    return text.encode("utf-8", "backslashreplace").decode()


class _Told(Exception):  # noqa: N818  # what errors and warnings have in common
    """A message in parts; `str` of it is all of them."""

    def __init__(  # noqa: PLR0913  # each part is printed on its own line
        self,
        code: str,
        message: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source: str | None = None,
        caret: int | None = None,
        help: str | None = None,  # noqa: A002  # the word that the message prints
    ) -> None:
        self.code = code
        self.message = _printable(message)
        self.path = path
        self.line = line
        self.column = column
        self.source = source
        self.caret = (
            caret or column
        )  # where `source` is a window of the line, the caret's place in it
        self.help = help
        super().__init__(_printable(self._render()))

    def _render(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part)
        if place:
            lines.append(f"  {place if self.path else 'line ' + place}")
        if self.source is not None:
            lines.append(f"    {self.source}")
            if self.caret:
                lines.append("    " + " " * (self.caret - 1) + "^")
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows instead of a traceback; the name is IPython's."""
        from stratalog.tracebacks import short_traceback

        return short_traceback(self)


class StratalogError(_Told):
    """Base of all errors that users meet; `str(error)` is the whole message."""


class StratalogWarning(_Told, UserWarning):
    """What has a meaning, but is probably not meant; told by Python's `warnings`."""

    def retold(self, message: str) -> StratalogWarning:
        """Return the warning with another message, at the same place."""
        return StratalogWarning(
            self.code,
            message,
            path=self.path,
            line=self.line,
            column=self.column,
            source=self.source,
            caret=self.caret,
            help=self.help,
        )


class ProgramError(StratalogError):
    """The program is wrong: S1xx syntax, S2xx meaning, S3xx stratification."""


class DataError(StratalogError):
    """The facts are wrong: D1xx files and formats, D2xx values, D3xx columns."""


class StoreError(StratalogError):
    """The store cannot be read or written: T1xx."""


class EngineError(StratalogError):
    """The engine stopped: E1xx memory, time, cancellation, limits."""
