"""The finest stratification: a stratum per strongly connected component of predicates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from stratalog.errors import ProgramError
from stratalog.lang.syntax import Predicate
from stratalog.plan.rules import PlannedRule, Stratum

Graph = Mapping[Predicate, Sequence[Predicate]]


def stratify(rules: Sequence[PlannedRule], data: Iterable[Predicate] = ()) -> tuple[Stratum, ...]:
    """Return the strata in evaluation order; predicates without rules form the first one."""
    by_head: dict[Predicate, list[PlannedRule]] = defaultdict(list)
    for rule in rules:
        by_head[rule.head.predicate].append(rule)
    graph = {head: list(_reads(heads)) for head, heads in by_head.items()}
    components = list(strongly_connected(graph))
    component_of = {p: i for i, component in enumerate(components) for p in component}
    _refuse_negative_cycles(rules, graph, component_of)
    given = set(data) | {p for reads in graph.values() for p in reads}
    strata = [Stratum(frozenset(given - by_head.keys()), (), ())]
    strata += [
        _stratum(component, [rule for p in sorted(component) for rule in by_head[p]])
        for component in components
        if component <= by_head.keys()
    ]
    return tuple(strata)


def _reads(rules: Iterable[PlannedRule]) -> dict[Predicate, None]:
    return {a.predicate: None for rule in rules for a in (*rule.body, *rule.negated)}


def _stratum(predicates: frozenset[Predicate], rules: list[PlannedRule]) -> Stratum:
    recursive = [r for r in rules if any(a.predicate in predicates for a in r.body)]
    nonrecursive = [r for r in rules if not any(a.predicate in predicates for a in r.body)]
    return Stratum(predicates, tuple(nonrecursive), tuple(recursive))


def strongly_connected(graph: Graph) -> Iterator[frozenset[Predicate]]:
    """Yield the components, each after those it points to (Tarjan, without recursion)."""
    index: dict[Predicate, int] = {}
    low: dict[Predicate, int] = {}
    stack: list[Predicate] = []
    on_stack: set[Predicate] = set()
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph.get(root, ())))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(graph.get(successor, ()))))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    yield _pop_component(node, stack, on_stack)


def _pop_component(
    node: Predicate, stack: list[Predicate], on_stack: set[Predicate]
) -> frozenset[Predicate]:
    component = {node}
    while (member := stack.pop()) != node:
        component.add(member)
    on_stack -= component
    return frozenset(component)


def levels(strata: Sequence[Stratum]) -> list[int]:
    """Return for each stratum the length of the longest chain of strata below it."""
    level_of: dict[Predicate, int] = {}
    result = []
    for stratum in strata:
        rules = stratum.nonrecursive + stratum.recursive
        below = [level_of[p] for p in _reads(rules) if p not in stratum.predicates]
        level = 1 + max(below, default=0) if rules else 0
        level_of.update(dict.fromkeys(stratum.predicates, level))
        result.append(level)
    return result


def _refuse_negative_cycles(
    rules: Sequence[PlannedRule], graph: Graph, component_of: Mapping[Predicate, int]
) -> None:
    for rule in rules:
        head = rule.head.predicate
        strict = [a.predicate for a in rule.negated]
        if rule.grouping is not None:
            strict += [a.predicate for a in rule.body]
        for predicate in strict:
            if component_of.get(predicate) == component_of[head]:
                raise _unstratifiable(rule, predicate, _path(graph, predicate, head))


def _path(graph: Graph, start: Predicate, goal: Predicate) -> list[Predicate]:
    """Return a shortest path in the graph from start to goal."""
    came_from: dict[Predicate, Predicate | None] = {start: None}
    queue = [start]
    for node in queue:
        for successor in graph.get(node, ()):
            if successor not in came_from:
                came_from[successor] = node
                queue.append(successor)
    path = [goal]
    while (previous := came_from[path[-1]]) is not None:
        path.append(previous)
    return path[::-1]


def _unstratifiable(rule: PlannedRule, predicate: Predicate, path: list[Predicate]) -> ProgramError:
    if "within" in predicate.name and predicate.name.startswith("$"):
        return _error(
            rule,
            "S303",
            "a built-in inside NOT looks at a variable that a recursive atom binds",
            "bind the variable inside NOT by an atom, or by an atom outside that is not recursive",
        )
    word = "an AGGREGATE" if rule.grouping is not None else "NOT"
    visible = [p.name for p in path if not p.name.startswith("$")]
    steps = [rule.head.predicate.name, predicate.name, *visible]
    shown = [name for name in steps if not name.startswith("$")]
    cycle = [name for i, name in enumerate(shown) if i == 0 or name != shown[i - 1]]
    if len(cycle) == 1 or cycle[0] != cycle[-1]:
        cycle.append(cycle[0])
    return _error(
        rule,
        "S301",
        f"the program cannot be stratified: a predicate depends on itself through {word}",
        f"break the cycle {' -> '.join(cycle)} (each depends on the next)",
    )


def _error(rule: PlannedRule, code: str, message: str, advice: str) -> ProgramError:
    place = rule.origin.place if rule.origin else None
    return ProgramError(
        code,
        message,
        path=place.path if place else None,
        line=place.line if place else None,
        source=rule.origin.text if rule.origin else None,
        help=advice,
    )
