"""The facts about one university, a few arrays per property and never a loop over people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stratalog_bench.generate import lubm_profile as profile
from stratalog_bench.generate.columns import IRI_TYPE, STRING_TYPE, Relation
from stratalog_bench.generate.draws import Draws, Numbers
from stratalog_bench.generate.lubm_terms import (
    Group,
    Shared,
    department_hosts,
    department_texts,
    email_texts,
    group,
    member_texts,
    publication_texts,
    university_iri,
)

if TYPE_CHECKING:
    import pyarrow as pa

LITERALS = ("name", "emailAddress", "telephone", "researchInterest")


class University:
    """One university: `relations` by IRI of the predicate, and the texts of all terms in them.

    Its own terms are numbered after the shared ones: name, university, departments, people
    (faculty by rank, then students), courses, research groups, publications, addresses.
    """

    def __init__(self, number: int, seed: int, shared: Shared) -> None:
        self.number = number
        self.relations: dict[str, Relation] = {}
        self._draws = Draws(seed, number)
        self._shared = shared
        self._is_shared = number < profile.DEGREE_POOL
        self._pairs: dict[str, list[tuple[Numbers, Numbers]]] = {}
        self._types: dict[str, list[Numbers]] = {}
        self._next = len(shared.texts)
        self._found()
        self._appoint()
        self._teach()
        self._publish()
        self._enrol()
        self._assist()
        self._address()
        self._describe()
        self._finish()

    def texts(self) -> pa.LargeStringArray:
        """Return the shared texts and, after them, the university's own."""
        import pyarrow as pa

        hosts = department_hosts(self._departments, self.number)
        own = [f"University{self.number}"]
        if not self._is_shared:
            own.append(university_iri(self.number))
        people = pa.concat_arrays(member_texts(hosts, self._people))
        authors = people.take(self._authors - self._people[0].first)
        return pa.concat_arrays(
            [
                self._shared.texts,
                pa.array(own, pa.large_string()),
                department_texts(hosts),
                people,
                *member_texts(hosts, [*self._courses, self._groups]),
                publication_texts(authors, self._publication_index),
                *email_texts(hosts, self._people),
            ]
        )

    def _take(self, amount: int) -> int:
        """Return the number of the first of so many new terms."""
        first = self._next
        self._next += amount
        return first

    def _group(self, kind: str, counts: Numbers) -> Group:
        return group(kind, self._take(int(counts.sum())), counts)

    def _relate(self, name: str, subjects: Numbers, objects: Numbers | int) -> None:
        whole = np.broadcast_to(np.asarray(objects, np.int64), subjects.shape)
        self._pairs.setdefault(name, []).append((subjects, whole))

    def _type(self, name: str, subjects: Numbers) -> None:
        self._types.setdefault(name, []).append(subjects)

    def _names(self, each: Group) -> None:
        self._relate("name", each.ids, self._shared.first_name[each.kind] + each.index)

    def _found(self) -> None:
        """Found the university and its departments."""
        name = self._take(1)
        own = self.number if self._is_shared else self._take(1)
        self._departments = int(self._draws.between(*profile.DEPARTMENTS, 1)[0])
        index = np.arange(self._departments, dtype=np.int64)
        self._department_ids = self._take(self._departments) + index
        self._relate("name", np.array([own]), name)
        self._relate("name", self._department_ids, self._shared.first_name["Department"] + index)
        self._relate("subOrganizationOf", self._department_ids, own)
        self._type("University", np.array([own]))
        self._type("Department", self._department_ids)

    def _appoint(self) -> None:
        """Give each department its faculty, a head, and graduates and undergraduates."""
        draws, size = self._draws, self._departments
        counts = [draws.between(*sizes, size) for sizes in profile.FACULTY_SIZES]
        whole = np.sum(counts, axis=0)
        faculty = [
            self._group(kind, each) for kind, each in zip(profile.FACULTY, counts, strict=True)
        ]
        ratios = (profile.UNDERGRADUATES_PER_FACULTY, profile.GRADUATES_PER_FACULTY)
        students = [
            self._group(kind, whole * draws.between(*ratio, size))
            for kind, ratio in zip(profile.STUDENTS, ratios, strict=True)
        ]
        self._people = [*faculty, *students]
        for each in self._people:
            self._type(each.kind, each.ids)
            self._names(each)
        heads = draws.below(faculty[0].counts, size)
        self._relate("headOf", faculty[0].first + faculty[0].starts + heads, self._department_ids)
        self._employ(faculty)

    def _employ(self, faculty: list[Group]) -> None:
        ids = np.concatenate([each.ids for each in faculty])
        department = np.concatenate([each.department for each in faculty])
        rank = np.repeat(np.arange(len(faculty)), [len(each) for each in faculty])
        self._relate("worksFor", ids, self._department_ids[department])
        for degree in ("undergraduate", "masters", "doctoral"):
            self._degree(f"{degree}DegreeFrom", ids)
        professors = ids[rank < profile.RANKS]
        interests = self._draws.below(profile.INTERESTS, len(professors))
        first = self._shared.first_name["Research"]
        self._relate("researchInterest", professors, first + interests)
        by_department = np.argsort(department, kind="stable")
        self._faculty = ids[by_department]
        self._faculty_rank = rank[by_department]
        self._faculty_department = department[by_department]

    def _degree(self, name: str, people: Numbers) -> None:
        universities = self._draws.below(profile.DEGREE_POOL, len(people))
        self._relate(name, people, universities)
        self._type("University", universities)

    def _each_faculty(self, amounts: Numbers) -> tuple[Numbers, Numbers]:
        """Return who has the things, so many for each member, and how many each department has."""
        per_department = np.bincount(
            np.repeat(self._faculty_department, amounts), minlength=self._departments
        )
        return np.repeat(self._faculty, amounts), per_department.astype(np.int64)

    def _teach(self) -> None:
        """Give each course one teacher, in sequence, and each department its research groups."""
        self._courses = []
        for kind in ("Course", "GraduateCourse"):
            taught = self._draws.between(*profile.COURSES_TAUGHT, len(self._faculty))
            teachers, counts = self._each_faculty(taught)
            courses = self._group(kind, counts)
            self._type(kind, courses.ids)
            self._names(courses)
            self._relate("teacherOf", teachers, courses.ids)
            self._courses.append(courses)
        sizes = self._draws.between(*profile.RESEARCH_GROUPS, self._departments)
        self._groups = groups = self._group("ResearchGroup", sizes)
        self._type(groups.kind, groups.ids)
        self._relate("subOrganizationOf", groups.ids, self._department_ids[groups.department])

    def _publish(self) -> None:
        least, most = np.array(profile.PUBLICATIONS, np.int64).T
        rank = self._faculty_rank
        amounts = self._draws.between(least[rank], most[rank], len(rank))
        self._authors, counts = self._each_faculty(amounts)
        self._publications = made = self._group("Publication", counts)
        starts = np.cumsum(amounts) - amounts
        self._publication_index = np.arange(len(made)) - np.repeat(starts, amounts)
        self._type(made.kind, made.ids)
        first = self._shared.first_name["Publication"]
        self._relate("name", made.ids, first + self._publication_index)
        self._relate("publicationAuthor", made.ids, self._authors)

    def _enrol(self) -> None:
        """Let students take courses, have advisors, and graduates have degrees and publications."""
        undergraduates, graduates = self._people[-2:]
        for students in (undergraduates, graduates):
            self._relate("memberOf", students.ids, self._department_ids[students.department])
        self._choose("takesCourse", undergraduates, self._courses[0], profile.COURSES_TAKEN)
        self._choose("takesCourse", graduates, self._courses[1], profile.GRADUATE_COURSES_TAKEN)
        chance = self._draws.below(profile.ADVISED_UNDERGRADUATES, len(undergraduates))
        self._advise(undergraduates, np.flatnonzero(chance == 0))
        self._advise(graduates, np.arange(len(graduates)))
        self._degree("undergraduateDegreeFrom", graduates.ids)
        self._choose("publicationAuthor", graduates, self._publications, profile.COAUTHORED)

    def _choose(self, name: str, who: Group, what: Group, amounts: tuple[int, int]) -> None:
        """Relate each student to different things of the department."""
        wanted = self._draws.between(*amounts, len(who))
        rows, chosen = self._draws.samples(what.counts[who.department], wanted)
        things = what.first + what.starts[who.department[rows]] + chosen
        if name == "publicationAuthor":
            self._relate(name, things, who.first + rows)
        else:
            self._relate(name, who.first + rows, things)

    def _advise(self, students: Group, chosen: Numbers) -> None:
        """Give students a professor of the department: a rank first, then one of that rank."""
        ranks = self._people[: profile.RANKS]
        rank = self._draws.below(profile.RANKS, len(chosen))
        department = students.department[chosen]
        counts = np.stack([each.counts for each in ranks])[rank, department]
        firsts = np.stack([each.first + each.starts for each in ranks])[rank, department]
        advisors = firsts + self._draws.below(counts, len(chosen))
        self._relate("advisor", students.first + chosen, advisors)

    def _assist(self) -> None:
        """Make graduates assistants, none both for teaching and for research."""
        draws, size = self._draws, self._departments
        graduates, courses = self._people[-1], self._courses[0]
        teaching = graduates.counts // draws.between(
            *profile.GRADUATES_PER_TEACHING_ASSISTANT, size
        )
        research = graduates.counts // draws.between(
            *profile.GRADUATES_PER_RESEARCH_ASSISTANT, size
        )
        order = draws.shuffled_within(graduates.department)
        place, department = graduates.index, graduates.department
        is_teaching = place < teaching[department]
        is_research = ~is_teaching & (place < (teaching + research)[department])
        self._type("ResearchAssistant", graduates.first + order[is_research])
        assistants = graduates.first + order[is_teaching]
        self._type("TeachingAssistant", assistants)
        own = draws.shuffled_within(courses.department)
        which = own[courses.starts[department[is_teaching]] + place[is_teaching]]
        self._relate("teachingAssistantOf", assistants, courses.first + which)

    def _address(self) -> None:
        people = np.concatenate([each.ids for each in self._people])
        self._relate("emailAddress", people, self._take(len(people)) + np.arange(len(people)))
        self._relate("telephone", people, self._shared.telephone)

    def _describe(self) -> None:
        """Drop what is said twice: a university that several people come from."""
        self._types["University"] = [np.unique(np.concatenate(self._types["University"]))]

    def _finish(self) -> None:
        for name, parts in self._types.items():
            ids = np.concatenate(parts).astype(np.uint32)
            self.relations[profile.NAMESPACE + name] = Relation([ids], [IRI_TYPE])
        for name, pairs in self._pairs.items():
            kind = STRING_TYPE if name in LITERALS else IRI_TYPE
            columns = [np.concatenate(part).astype(np.uint32) for part in zip(*pairs, strict=True)]
            self.relations[profile.NAMESPACE + name] = Relation(columns, [IRI_TYPE, kind])
