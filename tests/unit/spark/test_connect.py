"""Spark Connect with a real server, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.slow
def test_frames_of_spark_connect_are_facts_and_its_sessions_are_refused(tmp_path: Path):
    pytest.importorskip("pyspark")
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    command = [sys.executable, "-m", "tests.connect_smoke", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
