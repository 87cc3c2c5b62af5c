"""LUBM's universities: well-formed, independent of each other, and like those of the benchmark."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import stratalog
from stratalog.errors import DataError
from stratalog_bench import generate
from stratalog_bench.generate.files import bare_name
from stratalog_bench.generate.lubm_profile import DEPARTMENTS, FACULTY, FACULTY_SIZES, RULES
from stratalog_bench.generate.lubm_terms import shared_terms
from stratalog_bench.generate.ntriples import write_ntriples
from stratalog_bench.generate.university import University

PER_DEPARTMENT = {
    **dict(zip(FACULTY, FACULTY_SIZES, strict=True)),
    "ResearchGroup": (10, 20),
    "headOf": (1, 1),
    "Course": (30, 84),
    "GraduateCourse": (30, 84),
    "UndergraduateStudent": (30 * 8, 42 * 14),
    "GraduateStudent": (30 * 3, 42 * 4),
}
"""Least and most things of a department."""


def lines_of(universities: int, seed: int = 0) -> list[str]:
    sink = io.BytesIO()
    count = write_ntriples(generate.lubm_blocks(universities, seed), sink)
    lines = sink.getvalue().decode().splitlines()
    assert len(lines) == count
    return lines


@pytest.fixture(scope="module")
def two() -> list[str]:
    return lines_of(2)


def counts_of(lines) -> Counter[str]:
    """Return how many facts each class and property has."""
    counts: Counter[str] = Counter()
    for line in lines:
        _, predicate, rest = line.split(" ", 2)
        is_type = predicate.endswith("#type>")
        counts[bare_name((rest if is_type else predicate).split(">")[0])] += 1
    return counts


def test_no_fact_occurs_twice(two):
    assert len(set(two)) == len(two)


def test_a_small_set_is_part_of_every_larger_one(two):
    assert set(lines_of(1)) < set(two)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not():
    assert lines_of(1, 5) == lines_of(1, 5)
    assert lines_of(1, 5) != lines_of(1, 6)


GOLDEN = {
    "University": 994,
    "Department": 22,
    "FullProfessor": 187,
    "AssociateProfessor": 269,
    "AssistantProfessor": 201,
    "Lecturer": 140,
    "UndergraduateStudent": 9623,
    "GraduateStudent": 2798,
    "Course": 1196,
    "GraduateCourse": 1217,
    "ResearchGroup": 333,
    "Publication": 8907,
    "ResearchAssistant": 815,
    "TeachingAssistant": 591,
    "name": 24561,
    "subOrganizationOf": 355,
    "headOf": 22,
    "worksFor": 797,
    "undergraduateDegreeFrom": 3595,
    "mastersDegreeFrom": 797,
    "doctoralDegreeFrom": 797,
    "researchInterest": 657,
    "teacherOf": 2413,
    "publicationAuthor": 15936,
    "memberOf": 12421,
    "takesCourse": 34534,
    "advisor": 4677,
    "teachingAssistantOf": 591,
    "emailAddress": 13218,
    "telephone": 13218,
}
"""Facts of one university of seed 0."""


def test_sizes_stay_the_same():
    assert counts_of(lines_of(1)) == GOLDEN


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_counts_are_in_the_ranges_of_the_benchmark(seed):
    made = generate.lubm(2, seed)
    counts = {bare_name(name): count for name, count in made.counts().items()}
    departments = counts["Department"]
    assert 2 * DEPARTMENTS[0] <= departments <= 2 * DEPARTMENTS[1]
    for name, (least, most) in PER_DEPARTMENT.items():
        assert least * departments <= counts[name] <= most * departments, name
    assert counts["teacherOf"] == counts["Course"] + counts["GraduateCourse"]
    assert counts["teachingAssistantOf"] == counts["TeachingAssistant"]
    people = sum(counts[kind] for kind in (*FACULTY, "UndergraduateStudent", "GraduateStudent"))
    assert counts["emailAddress"] == counts["telephone"] == people


def columns_of(made, name):
    (found,) = (r for iri, r in made.relations.items() if bare_name(iri) == name)
    return [column.tolist() for column in found.columns]


def test_assistants_for_teaching_and_research_are_different_graduates():
    made = generate.lubm(1)
    graduates, teaching, research = (
        set(columns_of(made, name)[0])
        for name in ("GraduateStudent", "TeachingAssistant", "ResearchAssistant")
    )
    assert teaching | research <= graduates
    assert not teaching & research
    assisted = columns_of(made, "teachingAssistantOf")[1]
    assert len(set(assisted)) == len(assisted)


@pytest.mark.parametrize("name", ["takesCourse", "advisor", "publicationAuthor", "headOf"])
def test_people_keep_to_their_department(name):
    made = generate.lubm(2)
    texts = made.texts.to_pylist()
    host = lambda number: texts[number].split("/")[2]  # noqa: E731
    for one, other in zip(*columns_of(made, name), strict=True):
        assert host(one) == host(other)


def test_every_used_number_has_one_text():
    made = generate.lubm(3)
    used = np.unique(np.concatenate([c for r in made.relations.values() for c in r.columns]))
    texts = made.texts.take(used).to_pylist()
    assert len(set(texts)) == len(texts)


def test_a_university_beyond_those_that_degrees_come_from():
    made = University(1234, 0, shared_terms())
    texts = made.texts().to_pylist()
    (ids,) = next(r.columns for iri, r in made.relations.items() if bare_name(iri) == "University")
    assert "http://www.University1234.edu" in {texts[number] for number in ids}
    last = max(int(column.max()) for r in made.relations.values() for column in r.columns)
    assert last == len(texts) - 1


def test_tables_and_lines_give_the_same_facts_and_consequences(tmp_path: Path):
    file = tmp_path / "lubm.nt"
    assert generate.write_lubm(file, 1) == generate.lubm(1).count
    one = stratalog.materialise(RULES, file)
    other = stratalog.materialise(RULES, generate.lubm(1).tables())
    assert sorted(one.predicates()) == sorted(other.predicates())
    assert one.stats["derived"]
    for name in one.predicates():
        assert set(one[name]) == set(other[name]), name


@pytest.mark.parametrize("wrong", [{"universities": 0}, {"universities": 1.5}, {"seed": -1}])
def test_a_wrong_parameter_is_refused(wrong):
    with pytest.raises(DataError, match="D401"):
        generate.lubm(**wrong)


def real_lines(shared_data: Path, universities: int) -> list[str]:
    with gzip.open(shared_data / "lubm" / f"lubm-{universities}-seed0.nt.gz", "rt") as file:
        return file.read().splitlines()


def test_facts_per_department_are_those_of_the_benchmark(shared_data: Path):
    real = counts_of(real_lines(shared_data, 5))
    made = {bare_name(name): n for name, n in generate.lubm(5).counts().items()}
    assert set(made) == set(real)
    assert made.pop("University") == real.pop("University") == 1000
    for name, count in made.items():
        per_department = count / made["Department"], real[name] / real["Department"]
        assert per_department[0] == pytest.approx(per_department[1], rel=0.06), name


@pytest.mark.parametrize("universities", [1, 5])
def test_the_benchmark_s_rules_derive_as_much_as_from_its_data(shared_data: Path, universities):
    rules = shared_data / "rules" / "LUBM_L.dlog"
    real = shared_data / "lubm" / f"lubm-{universities}-seed0.nt.gz"
    ratios = []
    for facts in (real, generate.lubm(universities).tables()):
        stats = stratalog.materialise(rules, facts, equality="off").stats
        ratios.append(stats["derived"] / stats["explicit"])
    assert ratios[1] == pytest.approx(ratios[0], rel=0.02)


def test_our_rules_derive_what_the_benchmark_s_do(shared_data: Path):
    facts = generate.lubm(1).tables()
    rules = shared_data / "rules" / "LUBM_L.dlog"
    ours = stratalog.materialise(RULES, facts)
    theirs = stratalog.materialise(rules, facts, equality="off")
    assert sizes_of(ours) == sizes_of(theirs)


def sizes_of(kb) -> dict[str, int]:
    """Return how many facts each predicate has, by the last part of its name."""
    names = {bare_name(name.strip("<>").replace("ub:", "#")): name for name in kb.predicates()}
    return {last: len(kb[name]) for last, name in names.items() if len(kb[name])}
