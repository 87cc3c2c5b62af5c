"""The terms of LUBM's universities: those that all share, and those of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stratalog_bench.generate import lubm_profile as profile
from stratalog_bench.generate.draws import Numbers

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Shared:
    """Texts with the same number in every block, and the number of the first of each kind.

    The first ones are the IRIs of the universities that degrees come from.
    """

    texts: pa.LargeStringArray
    first_name: dict[str, int]
    telephone: int


@cache
def shared_terms() -> Shared:
    """Return the terms that all universities share."""
    import pyarrow as pa

    texts = [university_iri(number) for number in range(profile.DEGREE_POOL)]
    first_name = {}
    for kind, most in profile.MOST_NAMED.items():
        first_name[kind] = len(texts)
        texts += [f"{kind}{number}" for number in range(most)]
    texts.append(profile.TELEPHONE)
    return Shared(pa.array(texts, pa.large_string()), first_name, len(texts) - 1)


def university_iri(number: int) -> str:
    """Return the IRI of a university."""
    return f"http://www.University{number}.edu"


@dataclass(frozen=True, slots=True)
class Group:
    """Things of one kind in all departments of a university, numbered by department.

    `counts` and `starts` are per department, `department` and `index` per thing; `first` is the
    number of the first one as a term.
    """

    kind: str
    first: int
    counts: Numbers
    starts: Numbers
    department: Numbers
    index: Numbers

    def __len__(self) -> int:
        return len(self.index)

    @property
    def ids(self) -> Numbers:
        """The things' numbers as terms."""
        return np.arange(self.first, self.first + len(self), dtype=np.int64)


def group(kind: str, first: int, counts: Numbers) -> Group:
    """Return so many things in each department."""
    starts = np.cumsum(counts) - counts
    department = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    index = np.arange(len(department), dtype=np.int64) - starts[department]
    return Group(kind, first, counts, starts, department, index)


def department_hosts(departments: int, university: int) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return the host name of each department, without www."""
    return _joined("Department", _digits(np.arange(departments)), f".University{university}.edu")


def member_texts(hosts: Any, groups: Sequence[Group]) -> list[Any]:  # noqa: ANN401
    """Return the IRIs of the things in each group."""
    return [
        _joined("http://www.", hosts.take(each.department), f"/{each.kind}", _digits(each.index))
        for each in groups
    ]


def email_texts(hosts: Any, groups: Sequence[Group]) -> list[Any]:  # noqa: ANN401
    """Return the address of each person in each group."""
    return [
        _joined(each.kind, _digits(each.index), "@", hosts.take(each.department)) for each in groups
    ]


def publication_texts(authors: Any, index: Numbers) -> Any:  # noqa: ANN401
    """Return the IRIs of publications: their first authors' IRIs, and which of theirs they are."""
    return _joined(authors, "/Publication", _digits(index))


def department_texts(hosts: Any) -> Any:  # noqa: ANN401
    """Return the IRIs of the departments."""
    return _joined("http://www.", hosts)


def _joined(*parts: Any) -> Any:  # noqa: ANN401
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = [pa.scalar(each, pa.large_string()) if isinstance(each, str) else each for each in parts]
    return pc.binary_join_element_wise(*wide, pa.scalar("", pa.large_string()))


def _digits(numbers: Numbers) -> Any:  # noqa: ANN401
    return _spelled_numbers().take(numbers)


@cache
def _spelled_numbers() -> Any:  # noqa: ANN401
    """Return the digits of all numbers that occur in names, which is quicker than spelling each."""
    import pyarrow as pa

    return pa.array([str(number) for number in range(1000)], pa.large_string())
