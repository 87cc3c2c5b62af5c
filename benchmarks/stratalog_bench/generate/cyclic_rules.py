"""Rules with cyclic bodies, for which joining two atoms at a time does too much.

Both are after Zhang, Hu, Nenov, Horrocks: Enhancing Datalog Reasoning with Hypertree
Decompositions (2023).
"""

from __future__ import annotations

import numpy as np

from stratalog_bench.generate.draws import Draws, Numbers
from stratalog_bench.generate.parameters import whole
from stratalog_bench.generate.workload import Rows, Workload, rows_of

COLLABORATORS = """\
possible(?x, ?y) :- coworker(?x, ?u), coauthor(?x, ?v), possible(?u, ?y), possible(?v, ?y) .
"""
OPERATIONS = {"plus": "+", "minus": "-", "times": "*"}
EXPRESSIONS = "".join(
    f"value(?i, ?n) :- {name}(?e, ?l, ?r), of(?i, ?e), of(?j, ?l), of(?k, ?r),\n"
    "    set(?i, ?s), set(?j, ?s), set(?k, ?s), value(?j, ?a), value(?k, ?b),"
    f" BIND(?a {sign} ?b AS ?n) .\n"
    for name, sign in OPERATIONS.items()
)
SMALLEST, LARGEST = -2, 2  # products of the leaves of a tree of depth 5 stay below 2**32


def collaborators(people: int = 500, partners: int = 100, seed: int = 0) -> Workload:
    """Return the data set of section 3, people named at random.

    Every pair of a coworker and a coauthor is tried in vain but one per possible partner:
    `people * partners + partners` facts are derived from `people * partners**2` pairs.
    """
    n, k = whole("people", people, least=4), whole("partners", partners, least=1)
    names = Draws(whole("seed", seed)).shuffled(n + 1 + 2 * n * k + k)
    a, b, c, d = np.split(names, np.cumsum([n + 1, n * k, n * k]))
    who, last = np.repeat(a[:n], k), np.array([a[n]])
    partner = np.tile(d, n)
    facts = {
        "coworker": rows_of(np.append(who, last), np.append(b, a[2])),
        "coauthor": rows_of(np.append(who, last), np.append(c, a[3])),
        "possible": np.concatenate([rows_of(b, partner), rows_of(c, partner)]),
    }
    return Workload(facts, dict.fromkeys(facts, ("person", "other")), COLLABORATORS)


def expressions(expressions: int = 300, sets: int = 300, depth: int = 5, seed: int = 0) -> Workload:
    """Return expression trees, to be evaluated for several sets of values of their leaves (Exp).

    A node above the greatest depth is an operation with probability 2/3, the root always. For each
    set a node has an instance: `of(instance, node)`, `set(instance, set)`, `value(instance, n)`.
    """
    whole("expressions", expressions, least=1)
    whole("sets", sets, least=1)
    draws = Draws(whole("seed", seed))
    inner, children, count = _trees(draws, expressions, whole("depth", depth, least=1, most=5))
    facts: dict[str, Rows] = {}
    operation = draws.below(len(OPERATIONS), len(inner))
    for place, name in enumerate(OPERATIONS):
        chosen = operation == place
        facts[name] = rows_of(inner[chosen], children[chosen, 0], children[chosen, 1])
    instances = np.arange(count, count + count * sets)
    nodes = np.repeat(np.arange(count), sets)
    facts["of"] = rows_of(instances, nodes)
    facts["set"] = rows_of(instances, np.tile(np.arange(sets), count))
    is_leaf = np.ones(count, np.bool_)
    is_leaf[inner] = False
    leaves = instances[is_leaf[nodes]]
    facts["value"] = rows_of(leaves, draws.between(SMALLEST, LARGEST, len(leaves)))
    return Workload(facts, _expression_names(), EXPRESSIONS)


def _expression_names() -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys(OPERATIONS, ("node", "left", "right"))
    return names | {"of": ("instance", "node"), "set": ("instance", "number"),
                    "value": ("instance", "number")}  # fmt: skip


def _trees(draws: Draws, roots: int, depth: int) -> tuple[Numbers, Numbers, int]:
    """Return the operations, their two children each, and how many nodes there are, by levels."""
    level = np.arange(roots, dtype=np.int64)
    count = roots
    inner, children = [], []
    for above in range(depth):
        is_inner = draws.below(3, len(level)) < 2 if above else np.ones(len(level), np.bool_)  # noqa: PLR2004  # 2/3
        parents = level[is_inner]
        level = np.arange(count, count + 2 * len(parents), dtype=np.int64)
        count += len(level)
        inner.append(parents)
        children.append(level.reshape(-1, 2))
    return np.concatenate(inner), np.concatenate(children), count
