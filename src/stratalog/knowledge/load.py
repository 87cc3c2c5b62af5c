"""Facts on their way in: read, encoded, and given to an engine as the plan stores them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from stratalog.errors import EngineError
from stratalog.knowledge.adapters import Encoded, Host, Ids
from stratalog.knowledge.display.progress import Reporter, plural
from stratalog.knowledge.engines import has_spark
from stratalog.knowledge.options import Options
from stratalog.knowledge.reader import Context, choose_reader, open_session, read_all
from stratalog.lang.syntax import TRIPLE, Atom, Predicate, Program
from stratalog.lang.terms import IRI_KIND, RDF_TYPE, Term
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import ReadOptions, ReadReport
from stratalog.plan.program import predicates_of
from stratalog.plan.rules import Plan
from stratalog.plan.triples import is_triple_shaped
from stratalog.runtime.telling import Warned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_facts(  # noqa: PLR0913  # what the program says, where numbers go, who is told
    program: Program,
    facts: object,
    options: Options,
    dictionary: Dictionary,
    report: Reporter,
    warned: Warned,
    *,
    arities: Mapping[str, set[int]] | None = None,
    account: ReadReport | None = None,
) -> EncodedFacts:
    """Return the explicit facts, those in the program's text included.

    `arities` are those that names are known to have, by default the program's; what reading finds
    is added to the account.
    """
    if arities is None:
        arities = arities_of(predicates_of(program))
    choice = choose_reader(facts, options, program.prefixes)
    warned.tell(choice.warnings)
    spark = _start_spark(options, report) if choice.by_spark else None
    report("read", "facts")
    watch = _ReadWatch(report)
    account = ReadReport() if account is None else account
    context = Context(
        program.declarations,
        arities,
        program.prefixes,
        dictionary,
        ReadOptions(options.graphs, options.header, options.on_bad_input, watch, report.pause),
        account,
    )
    outer = dictionary.watch
    with nullcontext() if outer is None else _watched(outer, dictionary, account):
        encoded = read_all(facts, context, spark)
        _add_program_facts(program.facts, encoded, dictionary)
    warned.tell(encoded.warnings)
    watch.finish(encoded, dictionary, by_spark=choice.by_spark)
    return encoded


class _watched:  # noqa: N801  # used like a function
    """Count the facts that are being read among what takes memory."""

    __slots__ = ("_account", "_dictionary", "_outer")

    def __init__(
        self, outer: Callable[[int], None], dictionary: Dictionary, account: ReadReport
    ) -> None:
        self._outer, self._dictionary, self._account = outer, dictionary, account

    def __enter__(self) -> None:
        outer, account = self._outer, self._account
        self._dictionary.watch = lambda more: outer(more + account.encoded_bytes)
        account.watch = lambda: outer(account.encoded_bytes)

    def __exit__(self, *error: object) -> None:
        self._dictionary.watch, self._account.watch = self._outer, None


def check_spark_is_used(facts: object, options: Options, program: Program) -> None:
    """Refuse a master or settings of Spark where none can start."""
    asked = options.master is not None or options.conf
    may_go = options.engine in {"auto", "spark"} or options.spill == "spark"
    may_reason = may_go and has_spark()
    if not asked or may_reason or choose_reader(facts, options, program.prefixes).by_spark:
        return
    raise EngineError(
        "E206",
        "a master or settings are given, but no Spark starts: "
        f"engine={options.engine!r} reasons in this process, and nothing is read by Spark",
        help="leave both out, or choose Spark as engine or reader",
    )


def arities_of(predicates: Iterable[Predicate]) -> dict[str, set[int]]:
    """Return the arities of each name."""
    arities: dict[str, set[int]] = defaultdict(set)
    for predicate in predicates:
        arities[predicate.name].add(predicate.arity)
    return arities


class _ReadWatch:
    """Tells how far reading is, and when the last byte had been read."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._begun = self._last = time.perf_counter()

    def __call__(self, path: str, done: int, total: int) -> None:
        self._last = time.perf_counter()
        self._report("read", f"{path} {done / max(1, total):.0%}")
        self._report.pause()

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


def load(host: Host, plan: Plan, encoded: EncodedFacts, dictionary: Dictionary) -> None:
    """Give the explicit facts to the engine."""
    for facts in as_stored(plan, encoded, dictionary):
        host.load(*facts)


def as_stored(plan: Plan, encoded: Iterable[Encoded], dictionary: Dictionary) -> Iterator[Encoded]:
    """Yield the facts as the plan stores them: as triples, if rules write triples."""
    for predicate, columns, size in encoded:
        if plan.stored_as_triples and is_triple_shaped(predicate):
            yield TRIPLE, triple_columns(predicate, columns, size, dictionary), size
        else:
            yield predicate, columns, size


def triple_columns(
    predicate: Predicate, columns: Sequence[Ids], size: int, dictionary: Dictionary
) -> list[Ids]:
    """Return the columns (subject, predicate, object) of facts of an IRI-named predicate."""
    name, rdf_type = dictionary.encode([Term(IRI_KIND, predicate.name[1:-1]), RDF_TYPE])
    if predicate.arity == 1:
        return [columns[0], np.full(size, rdf_type, np.uint32), np.full(size, name, np.uint32)]
    return [columns[0], np.full(size, name, np.uint32), columns[1]]
