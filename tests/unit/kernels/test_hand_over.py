"""A kernel that has begun interpreted goes on compiled, in the middle of a join."""

import json
import os
import subprocess
import sys

import pytest

CODE = """
import json
import stratalog as sl
from stratalog.kernels import jit
from stratalog.kernels.plan import interpreter as plan

jit.LOADING_SECONDS = jit.MIN_BUDGET_SECONDS = jit.BUDGET_SECONDS_PER_KERNEL = 0.0
jit.MAX_STEPS = {steps}
begun = plan.evaluate_all_rows
kb = sl.materialise(
    "two(?x, ?z) :- one(?x, ?y), one(?y, ?z) . back(?y) :- one(?x, ?y), NOT one(?y, ?x) .",
    {{"one": [(n, (7 * n + k) % 300) for n in range(300) for k in range(8)]}},
    progress=False,
)
derivations = kb.stats["derivations"]
kb.update(delete={{"one": [(0, 0), (0, 1)]}})
was_interpreted, is_compiled = begun.seconds > 0, plan.evaluate_all_rows is not begun
facts = {{name: sorted(kb[name]) for name in ("two", "back")}}
print(json.dumps([was_interpreted, is_compiled, derivations, facts]))
"""


def run(steps, **environment):
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(steps=steps)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_facts_and_derivations_are_those_of_compiled_kernels():
    was_interpreted, is_compiled, *found = run(steps=2, STRATALOG_KERNELS="auto")
    assert (was_interpreted, is_compiled) == (True, True)
    was_interpreted, is_compiled, *wanted = run(steps=1_000, STRATALOG_KERNELS="compiled")
    assert (was_interpreted, is_compiled) == (False, True)
    assert found == wanted
    was_interpreted, is_compiled, *found = run(steps=1_000, STRATALOG_KERNELS="interpreted")
    assert (was_interpreted, is_compiled) == (True, False)
    assert found == wanted
