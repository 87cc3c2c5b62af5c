"""Materialise RDF data with Stratalog and with nemo-python in one run; print and save the
comparison.

    python benchmarks/nemo.py RULES.dlog DATA.nt.gz [--runs 5] [--json FILE]

Facts per predicate are compared before any time is shown. Both start from relations split by
predicate and encoded as integers (nemo reads them from CSV), so that reasoning alone can be
compared; loading is printed for both. CPU seconds, the minimum of the runs, single thread.
Stratalog keeps both derivation counts, nemo none.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path

import nmo_python
import numpy as np

from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.knowledge.build import load_program
from stratalog.lang.syntax import Atom, Predicate, Variable
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.objects import encode_facts
from stratalog.plan.program import plan_program
from stratalog.reason import seminaive


def main() -> None:
    options = _options()
    program = load_program(options.rules)
    dictionary = Dictionary()
    begun = time.process_time()
    encoded = encode_facts(options.data, prefixes=program.prefixes, dictionary=dictionary)
    parse = time.process_time() - begun
    plan = plan_program(program, encoded.predicates())
    ours = [_ours(plan, encoded, dictionary) for _ in range(options.runs + 1)][
        1:
    ]  # the first compiles
    with tempfile.TemporaryDirectory() as folder:
        peers = [_nemo(plan, encoded, Path(folder)) for _ in range(options.runs)]
    _compare(ours[0]["facts"], peers[0]["facts"])
    result = _result(ours, peers, parse)
    _show(result)
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rules")
    parser.add_argument("data", nargs="+")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    return parser.parse_args()


def _ours(plan, encoded, dictionary) -> dict:
    engine = ColumnarEngine(dictionary)
    begun = time.process_time()
    for predicate, columns, size in encoded:
        engine.load(predicate, columns, size)
    loaded = time.process_time()
    seminaive.materialise(engine, plan.strata)
    reasoned = time.process_time()
    facts = {p: engine.size(p) for p in engine.relations if not p.name.startswith("$")}
    derivations = sum(cost.derivations for cost in engine.profile().values())
    binary = [p for p in engine.relations if p.arity == 2]
    for predicate in binary:  # both indexes, whether this program needs them or not
        for column in (0, 1):
            engine.relation(predicate).index((column,)).catch_up(engine.relation(predicate))
    engine.trim()
    per_fact = engine.nbytes(binary) / max(1, sum(engine.relations[p].rows for p in binary))
    return {
        "facts": facts,
        "load": loaded - begun,
        "reason": reasoned - loaded,
        "derivations": derivations,
        "bytes_per_binary_fact": per_fact,
    }


def _nemo(plan, encoded, folder: Path) -> dict:
    names = {p: f"p{i}" for i, p in enumerate(sorted(_all_predicates(plan, encoded)))}
    lines = []
    for predicate, columns, size in encoded:
        path = folder / f"{names[predicate]}.csv"
        if size and not path.exists():
            np.savetxt(path, np.array(columns).T, fmt="%d", delimiter=",")
        if size:
            columns_text = ", ".join(["int"] * predicate.arity)
            lines.append(
                f'@import {names[predicate]} :- csv{{resource="{path}", format=({columns_text})}} .'
            )
    lines += [_nemo_rule(rule, names) for rule in plan.rules]
    lines += [f"@output {name} ." for name in names.values()]
    engine = nmo_python.NemoEngine(nmo_python.load_string("\n".join(lines)))
    engine.reason()
    execution = engine.timing().subnode("Reasoning").subnode("Execution")
    load = execution.subnode("Load Table").process_time.total_seconds()
    facts = {p: sum(1 for _ in engine.result(name)) for p, name in names.items()}
    return {"facts": facts, "load": load, "reason": execution.process_time.total_seconds() - load}


def _all_predicates(plan, encoded) -> set[Predicate]:
    used = {a.predicate for rule in plan.rules for a in (rule.head, *rule.body)}
    return used | set(encoded.predicates())


def _nemo_rule(rule, names) -> str:
    if rule.negated or rule.builtins or rule.grouping:
        sys.exit("this benchmark compares positive rules only")

    def atom(a: Atom) -> str:
        args = (f"?{x.name}" if isinstance(x, Variable) else f'"{x.text}"' for x in a.args)
        return f"{names[a.predicate]}({', '.join(args)})"

    return f"{atom(rule.head)} :- {', '.join(atom(a) for a in rule.body)} ."


def _compare(ours: dict[Predicate, int], theirs: dict[Predicate, int]) -> None:
    different = {p: (ours.get(p, 0), n) for p, n in theirs.items() if ours.get(p, 0) != n}
    if different:
        sys.exit(f"facts differ (ours, nemo): {different}")


def _result(ours: list[dict], peers: list[dict], parse: float) -> dict:
    def least(runs: list[dict], key: str) -> float:
        return round(min(run[key] for run in runs), 4)

    facts = sum(ours[0]["facts"].values())
    reason, peer_reason = least(ours, "reason"), least(peers, "reason")
    return {
        "facts": facts,
        "derivations": ours[0]["derivations"],
        "stratalog": {"parse": round(parse, 4), "load": least(ours, "load"), "reason": reason},
        "nemo": {"load": least(peers, "load"), "reason": peer_reason},
        "times_faster": round(peer_reason / reason, 1),
        "bytes_per_binary_fact": round(ours[0]["bytes_per_binary_fact"], 1),
        "resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "machine": platform.processor() or platform.machine(),
        "unit": "CPU seconds, minimum of runs",
    }


def _show(result: dict) -> None:
    print(f"{result['facts']:,} facts, {result['derivations']:,} derivations; both agree")
    print(f"{'CPU seconds':<12}{'load':>10}{'reason':>10}")
    for name in ("stratalog", "nemo"):
        print(f"{name:<12}{result[name]['load']:>10.3f}{result[name]['reason']:>10.3f}")
    print(f"parsing the RDF and encoding it took Stratalog {result['stratalog']['parse']:.3f} s")
    print(f"reasoning: {result['times_faster']} times faster than nemo")
    print(
        f"{result['bytes_per_binary_fact']} bytes per binary fact, both indexes included;"
        f" resident {result['resident_bytes'] / 2**20:,.0f} MiB (both systems)"
    )


if __name__ == "__main__":
    main()
