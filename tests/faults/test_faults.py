"""A few faults of each kind; the long run brings hundreds about."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.faults import FAULTS

ROOT = Path(__file__).parents[2]


def long_run(state, *words):
    command = [sys.executable, "-W", "ignore", "-m", "tests.faults.long_run", "--worlds", "1"]
    command += ["--state", str(state), *words]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_store_survives_some_faults_and_the_run_goes_on_where_it_ended(tmp_path):
    state = tmp_path / "state.json"
    wanted = [word for kind in FAULTS for word in (f"--{kind}", "3")]
    first = long_run(state, *wanted)
    for kind, (chunks, tried, came) in json.loads(state.read_text()).items():
        assert tried == 5 * chunks
        assert came >= 3
        assert f"{came} {kind}" in first[-1]
    assert long_run(state, *wanted) == first[-1:]
