"""Warnings of materialisation and of updates: what is told, where, and how often."""

import datetime as dt
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.knowledge import doubts
from stratalog.lang.terms import XSD
from stratalog.pipeline import measured_types

PATHS = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
JOIN = "r(?x, ?z) :- p(?x, ?y), q(?y, ?z) ."
HELP_ON_PANDAS = 'astype("Int64")'


def told(function, *args, **kwargs):
    """Return what a call warned of, and its result."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*args, **kwargs)
    assert all(each.category is sl.StratalogWarning for each in found)
    assert all(each.filename == __file__ for each in found)
    return [each.message for each in found], result


def made(program, facts, **options):
    return told(sl.materialise, program, facts, engine="reference", **options)


def codes(program, facts, **options):
    return [warning.code for warning in made(program, facts, **options)[0]]


def pairs(*values):
    return [(n, value) for n, value in enumerate(values)]


def test_warnings_come_by_the_standard_way_and_stay_in_stats():
    found, kb = made("p(?x) :- q(?x) .", {})
    assert [warning.code for warning in found] == ["W301"]
    assert kb.stats["warnings"] == [str(found[0])]


def test_a_predicate_may_be_given_no_facts(tmp_path):
    empty = tmp_path / "none.csv"
    empty.write_text("")
    assert codes(PATHS, {"edge": []}) == codes(PATHS, {"edge/2": []}) == []
    assert codes(PATHS, f"edge={empty}") == codes(PATHS, {"edge": empty}) == []
    assert codes(PATHS, {"name": []}) == ["W301"]


def test_warnings_are_shown_in_notebooks():
    _, kb = made("p(?x) :- q(?x), r(?x) .", {"q": [(1,)]})
    assert "warning: W301: r with 1 argument" in kb._repr_html_()
    (warning,), changes = told(kb.update, insert={"pq": [(1,)]}, add_rules="s(?x) :- t(?x) .")
    assert "warning: W301" in changes._repr_html_()
    assert warning.code == "W301"
    assert "&lt;http://e/p&gt;" in made("p(?x) :- <http://e/p>(?x) .", {})[1]._repr_html_()


def test_a_warning_that_is_made_an_error_leaves_nothing_changed(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", sl.StratalogWarning)
        with pytest.raises(sl.StratalogWarning):
            sl.materialise("p(?x) :- q(?x) .", {}, engine="reference", store=tmp_path / "kb")
        assert not (tmp_path / "kb").exists()
        kb = sl.materialise(PATHS, {"edge": [(1, 2)]}, engine="reference")
        with pytest.raises(sl.StratalogWarning, match="W304"):
            kb.update(insert={"egde": [(2, 3)], "edge": [(4, 5)]})
        assert list(kb["edge"]) == [(1, 2)]
        kb.update(insert={"edge": [(2, 3)]})
    assert len(kb["path"]) == 3


# -- misspelt predicates


def test_misspelt_facts_are_told_instead_of_the_predicate_that_lacks_them():
    (warning,), _ = made(PATHS, {"egde": [(1, 2)]})
    assert warning.code == "W304"
    assert "did you mean edge?" in str(warning)


def test_a_misspelt_file_is_told(tmp_path):
    path = tmp_path / "egde.csv"
    path.write_text("a,b\n")
    assert codes(PATHS, path) == ["W304"]
    assert codes(PATHS, f"edg={path}") == ["W304"]
    assert codes(PATHS, {"edge": path, "egde": path}) == []


def test_rdf_may_hold_what_rules_do_not_read(tmp_path):
    path = tmp_path / "data.nt"
    path.write_text("<http://e/a> <http://e/knwos> <http://e/b> .\n")
    program = "@prefix : <http://e/> . p(?x) :- :knows(?x, ?y) ."
    assert codes(program, path) == ["W301"]
    assert codes(program, {":knwos": [("a", "b")]}) == ["W304"]


def test_misspelt_facts_of_an_update_are_told():
    _, kb = made(PATHS, {"edge": [(1, 2)]})
    for wish in ({"insert": {"egde": [(3, 4)]}}, {"delete": {"Edge": [(1, 2)]}}):
        (warning,), changes = told(kb.what_if, **wish)
        assert warning.code == "W304"
        assert warning.help == "did you mean edge?"
        assert changes.stats["warnings"] == [str(warning)]
    assert told(kb.update, insert={"colour": [(1, 2)], "edge": [(8, 9)]})[0] == []
    assert told(kb.update, insert={"colour": [(2, 2)]})[0] == []


def test_a_predicate_that_is_known_from_then_on_is_told_once():
    _, kb = made(PATHS, {"edge": [(1, 2)]})
    assert len(told(kb.update, insert={"egde": [(3, 4)]})[0]) == 1
    assert told(kb.update, insert={"egde": [(5, 6)]})[0] == []


def test_a_store_knows_its_predicates(tmp_path):
    _, kb = made(PATHS, {"edge": [(1, 2)], "name": [(1, "a")]}, store=tmp_path / "kb")
    kb = sl.open(tmp_path / "kb", engine="reference")
    assert told(kb.update, insert={"name": [(2, "b")]})[0] == []
    assert len(told(kb.update, insert={"nmae": [(2, "b")]})[0]) == 1


def test_facts_for_rules_that_come_with_them_are_no_mistake():
    _, kb = made(PATHS, {"edge": [(1, 2)]})
    rule = "twin(?x) :- edges(?x) ."
    assert told(kb.update, insert={"edges": [(1,)]}, add_rules=rule)[0] == []


def test_new_rules_alone_are_told():
    (first,), kb = made("p(?x) :- q(?x) .", {})
    assert "q with 1 argument" in first.message
    (second,), _ = told(kb.update, add_rules="r(?x) :- s(?x), p(?x) .")
    assert "s with 1 argument" in second.message
    assert told(kb.update, add_rules="t(?x) :- p(?x), q(?x) .")[0] == []


# -- joins that never match


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ([1, 2], ["1", "2"], ("integers", "strings")),
        ([1, 2], [1.0, 2.0], ("integers", "doubles")),
        ([dt.date(2026, 1, 1)], [dt.datetime(2026, 1, 1)], ("dates", "dateTimes")),  # noqa: DTZ001
        ([dt.date(2026, 1, 1)], ["2026-01-01"], ("dates", "strings")),
        ([sl.IRI("http://e/a")], ["http://e/a"], ("IRIs", "strings")),
        ([True], [1], ("booleans", "integers")),
    ],
)
def test_a_join_that_never_matches_is_told(left, right, words):
    q = [(value, n) for n, value in enumerate(right)]
    (warning,), kb = made(JOIN, {"p": pairs(*left), "q": q})
    assert warning.code == "W305"
    assert warning.message == (
        f"?y never matches: column 2 of p holds {words[0]}, but column 1 of q holds {words[1]}"
    )
    assert warning.help
    assert len(kb["r"]) == 0


def test_what_is_advised_works():
    program = "r(?x, ?z) :- p(?x, ?y), q(?w, ?z), FILTER(?y = xsd:integer(?w)) ."
    found, kb = made(program, {"p": [("a", 1)], "q": [("1", "b")]})
    assert found == []
    assert list(kb["r"]) == [("a", "b")]
    program = "@declare q(c0 integer, c1 string) . " + JOIN
    found, kb = made(program, {"p": [("a", 1)], "q": [("1", "b")]})
    assert found == []
    assert list(kb["r"]) == [("a", "b")]


def test_text_files_hold_strings(tmp_path):
    (tmp_path / "q.csv").write_text("1,b\n")
    facts = [{"p": [("a", 1)]}, str(tmp_path / "q.csv")]
    assert codes(JOIN, facts) == ["W305"]
    assert codes("@declare q(c0 integer, c1 string) . " + JOIN, facts) == []


def test_declared_columns_have_types_without_facts():
    program = "@declare p(a string, b date) . @declare q(c dateTime, d string) . " + JOIN
    assert codes(program, {}) == ["W301", "W301", "W305"]
    (warning,), _ = made(program, {"p": [], "q": []})
    assert "column c of q holds dateTimes by its declaration" in warning.message


def test_columns_with_several_types_may_match():
    assert codes(JOIN, {"p": pairs(1, "a"), "q": [("b", 1)]}) == []


def test_one_row_among_many_is_enough_to_match():
    many = [(n, n) for n in range(5000)]
    odd = [*many[:77], ("a", "a"), *many[77:]]
    assert codes(JOIN, {"p": many, "q": [("a", "b")]}) == ["W305"]
    assert codes(JOIN, {"p": odd, "q": [("a", "b")]}) == []


def test_only_suspects_are_looked_at_whole(monkeypatch):
    looked_at = []
    whole = measured_types.MeasuredTypes.of_all
    monkeypatch.setattr(
        measured_types.MeasuredTypes,
        "of_all",
        lambda self, columns: looked_at.append(len(columns[0])) or whole(self, columns),
    )
    columns = {"p": pa.table([np.arange(9000), np.arange(9000)], ["a", "b"])}
    assert codes(JOIN, columns | {"q": [(1, 2)]}) == []
    assert looked_at == []
    facts = columns | {"q": [("1", 2)], "s": columns["p"]}
    assert codes(JOIN + " t(?x) :- s(?x, ?x) .", facts) == ["W305"]
    assert sorted(looked_at) == [1, 9000]


@pytest.mark.parametrize("constants", [0, 1000])
def test_rules_are_followed_only_if_types_differ(constants, monkeypatch, tmp_path):
    monkeypatch.setattr(doubts, "CONSTANTS_PER_RULE", constants)
    assert codes(JOIN, {"p": [("a", "b")], "q": [("c", "d")]}) == []
    assert codes(JOIN, {"p": [("a", 1)], "q": [("c", "d")]}) == ["W305"]
    declared = "@declare p(a string, b string) . @declare q(a date, b string) ."
    assert codes(declared + JOIN, {"p": [], "q": []}) == ["W305"]
    computed = "s(?z) :- p(?x, ?y), BIND(STRLEN(?y) AS ?z) . t(?x) :- s(?x), q(?x, ?y) ."
    assert codes(computed, {"p": [("a", "b")], "q": [("c", "d")]}) == ["W305"]
    path = tmp_path / "data.nt"
    program = "@prefix : <http://e/> . r(?x) :- :p(?x, ?y), :q(?y, ?x) ."
    for values, expected in (('"a"', "<b>"), []), (('"a"', '"1"^^xsd:integer'), ["W305"]):
        left, right = (each.replace("xsd:integer", f"<{XSD}integer>") for each in values)
        right = right.replace("<b>", "<http://e/b>")
        path.write_text(
            f"<http://e/a> <http://e/p> {left} .\n{right} <http://e/q> <http://e/a> .\n"
        )
        assert codes(program, path) == expected


def test_integers_that_pandas_made_floats_are_named():
    frame = pd.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, None]}).dropna()
    (warning,), _ = made(JOIN, {"p": frame, "q": [(1, "b")]})
    assert "holds doubles (whole numbers: pandas makes integers doubles" in warning.message
    assert HELP_ON_PANDAS in warning.message
    assert codes(JOIN, {"p": frame.astype({"b": "Int64"}), "q": [(1, "b")]}) == []
    (warning,), _ = made(JOIN, {"p": frame.assign(b=0.5), "q": [(1, "b")]})
    assert HELP_ON_PANDAS not in warning.message
    (warning,), _ = made(JOIN, {"p": [("x", 1.0)], "q": [(1, "b")]})
    assert HELP_ON_PANDAS not in warning.message


def test_constants_of_another_type_than_their_column_are_told():
    (warning,), _ = made('r(?y) :- p("1", ?y) .', {"p": [(1, 2)]})
    assert warning.code == "W306"
    assert warning.help.startswith("integers are written 42")


def test_triples_are_no_mistake(tmp_path):
    path = tmp_path / "data.nt"
    path.write_text(
        '<http://e/a> <http://e/p> "text" .\n<http://e/b> <http://e/q> <http://e/c> .\n'
        "<http://e/p> <http://www.w3.org/2000/01/rdf-schema#subPropertyOf> <http://e/r> .\n"
    )
    program = """
    @prefix : <http://e/> .
    s(?x) :- :p(?x, ?y), :q(?y, ?z) .
    t(?x) :- :p(?x, ?y), NOT :q(?y, ?z) .
    """
    assert codes(program, path) == []
    general = "[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] ."
    assert codes(program.replace("NOT ", "") + general, path) == []


def test_a_random_table_of_every_type_is_measured_right():
    from stratalog.lang.column_types import type_of_kind
    from stratalog.lang.values.terms import term_of
    from stratalog.pipeline.dictionary import Dictionary

    values = [1, "a", 1.5, True, dt.date(2026, 1, 1), sl.IRI("http://e"), sl.BNode("b")]
    values += [sl.Literal("a", lang="en"), sl.Literal("x", datatype="http://e/t")]
    terms = [term_of(value) for value in values]
    dictionary = Dictionary()
    ids = dictionary.encode(terms)
    measured = measured_types.MeasuredTypes(dictionary)
    for term, number in zip(terms, ids, strict=True):
        assert measured.of_some([np.array([number])]) == [type_of_kind(term.kind)]
    assert measured.of_all([np.repeat(ids, 40_000)]) == [sum(type_of_kind(x.kind) for x in terms)]
    assert measured.of_all([ids[:0]]) == measured.of_some([ids[:0]]) == [0]


def test_plans_tell_of_joins_too():
    from stratalog.knowledge.describe import describe

    program = "@declare p(a string, b date) . @declare q(c dateTime, d string) . " + JOIN
    found, plan = told(describe, program)
    assert [warning.code for warning in found] == ["W305"]
    assert plan["warnings"] == [str(found[0])]


# -- updates


def test_new_rules_that_never_match_are_told():
    _, kb = made("s(?x) :- p(?x, ?y) .", {"p": pairs(1, 2), "q": [("1", 2)]})
    (warning,), _ = told(kb.update, add_rules=JOIN)
    assert warning.code == "W305"
    assert "column 2 of p holds integers, but column 1 of q holds strings" in warning.message
    assert told(kb.update, add_rules="t(?x) :- p(?x, ?y), s(?x) .")[0] == []


def test_facts_that_come_with_new_rules_have_types_too():
    _, kb = made("s(?x) :- p(?x, ?y) .", {"p": pairs(1, 2), "q": [("1", 2)]})
    assert told(kb.what_if, add_rules=JOIN, insert={"q": [(1, 2)]})[0] == []
    rule = "t(?x) :- p(?x, ?y), new(?y) ."
    assert [w.code for w in told(kb.what_if, add_rules=rule, insert={"new": [("1",)]})[0]] == [
        "W305"
    ]


def test_updates_of_facts_look_at_no_types(monkeypatch):
    _, kb = made(JOIN, {"p": pairs(1, 2), "q": [(1, 2)]})

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(measured_types.MeasuredTypes, "_of", refuse)
    assert told(kb.update, insert={"p": pairs("a")}, delete={"q": [(1, 2)]})[0] == []


# -- queries


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ('p("1", ?y)', "1"),
        ("p(1.0, ?y)", "1"),
        ("p(1e0, ?y)", "1"),
        ("p(?x, <two>)", '"two"'),
        ('p(?x, "zwei")', '"zwei"@de'),
        ('p(?x, "two"@en)', '"two"'),
        ("p(?x, 3)", '"3"'),
    ],
)
def test_a_query_tells_of_constants_that_only_another_type_would_make_known(query, meant):
    _, kb = made("", {"p": [(1, "two"), (2, sl.Literal("zwei", lang="de")), (4, "3")]})
    (warning,), table = told(kb.query, query)
    assert warning.code == "W307"
    assert warning.help.startswith(f"did you mean {meant}?")
    assert table.num_rows == 0


def test_a_query_with_answers_or_with_constants_that_occur_tells_nothing():
    _, kb = made("", {"p": [(1, "two"), ("1", "x")]})
    for query in ("p(1, ?y)", 'p("1", ?y)', 'p(1, "x")', 'p(7, "seven")', "p(?x, ?y), ?x > 9"):
        assert told(kb.query, query)[0] == []
