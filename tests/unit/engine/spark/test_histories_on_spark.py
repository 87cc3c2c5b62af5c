"""After every step of random histories, facts and both counts are those of the columnar engine.

Many histories are renamed apart and followed as one: rounds of Spark cost the same for all.
"""

from __future__ import annotations

from typing import Any

import pytest

from stratalog.engine.spark import engine
from tests.oracle import together


def test_random_histories_are_followed(spark: Any):
    together.run(spark, number=0, size=4, most=3)


def test_random_histories_with_modules_are_followed(spark: Any):
    together.run(spark, number=1, size=3, most=3, kind="modules")


@pytest.mark.parametrize("kind", ["histories", "modules"])
def test_touched_facts_become_segments_before_each_step(
    spark: Any, kind: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine, "OVERLAY", 0)
    monkeypatch.setattr(engine, "SHARE", 1 << 40)
    together.run(spark, number=2, size=3, most=3, kind=kind)
