"""The knowledge base: a materialisation that answers questions and can be saved."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakSet

import numpy as np

from stratalog.errors import DataError, StoreError, StratalogError
from stratalog.facts.labels import E, I
from stratalog.facts.sets import FactSet
from stratalog.knowledge import frames, planned, query, statistics
from stratalog.knowledge.absent import BusyHost, ClosedHost
from stratalog.knowledge.adapters import Host, Ids
from stratalog.knowledge.amounts import duration
from stratalog.knowledge.display.progress import plural
from stratalog.knowledge.display.terminal import visible
from stratalog.knowledge.guard import listing, whole
from stratalog.knowledge.options import Options, reopening
from stratalog.knowledge.reading import Reading, take
from stratalog.knowledge.stored import save as persist
from stratalog.knowledge.stored.texts import StoredTexts
from stratalog.knowledge.stream import api as streaming
from stratalog.knowledge.triples import Triples
from stratalog.knowledge.turns import Turns
from stratalog.knowledge.update import apply as updating
from stratalog.knowledge.values import check_limit, check_path, check_text, no_copies
from stratalog.knowledge.view import RelationView
from stratalog.knowledge.warned import warnings_html
from stratalog.lang.effort import digits_up_to
from stratalog.lang.names import (
    PREDECLARED,
    known_predicates,
    predicate_name,
    show_name,
    split_arity,
)
from stratalog.lang.syntax import TRIPLE, Declaration, Predicate, Program
from stratalog.lang.values.terms import term_of
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.write import Target, Written, write_ntriples
from stratalog.plan.program import predicates_of
from stratalog.plan.rules import Plan
from stratalog.reason.choose import Chooser

if TYPE_CHECKING:
    import pyarrow as pa

    from stratalog.knowledge.stream.run import Stream
    from stratalog.pipeline.store import Store, VersionInfo

SEVERAL_ARITIES = "D321"
MOST_SHOWN = 50  # predicates in a notebook


class KnowledgeBase:
    """Facts, rules and all their consequences. Made by `materialise` or `open`."""

    def __init__(  # its parts
        self,
        program: Program,
        plan: Plan,
        host: Host,
        dictionary: Dictionary,
        options: Options,
        origins: Mapping[Predicate, str],
    ) -> None:
        self._program = program
        self._plan = plan
        self._host = host
        self._dictionary = dictionary
        self._options = options
        self._given = reopening(options)  # those that its caller gave, not its store
        self._origins = dict(origins)
        self._data_prefixes: dict[str, str] = {}  # of Turtle and TriG; "" where files differ
        self._mentioned = predicates_of(program)
        self._turns = Turns()
        self._lock = self._turns.engine
        self._readings: WeakSet[Reading] = WeakSet()  # that have relations to read yet
        self._streams: set[Stream] = set()  # that may be running
        self._visible: list[Predicate] | None = None
        self._names: dict[Predicate, str] | None = None
        self._arities: tuple[Plan, set[Predicate], Mapping[str, set[int]]] | None = None
        self._totals: statistics.Totals | None = None
        self._prepared: Plan | None = None  # the plan for which all is ready to be updated
        self._texts = StoredTexts()
        self._store: Store | None = None
        self._version = 0
        self._run: dict[str, Any] = {}
        self._saved_profile: list[dict[str, Any]] = []
        self.report: ReadReport | None = None  # what reading found, None if this came from a store
        self._maintenance = Chooser(host)
        self._triples = Triples(dictionary) if plan.stored_as_triples else None

    # -- facts

    def facts(self, name: str, *, only: str | None = None, limit: int | None = None) -> pa.Table:
        """Return the facts of a predicate as a table; `only` is "explicit" or "derived"."""
        described, most = _chosen(only), check_limit(limit)
        with self._lock:
            taken = take(self, self._predicate(name), described)
        return taken.table(most)

    def tables(self, *, only: str | None = None) -> Iterator[tuple[str, pa.Table]]:
        """Return name and facts of every predicate, one by one; `only` is as in `facts`."""
        with self._lock:
            names = self.names()
            reading = Reading(self, names, _chosen(only))
        return ((names[taken.predicate], taken.table()) for taken in reading)

    def sizes(self, *, only: str | None = None) -> dict[str, tuple[int, int]]:
        """Return the arity and the number of facts of every predicate; `only` is as in `facts`."""
        described = _chosen(only)
        found: dict[str, tuple[int, int]] = {}
        with self._lock:
            among = {} if self._triples is None else self._triples.sizes(self._host, described)
            for p, name in self.names().items():
                size = among.get(p, 0) if self._is_triple(p) else self._host.size(p, described)
                found[name] = p.arity, size
        return found

    def count_of(self, name: str, *, only: str | None = None) -> int:
        """Return the number of facts of a predicate; `only` is as in `facts`."""
        with self._lock:
            return self._size(self._predicate(name), _chosen(only))

    def _size(self, predicate: Predicate, described: FactSet) -> int:
        if self._is_triple(predicate):
            return self._read(predicate, described)[1]
        return self._host.size(predicate, described)

    def _is_triple(self, predicate: Predicate) -> bool:
        return self._triples is not None and self._triples.holds(predicate)

    def write_triples(
        self,
        target: Target,
        name: str | None = None,
        *,
        only: str | None = None,
        in_order: bool = False,
    ) -> Written:
        """Write the facts that are triples as canonical N-Triples: of one predicate, or all."""
        with self._lock:
            reading = Reading(self, self._writable(name), _chosen(only))
            dictionary = self._dictionary
        found = ((taken.predicate, taken.columns, taken.size) for taken in reading)
        return write_ntriples(found, dictionary, target, in_order=in_order)

    def _writable(self, name: str | None) -> list[Predicate]:
        """Return the predicate of a name, or all of which facts may be triples."""
        if name is not None:
            return [self._predicate(name)]
        if self._triples is None:
            return self.visible()
        return [TRIPLE, *(p for p in self.visible() if not self._triples.holds(p))]

    def __getitem__(self, name: str) -> RelationView:
        return RelationView(self, self._predicate(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self.predicates())

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self._predicate(name)
        except StratalogError as error:
            return error.code == SEVERAL_ARITIES
        return True

    def predicates(self) -> list[str]:
        """Return the names of all predicates; `name/2` where a name has several arities."""
        return list(self.names().values())

    def name_of(self, predicate: Predicate) -> str:
        """Return how people write a predicate: with the program's prefixes."""
        with self._lock:
            shown = show_name(predicate.name, self._program.prefixes)
            return self.names().get(predicate, shown)

    def names(self) -> dict[Predicate, str]:
        """Return all visible predicates, sorted, with their names."""
        with self._lock:
            if self._names is None:
                self._names = self.named(self.visible())
            return dict(self._names)

    def named(self, visible: Iterable[Predicate]) -> dict[Predicate, str]:
        """Return predicates with names that tell them apart."""
        visible = list(visible)
        times = Counter(p.name for p in visible)
        shown = {name: show_name(name, self._program.prefixes) for name in times}
        return {
            p: f"{shown[p.name]}/{p.arity}" if times[p.name] > 1 else shown[p.name] for p in visible
        }

    def visible(self) -> list[Predicate]:
        """Return all predicates of facts and rules that are not hidden, sorted."""
        with self._lock:
            if self._visible is None:  # among triples, it takes a look at each
                stored = set(self._host.predicates()) & self._plan.predicates
                known = self._mentioned | stored
                if self._triples is not None:
                    known |= self._triples.predicates(self._host)
                self._visible = sorted(p for p in known if not p.name.startswith("$"))
            return list(self._visible)

    def _predicate(self, name: str) -> Predicate:
        """Return the predicate that a user names."""
        wanted, arity = split_arity(name)
        with self._lock:
            spelled, visible = predicate_name(wanted, self.prefixes()), self.visible()
            found = [p for p in visible if p.name == spelled and arity in {"", str(p.arity)}]
        if len(found) == 1:
            return found[0]
        if found:
            choices = " or ".join(f"{wanted}/{p.arity}" for p in found)
            raise DataError(SEVERAL_ARITIES, f"{name} has several arities", help=f"write {choices}")
        advice = known_predicates(name, self.predicates())
        raise DataError("D320", f"there is no predicate {name}", help=advice)

    def prefixes(self) -> list[tuple[str, str]]:
        """Return the prefixes that questions may use: the program's, and those of data files."""
        of_data = {
            name: iri
            for name, iri in self._data_prefixes.items()
            if iri and name not in PREDECLARED
        }
        return list({**of_data, **dict(self._program.prefixes)}.items())

    def _read(self, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        with self._lock, listing(self, predicate):  # another thread may be updating
            if self._triples is not None and self._triples.holds(predicate):
                return self._triples.read(self._host, predicate, described)
            return self._host.read(predicate, described)

    def holds(self, predicate: Predicate, fact: tuple[object, ...]) -> bool:
        """Return whether a fact is in the materialisation."""
        if len(fact) != predicate.arity:
            return False
        with self._lock, digits_up_to(self._options.max_digits):
            return self._holds(predicate, fact)

    def _holds(self, predicate: Predicate, fact: tuple[object, ...]) -> bool:
        ids = self._dictionary.find([term_of(value) for value in fact])
        if (ids < 0).any():
            return False
        columns = [ids[i : i + 1].astype(np.uint32) for i in range(len(fact))]
        if self._triples is not None and self._triples.holds(predicate):
            return self._triples.contains(self._host, predicate, columns)
        return bool(self._host.contains(predicate, columns, 1)[0])

    def count(self, predicate: Predicate) -> int:
        """Return the number of facts of a predicate."""
        with self._lock:
            return self._size(predicate, I)

    def rows(self, predicate: Predicate) -> Iterator[tuple[object, ...]]:
        """Yield the facts of a predicate as tuples of Python values."""
        return take(self, predicate, I).rows()

    def is_rdf(self, predicate: Predicate) -> bool:
        """Tell whether the undeclared columns of a predicate are spelled as terms."""
        return predicate.name.startswith("<") or self._origins.get(predicate) == "rdf"

    def declaration(self, predicate: Predicate) -> Declaration | None:
        """Return the `@declare` of a predicate, if there is one."""
        return next((d for d in self._program.declarations if d.predicate == predicate), None)

    # -- questions

    def query(self, text: str) -> pa.Table:
        """Return the answers to a body (columns: its variables) or a rule (columns: its head)."""
        with self._turns.touching(), whole(self, "answering a query"):
            return query.answers(self, text)

    explain = planned.explain
    classes = planned.classes

    def set_timeout(self, seconds: float | None) -> None:
        """Stop queries that take longer; None is no limit."""
        with self._lock:
            self._host.limits.timeout = None if seconds is None else duration(seconds)

    # -- updates

    update = updating.update
    what_if = updating.what_if

    # -- Spark, and everybody else

    frame = frames.frame
    views = frames.views
    publish = frames.publish
    stream = streaming.stream

    # -- the store

    def save(self, directory: str | os.PathLike[str], *, note: str = "") -> int:
        """Write a new version to a store, made if there is none; return its number.

        From then on this is the store that updates go to, unless a stream follows another one.
        """
        check_path("directory", directory)
        check_text("note", note)
        with self._turns.writing("save"):
            return persist.save(self, directory, note)

    @property
    def version(self) -> int:
        """The version of the store that this knowledge base is, 0 if it lives in memory."""
        return self._version

    def versions(self) -> list[VersionInfo]:
        """Return the versions of the store, the oldest first."""
        return self._bound_store().versions()

    def refresh(self) -> int:
        """Move on to the current version of the store; return its number."""
        with self._turns.writing("refresh"):
            from stratalog.knowledge.moving import move_on

            return move_on(self)

    def _bound_store(self) -> Store:
        if self._store is None:
            raise StoreError(
                "T110", "this knowledge base has no store", help="save(directory) makes one"
            )
        return self._store

    # -- accounts

    note_run = statistics.note_run
    note_phase = statistics.note_phase
    stats = property(statistics.stats)
    profile = statistics.profile
    counts = statistics.counts
    _counts = statistics.counts

    # -- Python manners

    __reduce_ex__ = __copy__ = __deepcopy__ = no_copies

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the facts; the store, if there is one, is not touched."""
        with self._turns.writing("close"), self._turns.touching():
            self._visible = self._names = None
            if not isinstance(self._host, ClosedHost):
                self._host.close()
            self._host = cast("Host", ClosedHost())

    def __repr__(self) -> str:
        with self._lock:
            if isinstance(self._host, ClosedHost | BusyHost):
                return f"<KnowledgeBase: {self._host.told}>"
            stats = self.stats
        return (
            f"<KnowledgeBase: {stats['explicit']:,} explicit + {stats['derived']:,} derived facts,"
            f" {plural(stats['rules'], 'rule')}>"
        )

    def _repr_html_(self) -> str:
        from html import escape

        from stratalog.knowledge.display.table_html import rows_html

        with self._lock:
            told, known = repr(self), self.visible()
            sizes = [(self.name_of(p), self.count(p)) for p in known[:MOST_SHOWN]]
        rows = ((visible(name), f"{size:,}") for name, size in sizes)
        more = f"... and {len(known) - MOST_SHOWN:,} more" if len(known) > MOST_SHOWN else ""
        table = rows_html(("predicate", "facts"), rows, ("left", "right"), more)
        return f"{escape(told)}{table}{warnings_html(self._run.get('warnings', ()))}"


def _chosen(only: str | None) -> FactSet:
    choices: dict[str | None, FactSet] = {None: I, "explicit": E & I, "derived": I - E}
    if not (only is None or isinstance(only, str)) or only not in choices:
        raise DataError("D322", f"only={only!r} is not a choice", help='"explicit" or "derived"')
    return choices[only]
