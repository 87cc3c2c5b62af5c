"""The command as its own process: signals, pipes, terminals, the first run."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stratalog.kernels.cache import file_prefix
from stratalog.kernels.every import all_kernels

STRATALOG = (sys.executable, "-m", "stratalog")


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_a_long_run_and_nothing_is_written(folder, kind):
    Path("big.dlog").write_text("big(?a, ?b, ?c, ?d) :- n(?a), n(?b), n(?c), n(?d), ?a = ?b .")
    Path("n.csv").write_text("".join(f"{i}\n" for i in range(3000)))
    arguments = [*STRATALOG, "materialise", "big.dlog", "n.csv", "--store", "kb"]
    with subprocess.Popen(arguments, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        wait_until_it_listens(process)
        time.sleep(2)  # into the run
        assert process.poll() is None
        process.send_signal(kind)
        sent = time.monotonic()
        _, said = process.communicate(timeout=60)
    assert time.monotonic() - sent < 5
    assert process.returncode == 4
    assert "E105: cancelled; nothing was written" in said
    assert "Traceback" not in said
    assert not Path("kb").exists()


def wait_until_it_listens(process):
    """Wait until the command has its handler of SIGTERM, which it sets first of all."""
    status = Path(f"/proc/{process.pid}/status")
    for _ in range(600):
        caught = re.search(r"SigCgt:\t(\w+)", status.read_text())[1]
        if int(caught, 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.1)
    pytest.fail("the command has not begun")


def test_a_reader_that_has_seen_enough_is_no_error(command, folder):
    Path("n.csv").write_text("".join(f"{i}\n" for i in range(100_000)))
    command("materialise", "rules.dlog", "n.csv", "--store", "kb")
    arguments = [*STRATALOG, "facts", "kb", "n", "--format", "csv"]
    with subprocess.Popen(
        arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0
    assert b"Error" not in said


@pytest.mark.slow
def test_a_terminal_gets_ruled_tables_colours_and_a_limit(command, folder):
    Path("n.csv").write_text("".join(f"{i}\n" for i in range(150)))
    command("materialise", "rules.dlog", "n.csv", "--store", "kb")
    shown = _on_terminal(folder, "facts", "kb", "n")
    assert "─" in shown
    assert "the first 100 of 150 are shown; --limit 150 shows all" in shown
    assert "\x1b[1;31mD320\x1b[0m:" in _on_terminal(folder, "facts", "kb", "nothing")


TURNED = "gnp\u202e\x9b31m"


@pytest.mark.parametrize(
    "arguments",
    [
        ("facts", "kb", "edge"),
        ("facts", "kb", "edge", "--format", "csv", "--limit", "1"),
        ("facts", "kb", f"<http://e/{TURNED}>"),
        ("plan", "turned.dlog"),
        ("stats", "kb", "--json", "--profile"),
    ],
    ids=" ".join,
)
def test_what_turns_or_hides_text_is_escaped_on_a_terminal_alone(command, folder, arguments):
    rule = f'twice(?x, "{TURNED}") :- edge(?x, "{TURNED}"), NOT other(?x) .\n'
    Path("turned.dlog").write_text(rule)
    Path("edge.csv").write_text(f"a,{TURNED}\n")
    command("materialise", "turned.dlog", "edge.csv", "--store", "kb")
    shown = _on_terminal(folder, *arguments)
    assert "\u202e" not in shown
    assert "\x9b" not in shown
    assert r"\u202E\u009B31m" in shown.replace("\r\n", "").replace(" ", "")
    done = command(*arguments)
    assert "\u202e" in done.out + done.err


def _on_terminal(folder, *arguments):
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    with subprocess.Popen(
        [*STRATALOG, *arguments], cwd=folder, stdout=theirs, stderr=theirs, env=environment
    ):
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return shown.decode()


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def test_help_starts_without_the_heavy_libraries():
    heavy = "numba numpy pyarrow rich lark pandas"
    code = (
        f"import sys, stratalog.cli.main; print([m for m in '{heavy}'.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_warmup_keeps_every_kernel_in_a_folder_of_ones_choice(tmp_path):
    done = subprocess.run(
        [*STRATALOG, "warmup", "--output", tmp_path / "kernels"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "kernels are ready" in done.stderr
    (folder,) = (tmp_path / "kernels").iterdir()
    kept = {path.name.rsplit(".", 2)[0] for path in folder.glob("*.kernel")}
    assert {file_prefix(place) for place in all_kernels()} <= kept
