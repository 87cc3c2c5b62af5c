"""What a terminal gets: nothing in data acts on it, or hides what stands there."""

import io
import json

import pytest

from stratalog.knowledge.display.terminal import (
    VisibleLines,
    shown_on,
    visible,
    visible_lines,
    visible_strings,
)

ODD = [
    *map(chr, [*range(0x20), *range(0x7F, 0xA0)]),  # controls, ESC and CSI among them
    *map(chr, [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]),  # bidi
    *map(chr, [0xAD, 0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF, 0xE0041]),  # without width
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("odd", ODD, ids=lambda c: f"{ord(c):04X}")
def test_an_odd_character_is_spelled_as_an_escape_that_can_be_read_back(odd):
    assert json.loads(f'"{visible(odd)}"'.replace("\\U000E0041", "\\udb40\\udc41")) == odd
    assert visible(f"a{odd}b").isascii()
    assert visible_strings({"a": [odd, 3]}) == {"a": [visible(odd), 3]}


def test_letters_of_any_script_stay_as_they_are():
    text = "Zoë, יוסף, می‌خواهم, 👩‍🔬, \\u0041"
    assert visible(text) == visible_lines(text) == text


def test_only_a_terminal_gets_escapes():
    text = "red \x1b[31m\n\tand \u202e turned"
    assert shown_on(io.StringIO(), text) == text
    assert shown_on(Terminal(), text) == "red \\u001B[31m\n\tand \\u202E turned"


def test_lines_may_come_in_any_pieces():
    sink = io.BytesIO()
    lines = VisibleLines(sink)
    for byte in "a\u202eë\n".encode():
        lines.write(bytes([byte]))
    assert sink.getvalue().decode() == "a\\u202Eë\n"
