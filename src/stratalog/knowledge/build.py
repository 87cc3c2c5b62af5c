"""From a program and facts to a knowledge base: read, plan, reason."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from typing import Any

from stratalog.errors import StratalogError, StratalogWarning
from stratalog.facts.labels import E
from stratalog.knowledge.adapters import Host
from stratalog.knowledge.base import KnowledgeBase
from stratalog.knowledge.display.progress import Reporter, plural, reporter
from stratalog.knowledge.doubts import never_joining
from stratalog.knowledge.engines import (
    can_restart,
    estimated_bytes,
    make_host,
    modules_for,
    restarted,
    watch_constants,
)
from stratalog.knowledge.load import check_spark_is_used, load, read_facts
from stratalog.knowledge.options import Options, check_options
from stratalog.knowledge.programs import load_program
from stratalog.knowledge.reader import names_given
from stratalog.knowledge.update.rounds import Endless
from stratalog.lang.check import check, undefined_predicates
from stratalog.lang.effort import digits_up_to
from stratalog.lang.misspelt import misspelt_facts
from stratalog.lang.syntax import Equality, Predicate, Program
from stratalog.lang.terms import SAME_AS
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import RDF, EncodedFacts
from stratalog.plan.program import plan_program
from stratalog.plan.rules import Plan
from stratalog.reason import seminaive
from stratalog.runtime.limits import Limits, full_memory_explained
from stratalog.runtime.telling import Warned
from stratalog.tracebacks import shown_briefly

AGAIN = "the columnar engine has reached its memory limit; all begins again on Spark"

MOST_WARNINGS = 3
"""Warnings of one kind before they are told as one: rule sets name much that data lacks."""


def materialise(program: object, facts: object = None, **options: Any) -> KnowledgeBase:  # noqa: ANN401
    """Return a knowledge base that holds every consequence of the program and the facts.

    `program` is a path or text in the rule language, or a list of these; `facts` a dict from
    predicates to rows (tuples, pandas, Polars, Arrow, NumPy), paths, or a list of these. The
    reference lists the options.
    """
    chosen = check_options(**options)
    with (
        shown_briefly(),
        reporter(chosen.progress) as report,
        full_memory_explained("materialising"),
        digits_up_to(chosen.max_digits),
    ):
        return _materialise(program, facts, chosen, report)


def _materialise(given: object, facts: object, options: Options, report: Reporter) -> KnowledgeBase:
    begun = time.perf_counter()
    program = load_program(given)
    parsed = time.perf_counter()
    warned = Warned()
    warned.tell([*check(program), *_equality_warnings(program, options)])
    if options.publish is not None:
        _prepare_to_publish(options, report)
    check_spark_is_used(facts, options, program)
    dictionary = Dictionary()
    dictionary.max_digits = options.max_digits
    watch_constants(dictionary, Limits(options.memory), "reading facts")
    encoded = read_facts(program, facts, options, dictionary, report, warned)
    read = time.perf_counter()
    report("plan", plural(len(program.rules), "rule"))
    modules = modules_for(options, dictionary, encoded.count)
    plan = plan_program(program, encoded.predicates(), modules=modules)
    warned.tell(_doubts(program, plan, encoded, dictionary, facts))
    planned = time.perf_counter()
    host = make_host(options, dictionary, encoded.count)
    load(host, plan, encoded, dictionary)
    encoded.release()  # the engine has its own copy, and reasoning needs the room
    loaded = time.perf_counter()
    cpu = time.process_time()
    try:
        rounds = run(host, plan, options, report)
    except (StratalogError, MemoryError) as error:
        host, warning = _on_spark(host, options, dictionary, error)
        warned.tell([warning])
        report("reason", AGAIN)
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
    kb.note_run(rounds, phases, warned.texts, encoded.report)
    host.limits.check_facts(kb.stats["facts"], "the program")
    derived = f"{plural(kb.stats['derived'], 'derived fact')}, {plural(rounds, 'round')}"
    report.finish("reason", derived, time.perf_counter() - read)
    _keep(kb, options, report)
    return kb


def _prepare_to_publish(options: Options, report: Reporter) -> None:
    from stratalog.pipeline.publish import check_target

    assert options.publish is not None  # noqa: S101  # the caller has asked
    check_target(options.publish, options.store)
    report.list_stages()


def _on_spark(
    host: Host, options: Options, dictionary: Dictionary, error: Exception
) -> tuple[Host, StratalogWarning]:
    """Return an engine on which to begin again, and what to say about it, or raise the error."""
    if not can_restart(host, options, error):
        raise error
    sizes = [host.size(p, E) for p in host.predicates()]
    needed = estimated_bytes(sum(sizes), dictionary)
    told = f"{plural(sum(sizes), 'explicit fact')}, {needed >> 20:,} MiB were estimated"
    advice = f'engine="spark" begins there; {error}'
    warning = StratalogWarning("W311", f"{AGAIN} ({told})", help=advice)
    return restarted(host, options, dictionary), warning


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


def _doubts(
    program: Program, plan: Plan, encoded: EncodedFacts, dictionary: Dictionary, facts: object
) -> Iterator[StratalogWarning]:
    """Yield the warnings that facts and rules together give reason for."""
    named = names_given(facts, program.prefixes)
    empty = {predicate for predicate in plan.predicates if predicate.name in named}
    yield from _doubtful_predicates(program, encoded, empty)
    yield from never_joining(program, plan, encoded, dictionary, facts)


def _doubtful_predicates(
    program: Program, encoded: EncodedFacts, empty: Collection[Predicate]
) -> list[StratalogWarning]:
    """Return a warning per predicate that is misspelt in the facts, and what rules lack else.

    The latter is one per body predicate without facts and rules, or one for many. Those in `empty`
    may lack facts: a table was given for them.
    """
    named = [p for p in encoded.predicates() if encoded.origin(p) != RDF and encoded.size(p)]
    misspelt = misspelt_facts(program, named, {p for p in encoded.predicates() if encoded.size(p)})
    found = undefined_predicates(program, {*encoded.predicates(), *misspelt, *empty})
    if len(found) <= MOST_WARNINGS:
        return [*misspelt.values(), *found]
    first, several = found[0], f"{len(found)} body predicates have neither facts nor rules"
    return [*misspelt.values(), first.retold(f"{several}; the first: {first.message}")]


def _equality_warnings(program: Program, options: Options) -> list[StratalogWarning]:
    same_as = Predicate(f"<{SAME_AS}>", 2)
    derives = any(
        not isinstance(h, Equality) and h.predicate == same_as
        for r in program.rules
        for h in r.heads
    )
    if options.equality != "auto" or not derives:
        return []
    message = "a rule derives owl:sameAs, which is treated as an ordinary predicate"
    advice = 'equality by rewriting is not supported yet; equality="off" says that this is meant'
    return [StratalogWarning("W310", message, help=advice)]


def run(host: Host, plan: Plan, options: Options, report: Reporter) -> int:
    """Materialise and return the number of rounds."""
    endless = Endless(options)
    first: dict[int, int] = {}
    strata = host.strata(plan.strata)

    def watch(s: int, rounds: int, delta: int) -> None:
        new = plural(delta, "new fact")
        report("reason", f"stratum {s + 1} of {len(strata)}, round {rounds:,}, {new}")
        endless.check(strata[s], rounds - first.setdefault(s, rounds))

    report("reason", "1 stratum" if len(strata) == 1 else f"{len(strata):,} strata")
    host.limits.start()
    return seminaive.materialise(host.engine, strata, watch)
