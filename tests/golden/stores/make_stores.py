"""Writes the stores of this folder, and what each version of them must hold by the judge.

    python -m tests.golden.stores.make_stores NAME...     stores that are not there yet

The stores were written by earlier commits, so that later ones are tested with what users already
have on disk. They are never written anew: a store of a later format gets a new name here, and the
commit that wrote it stands in its `expected.json`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import stratalog as sl
from stratalog.lang.parse import parse_program
from stratalog.lang.printer import show
from stratalog.lang.syntax import Atom, Program
from stratalog.lang.terms import IRI_KIND, RDF_TYPE, Term
from stratalog.lang.values.terms import python_value
from stratalog.pipeline.store import Store
from tests import naive
from tests.golden.stores.closure_recipes import CLOSURES
from tests.golden.stores.recipes import RECIPES, Recipe, Step
from tests.golden.stores.spark_recipes import ON_SPARK
from tests.golden.test_golden import written
from tests.naive import Fact

HERE = Path(__file__).parent
WIDTH = 110
PREFIXES = ["@prefix d: <http://d/> ."]  # of data that is given as Turtle


# ---- What the judge says -----------------------------------------------------------------------


def facts_of(text: str) -> set[Fact]:
    """Return the facts that a text spells."""
    return naive.explicit_facts(parse_program(text))


def spelled(facts: Iterable[Fact]) -> list[str]:
    """Return facts as the rule language writes them, some a line; `facts_of` reads them back."""
    lines = [""]
    for fact in sorted(show(Atom(predicate, row)) for predicate, row in facts):
        if len(lines[-1]) + len(fact) > WIDTH:
            lines.append("")
        lines[-1] += f" {fact} ." if lines[-1] else f"{fact} ."
    return [line for line in lines if line]


def judged(rules: str, explicit: set[Fact]) -> set[Fact]:
    return naive.materialise(parse_program(rules), explicit)


def answers(rules: str, query: str, explicit: set[Fact]) -> list[str]:
    found = judged(rules + query, explicit)
    return spelled(fact for fact in found if fact[0].name == "answer")


def expected(recipe: Recipe) -> dict[str, Any]:
    """Return what all versions of a store hold, and what holds after the update of the tests.

    The first version lists its facts, later ones how they differ from the version before.
    """
    states = [(recipe.rules, facts_of(recipe.rules + recipe.facts))]
    for step in recipe.steps:
        rules, explicit = states[-1]
        explicit = explicit - facts_of(step.delete) | facts_of(step.insert)
        states.append((rules if step.rules is None else step.rules, explicit))
    rules, explicit = states[-1]
    after = rules, explicit - facts_of(recipe.delete) | facts_of(recipe.insert)
    return {
        "options": recipe.options,
        "dropped": list(recipe.drops),
        "versions": _as_differences(states),
        "query": recipe.query,
        "answers": answers(rules, recipe.query, explicit),
        "insert": spelled(facts_of(recipe.insert)),
        "delete": spelled(facts_of(recipe.delete)),
        "after": _as_differences([states[-1], after])[-1],
        "answers after": answers(rules, recipe.query, after[1]),
    }


def _as_differences(states: Sequence[tuple[str, set[Fact]]]) -> list[dict[str, Any]]:
    old: dict[str, set[Fact]] = {"explicit": set(), "derived": set()}
    versions = []
    for rules, explicit in states:
        new = {"explicit": explicit, "derived": judged(rules, explicit) - explicit}
        one: dict[str, Any] = {"rules": rules.splitlines()}
        for kind, facts in new.items():
            one[f"{kind} +"] = spelled(facts - old[kind])
            one[f"{kind} -"] = spelled(old[kind] - facts)
        versions.append(one)
        old = new
    return versions


# ---- What Stratalog writes ---------------------------------------------------------------------


def tables(facts: Iterable[Fact]) -> dict[str, list[tuple[object, ...]]]:
    """Return facts as `materialise` and `update` take them."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for predicate, row in sorted(facts):
        name = predicate.name
        found.setdefault(name, []).append(tuple(python_value(term) for term in row))
    return found


def make(recipe: Recipe, target: Path) -> None:
    """Write the store of a recipe."""
    with tempfile.TemporaryDirectory() as folder:
        given = _given(recipe, Path(folder))
        program = recipe.rules + (recipe.facts if recipe.given_as == "program" else "")
        kb = sl.materialise(program, given, store=target, **recipe.options)
        for number, step in enumerate(recipe.steps):
            _take(kb, step, Path(folder), number)
        kb.close()
    for number in () if "keep" in recipe.options else recipe.drops:
        Store.open(target).drop(number)


def _given(recipe: Recipe, folder: Path) -> Any:
    facts = sorted(facts_of(recipe.facts))
    if recipe.given_as == "program":
        return None
    if recipe.given_as == "tables":
        return tables(facts)
    names = {"ntriples": "data.nt", "turtle": "data.ttl", "csv": f"{facts[0][0].name}.csv"}
    path = folder / names[recipe.given_as]
    is_csv = path.suffix == ".csv"
    lines = PREFIXES if path.suffix == ".ttl" else []
    lines = [*lines, *(_row(fact[1]) if is_csv else _triple(*fact) for fact in facts)]
    path.write_text("".join(f"{line}\n" for line in lines))
    return [path]


def _triple(predicate: Any, row: Sequence[Term]) -> str:
    name = Term(IRI_KIND, predicate.name[1:-1])
    triple = (row[0], RDF_TYPE, name) if len(row) == 1 else (row[0], name, row[1])
    return " ".join(written(term, plain=False) for term in triple) + " ."


def _row(row: Sequence[Term]) -> str:
    return ",".join(f'"{term.text}"' for term in row)


def _take(kb: sl.KnowledgeBase, step: Step, folder: Path, number: int) -> None:
    insert, delete = facts_of(step.insert), facts_of(step.delete)
    if step.by == "stream":
        _stream(kb, insert, delete, folder, number)
    elif step.rules is None:
        kb.update(insert=tables(insert), delete=tables(delete))
    else:
        before, after = kb._program.rules, parse_program(step.rules).rules
        kb.update(
            insert=tables(insert),
            delete=tables(delete),
            add_rules=show(Program(tuple(r for r in after if show(r) not in map(show, before)))),
            remove_rules=show(Program(tuple(r for r in before if show(r) not in map(show, after)))),
        )


def _stream(
    kb: sl.KnowledgeBase, insert: set[Fact], delete: set[Fact], folder: Path, number: int
) -> None:
    source = folder / "feed" / "edge"
    source.mkdir(parents=True, exist_ok=True)
    changes = {"insert": insert, "delete": delete}
    rows = [
        {"c0": int(row[0].text), "c1": int(row[1].text), "_change_type": how}
        for how, facts in changes.items()
        for _, row in sorted(facts)
    ]
    pq.write_table(pa.Table.from_pylist(rows), source / f"{number}.parquet")
    stream = kb.stream(source.parent, once=True, checkpoint=folder / "checkpoint")
    assert stream.wait(120)


def main() -> None:
    """Write the stores that are asked for, or all that are not there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    known = {**RECIPES, **CLOSURES, **ON_SPARK}
    names = parser.parse_args().names or [n for n in known if not (HERE / n).exists()]
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=HERE, check=True, capture_output=True, text=True
    ).stdout.strip()
    for name in names:
        recipe, folder = known[name], HERE / name
        folder.mkdir()
        make(recipe, folder / "store")
        shutil.rmtree(folder / "store" / "stream", ignore_errors=True)
        content = {"written by": commit, **expected(recipe)}
        (folder / "expected.json").write_text(json.dumps(content, indent=1) + "\n")
        print(name, sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()))  # noqa: T201


if __name__ == "__main__":
    main()
