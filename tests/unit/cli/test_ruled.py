"""Tables on a terminal: as wide as it is, and readable."""

import os
import pty
import subprocess
import sys

import pytest

WIDE = """
import sys, pyarrow as pa
from stratalog.cli.show import show_table
columns = {f"column_{i}": [f"value {i} of row {r}" for r in range(2)] for i in range(COLUMNS)}
show_table(pa.table({**columns, "n": [1, 2]}), sys.stdout)
"""


def shown(code, **environment):
    ours, theirs = pty.openpty()
    given = os.environ | {"TERM": "xterm", "COLUMNS": "80"} | environment
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=given):
        os.close(theirs)
        text = b""
        while chunk := _read(ours):
            text += chunk
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def test_a_table_that_fits_has_columns():
    lines = shown(WIDE.replace("COLUMNS", "3"), NO_COLOR="1").splitlines()
    assert any("value 0 of row 1" in line and "value 2 of row 1" in line for line in lines)


def test_a_table_that_is_too_wide_has_a_record_per_row():
    text = shown(WIDE.replace("COLUMNS", "12"), NO_COLOR="1")
    lines = [
        line.replace("\x1b[1m", "").replace("\x1b[0m", "").split() for line in text.splitlines()
    ]
    assert ["column_11", "value", "11", "of", "row", "1"] in lines
    assert ["n", "2"] in lines
    assert [line[:2] for line in lines if line[:1] == ["row"]] == [["row", "1"], ["row", "2"]]
    assert max(map(len, text.splitlines())) <= 80 + len("\x1b[1m\x1b[0m")


@pytest.mark.parametrize("plain", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_it_is_not_wanted(plain):
    code = "from stratalog.cli.show import show_error, show_warning; show_error('S1: no'); "
    code += "show_warning('W1: hm')"
    assert shown(code, **plain) == "S1: no\nwarning: W1: hm\n"
    assert shown(code, NO_COLOR="").startswith("\x1b[1;31mS1\x1b[0m: no")
