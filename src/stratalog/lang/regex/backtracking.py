"""Patterns that RE2 has no words for: run step by step, each step counted.

These are back-references, and ^ and $ with the flag m where the text ends with a line end. A
pattern is a program of few instructions; what remains to be tried is kept on a stack, so that depth
costs no recursion. Without back-references a state that has failed is never tried again, so that
steps are bounded by text times program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stratalog.errors import EngineError
from stratalog.lang import effort
from stratalog.lang.regex.errors import UnsupportedRegexError
from stratalog.lang.regex.parse import (
    Back,
    Choice,
    Edge,
    Group,
    Node,
    OneOf,
    Regex,
    Repeat,
    Sequence,
)
from stratalog.lang.regex.sets import Ranges, contains, same_but_for_case

MOST_INSTRUCTIONS = 20_000
MOST_STEPS = 2_000_000
MOST_GROUPS = 100
CHARACTERS_PER_STEP = 64  # that are compared with a group's text
STEPS_PER_CHECK = 1 << 14


class _Code:
    CHAR, SPLIT, JUMP, SAVE, BACK, START, END, EMPTY, DONE = range(9)


Spans = list[tuple[int, int]]
_State = tuple[int, int, tuple[int, ...]]  # the instruction, the place in the text, what is saved


@dataclass(slots=True)
class _Instruction:
    """One step; what it takes is one of `ranges`, a slot, a group or another step."""

    code: int
    into: int = 0
    past: int = 0
    ranges: Ranges = ()


class Backtracking:
    """A pattern that is run by trying."""

    def __init__(self, regex: Regex) -> None:
        if regex.groups > MOST_GROUPS:
            raise UnsupportedRegexError(f"back-references among more than {MOST_GROUPS} groups")
        self._groups = regex.groups
        self._ignores_case = "i" in regex.flags
        self._is_multiline = "m" in regex.flags
        self._remembers = not regex.has_back_references
        self._empties = 0
        self._program: list[_Instruction] = []
        self._compile(regex.node)
        self._emit(_Code.DONE)

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text."""
        return next(self.matches(text), None) is not None

    def matches(self, text: str) -> Iterator[Spans]:
        """Yield where the whole and each group match, from left to right; (-1, -1) is nowhere."""
        effort.check()
        steps = _Steps()
        failed: set[tuple[int, int]] = set()
        at = 0
        while at <= len(text):
            found = self._match_at(text, at, steps, failed)
            if found is None:
                at += 1
                continue
            yield found
            failed.clear()
            at = found[0][1] if found[0][1] > at else at + 1

    def pieces(self, text: str) -> Iterator[tuple[str, list[str] | None]]:
        """Yield what stands before each match, the match and its groups; at last the rest."""
        at = 0
        for spans in self.matches(text):
            found = [text[start:end] if start >= 0 else "" for start, end in spans]
            yield text[at : spans[0][0]], found
            at = spans[0][1]
        yield text[at:], None

    # The program

    def _emit(self, code: int, into: int = 0, ranges: Ranges = ()) -> int:
        if len(self._program) >= MOST_INSTRUCTIONS:
            raise UnsupportedRegexError("a regular expression that is too large")
        self._program.append(_Instruction(code, into, ranges=ranges))
        return len(self._program) - 1

    def _compile(self, node: Node) -> None:
        match node:
            case OneOf(ranges=ranges):
                self._emit(_Code.CHAR, ranges=ranges)
            case Sequence(parts=parts):
                for part in parts:
                    self._compile(part)
            case Choice(branches=branches):
                self._compile_choice(branches)
            case Repeat():
                self._compile_repeat(node)
            case Group(part=part, number=number):
                self._emit(_Code.SAVE, 2 * number)
                self._compile(part)
                self._emit(_Code.SAVE, 2 * number + 1)
            case Back(number=number):
                self._emit(_Code.BACK, number)
            case Edge(is_start=is_start):
                self._emit(_Code.START if is_start else _Code.END)

    def _compile_choice(self, branches: tuple[Node, ...]) -> None:
        ends = []
        for branch in branches[:-1]:
            split = self._emit(_Code.SPLIT, len(self._program) + 1)
            self._compile(branch)
            ends.append(self._emit(_Code.JUMP))
            self._program[split].past = len(self._program)
        self._compile(branches[-1])
        for end in ends:
            self._program[end].into = len(self._program)

    def _compile_repeat(self, node: Repeat) -> None:
        self._compile_copies(node)
        if node.most is None:
            self._compile_loop(node)
            return
        splits = []
        for _ in range(node.most - node.least):
            splits.append(self._emit(_Code.SPLIT))
            self._compile(node.part)
        for split in splits:
            self._branch(split, split + 1, len(self._program), is_lazy=node.is_lazy)

    def _compile_copies(self, node: Repeat) -> None:
        for _ in range(node.least):
            before = len(self._program)
            self._compile(node.part)
            if len(self._program) == before:
                return  # nothing, many times

    def _compile_loop(self, node: Repeat) -> None:
        split = self._emit(_Code.SPLIT)
        slot = 2 * (self._groups + 1) + self._empties  # where this turn of the loop began
        self._empties += 1
        self._emit(_Code.SAVE, slot)
        self._compile(node.part)
        self._emit(_Code.EMPTY, slot)  # a turn that takes nothing ends the loop
        self._emit(_Code.JUMP, split)
        self._branch(split, split + 1, len(self._program), is_lazy=node.is_lazy)

    def _branch(self, split: int, into: int, past: int, *, is_lazy: bool) -> None:
        found = self._program[split]
        found.into, found.past = (past, into) if is_lazy else (into, past)

    # The run

    def _match_at(
        self, text: str, start: int, steps: _Steps, failed: set[tuple[int, int]]
    ) -> Spans | None:
        slots = 2 * (self._groups + 1) + self._empties
        waiting: list[_State] = [(0, start, (-1,) * slots)]
        while waiting:
            state: _State | None = waiting.pop()
            while state is not None:
                pc, at, saved = state
                steps.count()
                if self._remembers:
                    if (pc, at) in failed:
                        break
                    failed.add((pc, at))
                if self._program[pc].code == _Code.DONE:
                    return [(start, at), *_spans(saved, self._groups)]
                state = self._step(text, state, waiting, steps)
        return None

    def _step(
        self, text: str, state: _State, waiting: list[_State], steps: _Steps
    ) -> _State | None:
        """Return the state after an instruction, None if it fails; others may wait."""
        pc, at, saved = state
        one = self._program[pc]
        match one.code:
            case _Code.CHAR:
                is_there = at < len(text) and contains(one.ranges, ord(text[at]))
                return (pc + 1, at + 1, saved) if is_there else None
            case _Code.SPLIT:
                waiting.append((one.past, at, saved))
                return one.into, at, saved
            case _Code.JUMP:
                return one.into, at, saved
            case _Code.SAVE:
                return pc + 1, at, (*saved[: one.into], at, *saved[one.into + 1 :])
            case _Code.BACK:
                group = saved[2 * one.into : 2 * one.into + 2]
                steps.count((group[1] - group[0]) // CHARACTERS_PER_STEP)
                again = self._again(text, at, group)
                return None if again is None else (pc + 1, again, saved)
            case _Code.EMPTY:
                return None if saved[one.into] == at else (pc + 1, at, saved)
        is_edge = self._is_edge(text, at, is_start=one.code == _Code.START)
        return (pc + 1, at, saved) if is_edge else None

    def _again(self, text: str, at: int, group: tuple[int, ...]) -> int | None:
        """Return where the text of a group ends that stands here again; None if it does not."""
        if -1 in group:
            return at  # a group that took no part is empty
        wanted = text[group[0] : group[1]]
        found = text[at : at + len(wanted)]
        is_same = same_but_for_case(found, wanted) if self._ignores_case else found == wanted
        return at + len(wanted) if is_same else None

    def _is_edge(self, text: str, at: int, *, is_start: bool) -> bool:
        if not self._is_multiline:
            return at == (0 if is_start else len(text))
        if is_start:
            return at == 0 or (at < len(text) and text[at - 1] == "\n")
        return text[at] == "\n" if at < len(text) else not text.endswith("\n")


def _spans(saved: tuple[int, ...], groups: int) -> Spans:
    return [(saved[2 * g], saved[2 * g + 1]) for g in range(1, groups + 1)]


class _Steps:
    """Counts steps, and ends a run that takes too many."""

    def __init__(self) -> None:
        self._done = 0
        self._next = STEPS_PER_CHECK

    def count(self, steps: int = 1) -> None:
        self._done += steps
        if self._done < self._next:
            return
        self._next = self._done + STEPS_PER_CHECK
        effort.check()
        if self._done > MOST_STEPS:
            raise EngineError(
                effort.TOO_LARGE,
                f"a regular expression takes more than {MOST_STEPS:,} steps on one text",
                help="back-references, and the flag m on texts that end with a line end, are run"
                " by trying: write the pattern without, or shorten the texts",
            )
