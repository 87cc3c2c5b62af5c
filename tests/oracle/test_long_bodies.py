"""Rules with many atoms are evaluated and maintained as the judge says, by every algorithm.

Relations are almost functions, so that long bodies have few instances.
"""

from __future__ import annotations

from random import Random

import pytest

from stratalog.engine.columnar import planned
from tests import naive
from tests.oracle import histories
from tests.oracle.named_histories import history_of

ALGORITHMS = [*histories.ALGORITHMS, histories.MIXED]
NAMES, DOMAIN = "abcdef", 4
PROGRAMS = range(24)


def body(random: Random, atoms: int, kind: str) -> list[str]:
    """Return random atoms: a chain, a star, parts that share no variable, or all of these."""
    found = []
    for i in range(atoms):
        name, shape = random.choice(NAMES), kind
        if kind == "mixed":
            shape = random.choice(["chain", "chain", "star", "parts", "closed", "turned"])
        x = random.randrange(i + 1) if kind == "mixed" else i
        match shape:
            case "chain":
                found.append(f"{name}(?x{x}, ?x{i + 1})")
            case "turned":
                found.append(f"{name}(?x{i + 1}, ?x{x})")
            case "star":
                found.append(f"{name}(?x0, ?x{i + 1})")
            case "closed":
                found.append(f"{name}(?x{x}, ?x{random.randrange(i + 1)})")
            case _:
                found.append(f"{name}({random.randrange(DOMAIN)}, ?y{i})")
    if kind == "mixed":
        found.append(f"{random.choice(NAMES)}(?x0, ?x1)")
        random.shuffle(found)
    return found


def checks(random: Random, atoms: list[str]) -> list[str]:
    """Return some filters and negated atoms over the variables of a body."""
    variables = sorted({arg.strip(" )") for a in atoms for arg in a[2:].split(",") if "?" in arg})
    found = [f"{random.choice(variables)} < 5", f"NOT n({random.choice(variables)})"]
    return [each for each in found if random.random() < 0.4]


def program(random: Random) -> str:
    kind = random.choice(["chain", "star", "parts", "mixed", "mixed"])
    atoms = body(random, random.randint(8, 24), kind)
    start = "?y0" if kind == "parts" else "?x0"
    if not any(start in atom for atom in atoms):
        atoms.append(f"a({start}, 0)")
    rules = [f"p({start}, {start}) :- {', '.join(atoms + checks(random, atoms))} ."]
    if random.random() < 0.4:
        steps = [f"{random.choice(NAMES)}(?x{i}, ?x{i + 1})" for i in range(random.randint(8, 12))]
        rules.append(f"p(?z, ?x{len(steps)}) :- p(?z, ?x0), {', '.join(steps)} .")
    return " ".join(rules)


def facts(random: Random) -> list[str]:
    found = []
    for name in NAMES:
        images = random.sample(range(DOMAIN), DOMAIN)
        found += [f"{name}({x}, {y}) ." for x, y in enumerate(images)]
    return [*found, f"n({random.randrange(2 * DOMAIN)}) ."]


def history(seed: int) -> histories.History:
    """Return a program and a few updates of a few facts."""
    random = Random(seed)
    explicit = facts(random)
    steps = []
    for _ in range(4):
        gone = random.sample(explicit, random.randint(0, 2))
        come = [
            f.replace(f[2], str(random.randrange(DOMAIN)), 1) for f in random.sample(explicit, 1)
        ]
        steps.append((" ".join(gone), " ".join(come) if random.random() < 0.7 else ""))
        steps.append(("", " ".join(gone)))
    return history_of(program(random) + " ".join(explicit), *steps)


@pytest.mark.parametrize("seed", PROGRAMS)
def test_rules_with_many_atoms_are_maintained(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planned, "LARGE_DELTA_ROWS", 1 if seed % 2 else planned.LARGE_DELTA_ROWS)
    made = history(seed)
    try:
        made.judge_all()
    except naive.TooLargeError:
        pytest.skip("too many instances for the judge")
    for algorithm in ALGORITHMS:
        histories.run(made, algorithm, "columnar")
