"""Ctrl-C while Numba is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import stratalog as sl

PROGRAM = """
import signal, sys
import stratalog as sl

calls = 0

def press_ctrl_c(frame, event, arg):
    '''Raise the signal amid what a module of Numba registers.'''
    global calls
    around = frame.f_back
    if event == "call" and around is not None and around.f_code.co_name == "<module>":
        if around.f_globals["__name__"] == "numba.cpython.unicode":
            calls += 1
            if calls == 120:
                signal.raise_signal(signal.SIGINT)

def answer():
    return sl.open(sys.argv[1], engine="columnar").query("q(?x)").num_rows

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.setprofile(press_ctrl_c)
try:
    answer()
except KeyboardInterrupt:
    print("interrupted")
sys.setprofile(None)
assert calls >= 120
print(answer())
"""


def test_numba_is_imported_whole_whenever_ctrl_c_comes(tmp_path: Path) -> None:
    sl.materialise("q(?x) :- p(?x) .", {"p": [(1,)]}, store=tmp_path / "kb")
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "kb")]
    environment = {**os.environ, "STRATALOG_KERNELS": "compiled"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert (done.stdout, done.returncode) == ("interrupted\n1\n", 0), done.stderr
