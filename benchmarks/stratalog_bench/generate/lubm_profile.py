"""What a university of the LUBM benchmark consists of: names, ranges, and the rules for them.

The ranges are those of the data generator UBA 1.7 (Guo, Pan, Heflin: LUBM: A Benchmark for OWL
Knowledge Base Systems, J. Web Semantics 3, 2005).
"""

from __future__ import annotations

from typing import Final

NAMESPACE: Final = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"

FACULTY: Final = ("FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer")
RANKS: Final = 3  # the first three are professors: they advise and have a research interest
UNDERGRADUATE, GRADUATE = "UndergraduateStudent", "GraduateStudent"
STUDENTS: Final = (UNDERGRADUATE, GRADUATE)

# Least and most, both included.
DEPARTMENTS: Final = (15, 25)
FACULTY_SIZES: Final = ((7, 10), (10, 14), (8, 11), (5, 7))
PUBLICATIONS: Final = ((15, 20), (10, 18), (5, 10), (0, 5))
RESEARCH_GROUPS: Final = (10, 20)
UNDERGRADUATES_PER_FACULTY: Final = (8, 14)
GRADUATES_PER_FACULTY: Final = (3, 4)
GRADUATES_PER_TEACHING_ASSISTANT: Final = (4, 5)
GRADUATES_PER_RESEARCH_ASSISTANT: Final = (3, 4)
COURSES_TAUGHT: Final = (1, 2)
COURSES_TAKEN: Final = (2, 4)
GRADUATE_COURSES_TAKEN: Final = (1, 3)
COAUTHORED: Final = (0, 5)

DEGREE_POOL: Final = 1000  # universities that degrees come from
INTERESTS: Final = 30
ADVISED_UNDERGRADUATES: Final = 5  # one in so many
TELEPHONE: Final = "xxx-xxx-xxxx"

MOST_FACULTY: Final = sum(most for _, most in FACULTY_SIZES)
MOST_NAMED: Final = {
    **{kind: most for kind, (_, most) in zip(FACULTY, FACULTY_SIZES, strict=True)},
    UNDERGRADUATE: MOST_FACULTY * UNDERGRADUATES_PER_FACULTY[1],
    GRADUATE: MOST_FACULTY * GRADUATES_PER_FACULTY[1],
    "Course": MOST_FACULTY * COURSES_TAUGHT[1],
    "GraduateCourse": MOST_FACULTY * COURSES_TAUGHT[1],
    "Publication": PUBLICATIONS[0][1],
    "Department": DEPARTMENTS[1],
    "Research": INTERESTS,
}
"""How many names of each kind there can be: "Course0", "Course1", ..."""

RULES: Final = f"""\
@prefix ub: <{NAMESPACE}> .

# classes
ub:Professor(?x) :- ub:FullProfessor(?x) .
ub:Professor(?x) :- ub:AssociateProfessor(?x) .
ub:Professor(?x) :- ub:AssistantProfessor(?x) .
ub:Faculty(?x) :- ub:Professor(?x) .
ub:Faculty(?x) :- ub:Lecturer(?x) .
ub:Employee(?x) :- ub:Faculty(?x) .
ub:Employee(?x) :- ub:Person(?x), ub:worksFor(?x, ?o), ub:Organization(?o) .
ub:Person(?x) :- ub:Employee(?x) .
ub:Person(?x) :- ub:Student(?x) .
ub:Person(?x) :- ub:TeachingAssistant(?x) .
ub:Person(?x) :- ub:ResearchAssistant(?x) .
ub:Person(?x) :- ub:emailAddress(?x, ?e) .
ub:Student(?x) :- ub:UndergraduateStudent(?x) .
ub:Student(?x) :- ub:GraduateStudent(?x) .
ub:Student(?x) :- ub:Person(?x), ub:takesCourse(?x, ?c), ub:Course(?c) .
ub:TeachingAssistant(?x) :- ub:Person(?x), ub:teachingAssistantOf(?x, ?c), ub:Course(?c) .
ub:Chair(?x) :- ub:Person(?x), ub:headOf(?x, ?d), ub:Department(?d) .
ub:Professor(?x) :- ub:Chair(?x) .
ub:Work(?x) :- ub:Course(?x) .
ub:Course(?x) :- ub:GraduateCourse(?x) .
ub:Course(?y) :- ub:teacherOf(?x, ?y) .
ub:Faculty(?x) :- ub:teacherOf(?x, ?y) .
ub:Organization(?x) :- ub:University(?x) .
ub:Organization(?x) :- ub:Department(?x) .
ub:Organization(?x) :- ub:ResearchGroup(?x) .
ub:University(?y) :- ub:degreeFrom(?x, ?y) .
ub:Person(?y) :- ub:publicationAuthor(?x, ?y) .
ub:Professor(?y) :- ub:advisor(?x, ?y) .

# properties
ub:degreeFrom(?x, ?y) :- ub:undergraduateDegreeFrom(?x, ?y) .
ub:degreeFrom(?x, ?y) :- ub:mastersDegreeFrom(?x, ?y) .
ub:degreeFrom(?x, ?y) :- ub:doctoralDegreeFrom(?x, ?y) .
ub:hasAlumnus(?y, ?x) :- ub:degreeFrom(?x, ?y) .
ub:worksFor(?x, ?y) :- ub:headOf(?x, ?y) .
ub:memberOf(?x, ?y) :- ub:worksFor(?x, ?y) .
ub:member(?y, ?x) :- ub:memberOf(?x, ?y) .
ub:memberOf(?y, ?x) :- ub:member(?x, ?y) .
ub:subOrganizationOf(?x, ?z) :- ub:subOrganizationOf(?x, ?y), ub:subOrganizationOf(?y, ?z) .
"""
