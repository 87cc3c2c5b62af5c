"""Programs with closures run one kind of the plan interpreter, that which reads closures."""

import pytest

import stratalog as sl
from stratalog.kernels.plan import interpreter as plan

CLOSED = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), path(?y, ?z) ."
JOINS = "far(?x, ?z) :- edge(?x, ?y), edge(?y, ?z) . end(?y) :- edge(?x, ?y), NOT edge(?y, ?y) ."
READER = "out(?x) :- path(?x, ?y), far(?x, ?y) ."
EDGES = [(n, n + 1) for n in range(9)]


@pytest.fixture
def called(monkeypatch):
    """The names of the interpreter's kernels that are called."""
    found = set()
    for name in ("evaluate", "evaluate_rows", "evaluate_all", "evaluate_all_rows"):
        kernel = getattr(plan, name)

        def call(*arguments, kernel=kernel, name=name):
            found.add(name)
            return kernel(*arguments)

        monkeypatch.setattr(plan, name, call)
    return found


@pytest.mark.parametrize("rules", [JOINS + CLOSED + READER, JOINS])
def test_one_kind_is_called_from_the_beginning(rules, called):
    kb = sl.materialise(rules, {"edge": EDGES}, engine="columnar", progress=False)
    kb.update(delete={"edge": EDGES[:2]})
    kb.query("far(?x, ?y)")
    wanted = {"evaluate", "evaluate_all"}
    assert called
    assert called <= (wanted if CLOSED in rules else {f"{name}_rows" for name in wanted})
