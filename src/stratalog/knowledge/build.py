"""From a program and facts to a knowledge base: read, plan, reason."""

from __future__ import annotations

import logging
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stratalog.errors import EngineError, ProgramError
from stratalog.facts.limits import Limits, full_memory_explained
from stratalog.knowledge.adapters import ColumnarHost, Host, Ids, ReferenceHost
from stratalog.knowledge.base import KnowledgeBase
from stratalog.knowledge.options import Options, available_memory, check_options, usual_threads
from stratalog.knowledge.progress import Reporter, plural, reporter
from stratalog.knowledge.reader import Context, choose_reader, open_session, read_all
from stratalog.lang.check import check, undefined_predicates
from stratalog.lang.parse import merge, parse_file, parse_program
from stratalog.lang.syntax import TRIPLE, Atom, Bind, Predicate, Program
from stratalog.lang.terms import IRI_KIND, RDF_TYPE, SAME_AS, Term
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.local import ReadOptions
from stratalog.pipeline.publish import check_target
from stratalog.plan.program import plan_program, predicates_of
from stratalog.plan.rules import Plan, Stratum
from stratalog.plan.triples import is_triple_shaped
from stratalog.reason import seminaive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("stratalog")

MOST_ROUNDS_WITH_BIND = 100_000
"""Rounds of a recursion through BIND before we say that it does not end."""

SHARE_OF_MEMORY = 0.8
"""Of the memory that is free, this much may go to relations if no limit is given."""

MOST_WARNINGS = 3
"""Warnings of one kind before they are told as one: rule sets name much that data lacks."""


def materialise(program: object, facts: object = None, **options: Any) -> KnowledgeBase:  # noqa: ANN401
    """Return a knowledge base that holds every consequence of the program and the facts.

    `program` is a path or text in the rule language, or a list of these; `facts` a dict from
    predicates to rows (tuples, pandas, Polars, Arrow, NumPy), paths, or a list of these. The
    reference lists the options.
    """
    chosen = check_options(**options)
    with reporter(chosen.progress) as report, full_memory_explained("materialising"):
        return _materialise(program, facts, chosen, report)


def load_program(program: object) -> Program:
    """Return the union of programs: paths (Path, or str ending in .dlog), text or parsed."""
    parts = program if isinstance(program, list | tuple) else [program]
    return merge([_load_one(part) for part in parts])


def _load_one(part: object) -> Program:
    if isinstance(part, Program):
        return part
    if isinstance(part, os.PathLike):
        return parse_file(Path(part))
    if isinstance(part, str):
        return parse_file(part) if part.endswith(".dlog") else parse_program(part)
    raise ProgramError(
        "S100",
        f"a program is text, a path or a list of these, not {type(part).__name__}",
        help='write "path(?x, ?y) :- edge(?x, ?y) ." or Path("rules.dlog")',
    )


def _materialise(given: object, facts: object, options: Options, report: Reporter) -> KnowledgeBase:
    begun = time.perf_counter()
    program = load_program(given)
    parsed = time.perf_counter()
    warnings = [str(warning) for warning in check(program)]
    warnings += _equality_warnings(program, options)
    if options.publish is not None:
        check_target(options.publish, options.store)
        report.list_stages()
    dictionary = Dictionary()
    encoded = read_facts(program, facts, options, dictionary, report)
    read = time.perf_counter()
    report("plan", f"{len(program.rules):,} rules")
    plan = plan_program(program, encoded.predicates())
    warnings += _undefined_warnings(program, encoded)
    for warning in warnings:
        log.warning(warning)
    planned = time.perf_counter()
    host = make_host(options, dictionary)
    load(host, plan, encoded, dictionary)
    encoded.release()  # the engine has its own copy, and reasoning needs the room
    loaded = time.perf_counter()
    cpu = time.process_time()
    rounds = run(host, plan, options, report)
    phases = {
        "parse": parsed - begun,
        "read": read - parsed,
        "plan": planned - read,
        "load": loaded - planned,
        "reason": time.perf_counter() - loaded,
        "reason_cpu": time.process_time() - cpu,
    }
    origins = {p: encoded.origin(p) for p in encoded.predicates()}
    kb = KnowledgeBase(program, plan, host, dictionary, options, origins)
    kb.note_run(rounds, phases, warnings + encoded.warnings, encoded.report)
    derived = f"{plural(kb.stats['derived'], 'derived fact')}, {plural(rounds, 'round')}"
    report.finish("reason", derived, time.perf_counter() - read)
    _keep(kb, options, report)
    return kb


def _keep(kb: KnowledgeBase, options: Options, report: Reporter) -> None:
    """Save and publish, as far as that was asked for."""
    if options.store is not None:
        report("save", str(options.store))
        begun = time.perf_counter()
        version = kb.save(options.store)
        kb.note_phase("save", time.perf_counter() - begun)
        report.finish("save", f"{options.store} version {version}", time.perf_counter() - begun)
    if options.publish is not None:
        report("publish", str(options.publish))
        begun = time.perf_counter()
        done = kb.publish(options.publish)
        kb.note_phase("publish", time.perf_counter() - begun)
        size = sum(done.facts.values())
        told = f"{plural(size, 'fact')} in {plural(len(done.facts), 'table')}"
        place = f"{options.publish} version {done.version}"
        report.finish("publish", f"{told} -> {place}", time.perf_counter() - begun)


def read_facts(
    program: Program, facts: object, options: Options, dictionary: Dictionary, report: Reporter
) -> EncodedFacts:
    """Return the explicit facts, those in the program's text included."""
    arities: dict[str, set[int]] = defaultdict(set)
    for predicate in predicates_of(program):
        arities[predicate.name].add(predicate.arity)
    choice = choose_reader(facts, options, program.prefixes)
    spark = _start_spark(options, report) if choice.by_spark else None
    report("read", "facts")
    watch = _ReadWatch(report)
    reading = ReadOptions(options.graphs, options.header, options.on_bad_input, watch)
    context = Context(program.declarations, arities, program.prefixes, dictionary, reading)
    encoded = read_all(facts, context, spark)
    _add_program_facts(program.facts, encoded, dictionary)
    encoded.warnings[:0] = choice.warnings
    watch.finish(encoded, dictionary, by_spark=choice.by_spark)
    return encoded


class _ReadWatch:
    """Tells how far reading is, and when the last byte had been read."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._begun = self._last = time.perf_counter()

    def __call__(self, path: str, done: int, total: int) -> None:
        self._last = time.perf_counter()
        self._report("read", f"{path} {done / max(1, total):.0%}")

    def finish(self, encoded: EncodedFacts, dictionary: Dictionary, *, by_spark: bool) -> None:
        """Tell what was read; Spark's workers read and the driver encodes, which are two stages."""
        now = time.perf_counter()
        facts = f"{plural(encoded.count, 'fact')}, {plural(len(dictionary), 'constant')}"
        if not by_spark:
            self._report.finish("read", facts, now - self._begun)
            return
        size = plural(encoded.report.bytes, "byte")
        self._report.finish("read", size, self._last - self._begun)
        self._report.finish("encode", facts, now - self._last)


def _start_spark(options: Options, report: Reporter) -> SparkSession:
    """Return the session that reads, started if there is none yet."""
    report.list_stages()
    report("spark", "starting")
    begun = time.perf_counter()
    spark = open_session(options)
    report.finish("spark", str(spark.sparkContext.master), time.perf_counter() - begun)
    return spark


def _add_program_facts(
    facts: Iterable[Atom], encoded: EncodedFacts, dictionary: Dictionary
) -> None:
    by_predicate: dict[Predicate, list[Atom]] = defaultdict(list)
    for fact in facts:
        by_predicate[fact.predicate].append(fact)
    for predicate, atoms in by_predicate.items():
        flat = [a for atom in atoms for a in atom.args if isinstance(a, Term)]
        ids = dictionary.encode(flat).reshape(len(atoms), predicate.arity)
        origin = encoded.origin(predicate) if predicate in encoded else "table"
        columns = [np.ascontiguousarray(ids[:, c]) for c in range(predicate.arity)]
        encoded.add(predicate, columns, len(atoms), origin)


def _undefined_warnings(program: Program, encoded: EncodedFacts) -> list[str]:
    """Return a warning per body predicate without facts and rules, or one for many."""
    found = undefined_predicates(program, encoded.predicates())
    if len(found) <= MOST_WARNINGS:
        return [str(warning) for warning in found]
    return [
        f"W301: {len(found)} body predicates have neither facts nor rules; the first:\n"
        + str(found[0]).partition("\n")[2]
    ]


def _equality_warnings(program: Program, options: Options) -> list[str]:
    same_as = Predicate(f"<{SAME_AS}>", 2)
    derives = any(
        isinstance(h, Atom) and h.predicate == same_as for r in program.rules for h in r.heads
    )
    if options.equality != "auto" or not derives:
        return []
    message = "W310: a rule derives owl:sameAs, which is treated as an ordinary predicate"
    advice = 'equality by rewriting is not supported yet; equality="off" says that this is meant'
    return [f"{message}\n  help: {advice}"]


def make_host(options: Options, dictionary: Dictionary) -> Host:
    """Return an empty engine of the chosen kind."""
    memory = options.memory
    if memory is None and (available := available_memory()) is not None:
        memory = int(SHARE_OF_MEMORY * available)
    limits = Limits(memory, options.max_facts, options.timeout)
    if options.engine == "reference":
        return ReferenceHost(dictionary, limits)
    return ColumnarHost(dictionary, limits, options.threads or usual_threads())


def load(host: Host, plan: Plan, encoded: EncodedFacts, dictionary: Dictionary) -> None:
    """Give the explicit facts to the engine, as triples if the plan stores them so."""
    for predicate, columns, size in encoded:
        if plan.stored_as_triples and is_triple_shaped(predicate):
            host.load(TRIPLE, triple_columns(predicate, columns, size, dictionary), size)
        else:
            host.load(predicate, columns, size)


def triple_columns(
    predicate: Predicate, columns: Sequence[Ids], size: int, dictionary: Dictionary
) -> list[Ids]:
    """Return the columns (subject, predicate, object) of facts of an IRI-named predicate."""
    name, rdf_type = dictionary.encode([Term(IRI_KIND, predicate.name[1:-1]), RDF_TYPE])
    if predicate.arity == 1:
        return [columns[0], np.full(size, rdf_type, np.uint32), np.full(size, name, np.uint32)]
    return [columns[0], np.full(size, name, np.uint32), columns[1]]


def run(host: Host, plan: Plan, options: Options, report: Reporter) -> int:
    """Materialise and return the number of rounds."""
    endless = {s: _binds(stratum) for s, stratum in enumerate(plan.strata)}
    first: dict[int, int] = {}

    def watch(s: int, rounds: int, delta: int) -> None:
        report(
            "reason", f"stratum {s + 1} of {len(plan.strata)}, round {rounds}, {delta:,} new facts"
        )
        begun = first.setdefault(s, rounds)
        bounded = options.max_facts is not None or options.timeout is not None
        if endless[s] and not bounded and rounds - begun > MOST_ROUNDS_WITH_BIND:
            raise EngineError(
                "E104",
                f"no end after {MOST_ROUNDS_WITH_BIND:,} rounds of a recursion with BIND: "
                + endless[s],
                help="bound the values with FILTER, or set max_facts= or timeout= to go on",
            )

    report("reason", f"{len(plan.strata)} strata")
    host.limits.start()
    return seminaive.materialise(host.engine, plan.strata, watch)


def _binds(stratum: Stratum) -> str:
    """Return a recursive rule of the stratum that has a BIND, as text, or nothing."""
    for rule in stratum.recursive:
        if rule.origin and any(isinstance(b, Bind) for b in rule.builtins):
            return rule.origin.text
    return ""
