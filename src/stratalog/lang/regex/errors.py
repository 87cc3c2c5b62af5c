"""What may be wrong with a regular expression."""

from __future__ import annotations

from stratalog.lang.builtins.values import ExpressionError


class RegexError(ExpressionError):
    """A pattern, flags or a replacement that XPath does not allow, or that is not supported."""

    is_supported = True


class UnsupportedRegexError(RegexError):
    """A pattern that XPath allows and Stratalog does not run."""

    is_supported = False
