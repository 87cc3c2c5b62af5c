"""What maintenance costs: no more than is written down, each instance once, as 001 promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from stratalog.engine.reference import _meets
from tests.oracle import histories
from tests.oracle.named_histories import NAMED
from tests.paper.test_updates import Example, first_example, second_example
from tests.work import update_work


@update_work.USUAL_BLOCKS
def test_no_algorithm_works_more_than_is_written_down():
    grown = update_work.more(update_work.counted(), update_work.kept())
    assert not grown, "\n".join([*grown, f"to write it down: {update_work.RENEW}"])


class Watched:
    """An engine that notes which instances `apply` considers, apart for gains and losses."""

    def __init__(self, engine: Any, met: Counter[Any]) -> None:
        self._engine = engine
        self._met = met

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def apply(self, rules: Any, pos: Any, neg: Any, *deltas: Any, **options: Any) -> Any:
        positive, negative = (*deltas, None, None)[:2]
        for rule in rules:
            if rule.grouping is None:
                for binding in self._engine.instances(rule, pos, neg):
                    if not deltas or _meets(rule, binding, positive, negative):
                        instance = rule.index, tuple(sorted(binding.items()))
                        self._met[instance, options.get("lower", False)] += 1
        return self._engine.apply(rules, pos, neg, *deltas, **options)


@pytest.mark.parametrize("algorithm", ["counting", "dred", "dred-c", "bf", "bf-c"])
@pytest.mark.parametrize("name", [*NAMED, *update_work.LARGER])
def test_each_instance_is_considered_once_per_phase(name: str, algorithm: str):
    """Once among what is lost, once among what is gained, in each stratum of each update."""

    def watched(maintain: Any) -> Any:
        def follow(engine: Any, stratum: Any, changes: Any) -> Any:
            met: Counter[Any] = Counter()
            changed = maintain(Watched(engine, met), stratum, changes)
            assert not [instance for instance, times in met.items() if times > 1]
            return changed

        return follow

    histories.run(update_work.history(name), algorithm, "reference", watched)


SIZES = (8, 16, 32)
EXAMPLES = {
    "1": (first_example, lambda n: " ".join(f'R("a{i}", "c{i}") .' for i in range(n))),
    "2": (second_example, lambda _: 'B("a", "b1", 1) .'),
}


def growth(example: str, algorithm: str) -> float:
    """Return how much more the rows grow from 16 to 32 than from 8 to 16: 2 is linear, 4 square."""
    made, gone = EXAMPLES[example]
    rows = []
    for n in SIZES:
        played = Example(made(n), "columnar")
        before = played.subject.engine.work()
        played.delete(gone(n), algorithm)
        rows.append(played.subject.engine.work() - before)
    return (rows[2] - rows[1]) / (rows[1] - rows[0])


@update_work.USUAL_BLOCKS
@pytest.mark.parametrize("example", EXAMPLES)
def test_001_examples_cost_a_square_with_dred_and_a_line_with_counts(example: str):
    assert growth(example, "dred-c") == pytest.approx(2, abs=0.2)
    assert growth(example, "dred") == pytest.approx(4, abs=0.6)
