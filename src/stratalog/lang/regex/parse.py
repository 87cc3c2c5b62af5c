r"""The grammar of XPath's regular expressions: those of XML Schema with ^ $ \1 (?:...) and *?.

What is accepted is what the standard accepts, but for blocks of Unicode (\p{IsGreek}), which are
refused as not supported, as are patterns that are too large.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stratalog.lang import effort
from stratalog.lang.regex.errors import RegexError, UnsupportedRegexError
from stratalog.lang.regex.sets import (
    ALL,
    CATEGORIES,
    LINE_ENDS,
    Ranges,
    category,
    escaped,
    in_any_case,
    negated,
    union,
    without,
)

FLAGS = frozenset("smixq")
LONGEST_PATTERN = 1 << 16  # characters
MOST_RANGES = 200_000  # of all character classes together
DEEPEST = 40  # groups in groups

_BLANK = frozenset(" \t\n\r")
_SINGLE = frozenset("\\|.?*+(){}-[]^$")
_CONTROL = {"n": "\n", "r": "\r", "t": "\t"}
_SEVERAL = frozenset("sSdDwWiIcC")
_DIGITS = frozenset("0123456789")
_RESERVED = frozenset("?*+{}]")
_MANY = 10**9


@dataclass(frozen=True, slots=True)
class OneOf:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts, one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first of several branches that leads to a match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part several times, as often as possible unless it is lazy; None is without end."""

    part: Node
    least: int
    most: int | None
    is_lazy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A part whose text is remembered under a number."""

    part: Node
    number: int


@dataclass(frozen=True, slots=True)
class Back:
    """The text of a group again."""

    number: int


@dataclass(frozen=True, slots=True)
class Edge:
    """The start or the end of the text, or of a line."""

    is_start: bool


Node = OneOf | Sequence | Choice | Repeat | Group | Back | Edge


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern that has been read."""

    node: Node
    groups: int
    flags: frozenset[str]
    has_back_references: bool = False
    has_edges: bool = False


def parse(pattern: str, flags: str) -> Regex:
    """Return the pattern as a tree, or raise RegexError."""
    for flag in flags:
        if flag not in FLAGS:
            raise RegexError(f"unknown flag {flag!r} of a regular expression: they are s m i x q")
    if len(pattern) > LONGEST_PATTERN:
        raise UnsupportedRegexError(
            f"a regular expression of more than {LONGEST_PATTERN:,} characters"
        )
    chosen = frozenset(flags)
    if "q" in chosen:
        parser = _Parser("", chosen & {"i"})
        return Regex(Sequence(tuple(map(parser.char, pattern))), 0, parser.flags)
    parser = _Parser(_without_blanks(pattern) if "x" in chosen else pattern, chosen)
    node = parser.whole()
    return Regex(node, parser.groups, chosen, parser.has_back_references, parser.has_edges)


def _without_blanks(pattern: str) -> str:
    """Return the pattern without blanks that are not in a character class."""
    kept: list[str] = []
    depth, is_escaped = 0, False
    for char in pattern:
        if char in _BLANK and not depth:
            continue
        kept.append(char)
        if not is_escaped:
            depth = max(0, depth + (char == "[") - (char == "]"))
        is_escaped = char == "\\" and not is_escaped
    return "".join(kept)


@dataclass
class _Parser:
    pattern: str
    flags: frozenset[str]
    at: int = 0
    groups: int = 0
    has_back_references: bool = False
    has_edges: bool = False
    _closed: set[int] = field(default_factory=set)
    _ranges: int = 0

    def whole(self) -> Node:
        node = self._choice(0)
        if self.at < len(self.pattern):
            raise self._wrong("a closing parenthesis without an opening one")
        return node

    def _choice(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise UnsupportedRegexError(f"groups nested more than {DEEPEST} deep")
        branches = [self._branch(depth)]
        while self._taken("|"):
            branches.append(self._branch(depth))
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _branch(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and self._next not in "|)":
            parts.append(self._quantified(self._atom(depth)))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self, depth: int) -> Node:
        char = self._take()
        if char == "(":
            return self._group(depth)
        if char == "[":
            return self._one_of(self._class(0))
        if char == "\\":
            return self._escape()
        if char == ".":
            return OneOf(ALL if "s" in self.flags else negated(LINE_ENDS))
        if char in "^$":
            self.has_edges = True
            return Edge(char == "^")
        if char in _RESERVED:
            self.at -= 1
            raise self._wrong(f"{char} stands where it has no meaning: write \\{char}")
        return self.char(char)

    def _group(self, depth: int) -> Node:
        number = 0
        if self._taken("?"):
            if not self._taken(":"):
                raise self._wrong("(? begins nothing that XPath knows, unless a colon follows")
        else:
            self.groups += 1
            number = self.groups
        inner = self._choice(depth + 1)
        if not self._taken(")"):
            raise self._wrong("a group is not closed")
        self._closed.add(number)
        return Group(inner, number) if number else inner

    def char(self, char: str) -> OneOf:
        """Return the node of one character, in any case if the flags say so."""
        ranges = ((ord(char), ord(char)),)
        return self._one_of(in_any_case(ranges) if "i" in self.flags else ranges)

    def _one_of(self, ranges: Ranges) -> OneOf:
        self._ranges += len(ranges)
        if self._ranges > MOST_RANGES:
            raise UnsupportedRegexError("a regular expression whose classes are too large")
        return OneOf(ranges)

    def _escape(self) -> Node:
        if self.at < len(self.pattern) and self._next in _DIGITS:
            return self._back_reference()
        found = self._escaped()
        return self.char(found) if isinstance(found, str) else self._one_of(found)

    def _escaped(self) -> str | Ranges:
        """Return the character that an escape stands for, or its set."""
        letter = self._take() if self.at < len(self.pattern) else ""
        if letter in _SINGLE and letter:
            return letter
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter in _SEVERAL:
            return escaped(letter)
        if letter and letter in "pP":
            return self._category(is_negated=letter == "P")
        raise self._wrong(f"there is no escape \\{letter}")

    def _category(self, *, is_negated: bool) -> Ranges:
        end = self.pattern.find("}", self.at)
        name = self.pattern[self.at + 1 : end]
        if not self.pattern.startswith("{", self.at) or end < 0:
            raise self._wrong("\\p needs a category in braces, such as \\p{L}")
        if name not in CATEGORIES:
            if name.startswith("Is") and len(name) > len("Is"):
                raise UnsupportedRegexError(
                    f"blocks of Unicode such as \\p{{{name}}} are not supported: write a range"
                )
            raise self._wrong(f"{name!r} is no category of Unicode")
        self.at = end + 1
        return negated(category(name)) if is_negated else category(name)

    def _back_reference(self) -> Node:
        number = int(self._take())
        while self.at < len(self.pattern) and self._next in _DIGITS:
            if 10 * number + int(self._next) > self.groups:
                break  # \12 is group 1 and the digit 2 where there are fewer than twelve groups
            number = 10 * number + int(self._take())
        if number not in self._closed:
            raise self._wrong(f"\\{number} refers to a group that is not closed before it")
        self.has_back_references = True
        return Back(number)

    # Quantifiers

    def _quantified(self, part: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return part
        return Repeat(part, *bounds, is_lazy=self._taken("?"))

    def _bounds(self) -> tuple[int, int | None] | None:
        char = self._next if self.at < len(self.pattern) else ""
        simple: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
        if char in simple:
            self.at += 1
            return simple[char]
        return self._counted() if char == "{" else None

    def _counted(self) -> tuple[int, int | None]:
        end = self.pattern.find("}", self.at)
        least, comma, most = self.pattern[self.at + 1 : max(end, self.at + 1)].partition(",")
        if end < 0 or not _is_amount(least) or not (most == "" or _is_amount(most)):
            raise self._wrong("a quantifier is {n}, {n,} or {n,m}; a brace itself is \\{")
        amounts = [_amount(each) for each in (least, most if comma else least) if each]
        if amounts[-1] < amounts[0]:
            raise self._wrong(f"{{{least},{most}}} repeats at most fewer times than at least")
        self.at = end + 1
        return amounts[0], amounts[1] if len(amounts) > 1 else None

    # Character classes

    def _class(self, depth: int) -> Ranges:
        """Return the set of a class whose opening bracket has been taken."""
        effort.check()
        if depth > DEEPEST:
            raise UnsupportedRegexError(f"classes nested more than {DEEPEST} deep")
        is_negated = self._taken("^")
        parts, literal = self._class_parts()
        found = union(parts)
        if "i" in self.flags:
            found = union([found, in_any_case(union(literal))])
        found = negated(found) if is_negated else found
        if self.pattern.startswith("-[", self.at):
            self.at += 2
            found = without(found, self._class(depth + 1))
        if not self._taken("]"):
            raise self._wrong("a character class is not closed")
        return found

    def _class_parts(self) -> tuple[list[Ranges], list[Ranges]]:
        """Return the sets of a class, and which of them case applies to."""
        parts: list[Ranges] = []
        literal: list[Ranges] = []
        while self.at < len(self.pattern) and self._next != "]":
            if parts and self.pattern.startswith("-[", self.at):
                break
            found = self._class_char(is_first=not parts)
            if isinstance(found, str):
                found = self._range(found)
                literal.append(found)
            parts.append(found)
        if not parts:
            raise self._wrong("a character class is empty")
        return parts, literal

    def _class_char(self, *, is_first: bool) -> str | Ranges:
        char = self._take()
        if char == "\\":
            return self._escaped()
        if char == "[":
            raise self._wrong("a bracket in a character class is written \\[")
        if char == "-" and not is_first and self.at < len(self.pattern) and self._next != "]":
            raise self._wrong("a hyphen between other characters of a class is written \\-")
        return char

    def _range(self, low: str) -> Ranges:
        """Return the range that begins with a character, or the character alone."""
        rest = self.pattern[self.at : self.at + 2]
        if not rest.startswith("-") or rest in {"-", "-]", "-["}:
            return ((ord(low), ord(low)),)
        self.at += 1
        high = self._class_char(is_first=True)
        if not isinstance(high, str):
            raise self._wrong("a range of characters ends with a set")
        if ord(high) < ord(low):
            raise self._wrong(f"the range {low}-{high} is the wrong way round")
        return ((ord(low), ord(high)),)

    # Characters

    @property
    def _next(self) -> str:
        return self.pattern[self.at]

    def _take(self) -> str:
        char = self.pattern[self.at]
        self.at += 1
        return char

    def _taken(self, char: str) -> bool:
        if self.pattern.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def _wrong(self, why: str) -> RegexError:
        shown = self.pattern if len(self.pattern) <= 60 else self.pattern[:60] + "…"  # noqa: PLR2004
        return RegexError(
            f"{shown!r} is no regular expression of XPath: {why} (at character {self.at + 1})"
        )


def _is_amount(text: str) -> bool:
    return text != "" and _DIGITS.issuperset(text)


def _amount(text: str) -> int:
    """Return a number of repetitions; from some size on no pattern can be run, and all are one."""
    significant = text.lstrip("0")
    return int(significant or "0") if len(significant) <= len(str(_MANY)) else _MANY
