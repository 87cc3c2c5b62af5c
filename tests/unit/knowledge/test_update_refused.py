"""Updates that are refused: a coded error that says what to do, and nothing has changed."""

import pytest

import stratalog as sl

PROGRAM = """
@declare sale(id integer, who string) .
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
buyer(?x) :- sale(?i, ?x) .
"""
FACTS = {"edge": [("a", "b"), ("b", "c")], "sale": [(1, "ann")]}

REFUSED = {
    "another arity": ({"edge": [(1, 2, 3)]}, "D301: edge has 2 arguments", "give rows of 2 values"),
    "a derived predicate's other arity": ({"path": [(1,)]}, "D301: path has 2", "give rows of 2"),
    "rows of two widths": ({"edge": [(1, 2), (1,)]}, "D307: ", "the same number of values"),
    "an object": ({"edge": [(object(), 1)]}, "D202: column c0: a value of type object", "give int"),
    "bytes": ({"edge": [(b"a", 1)]}, "D202: column c0: a value of type bytes", "other values"),
    "a list": ({"edge": [([1], 2)]}, "D305: column c0 holds list", "one row per element"),
    "half a character": ({"edge": [("\ud800", 1)]}, "D202: column c0: the text", "decode the text"),
    "null": ({"edge": [("x", "y"), (None, 1)]}, "D304: column c0 in row 2 is null", "remove such"),
    "another type": ({"sale": [("x", "y")]}, 'D302: "x" in column id in row 1', "written 42"),
    "a file that is not there": ("no/such.csv", "D100: there is no such file", "check the name"),
    "facts of no predicate": (3, "D307: an int does not tell its predicate", "write {"),
    "rows that are no tuples": ({"edge": [3]}, 'D307: row 1 of facts["edge"]', "write (3,)"),
    "no name": ({"no name": [(1,)]}, "S112: 'no name' is not the name", "write a name"),
    "a hidden predicate": ({"$not1": [(1,)]}, "S112: '$not1' is not the name", "write a name"),
}


def state(kb):
    facts = {name: sorted(map(repr, kb[name])) for name in kb}
    return facts, kb.counts(), kb.version, len(kb._dictionary), kb.stats["facts"]


@pytest.mark.parametrize("how", ["insert", "delete"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_told_and_changes_nothing(engine, case, how, tmp_path):
    given, told, helped = REFUSED[case]
    kb = sl.materialise(PROGRAM, FACTS, engine=engine, store=tmp_path / "kb")
    kb.what_if()  # gives numbers to all constants of the rules
    before = state(kb)
    good = {"edge": [("c", "new")]}
    for ask in (kb.update, kb.what_if):
        with pytest.raises(sl.StratalogError) as caught:
            ask(**{how: [good, given]})
        assert str(caught.value).startswith(told)
        assert helped in caught.value.help
        assert state(kb) == before
    assert sl.open(tmp_path / "kb").version == 1


@pytest.mark.parametrize(
    ("edit", "code"),
    [
        ({"add_rules": "p(?x) :- q(?y) ."}, "S201"),
        ({"add_rules": "edge(?x) :- path(?x, ?y) ."}, "S202"),
        ({"add_rules": "odd(?x) :- edge(?x, ?y), NOT odd(?y) ."}, "S301"),
        ({"add_rules": "p(?x :- q(?x) ."}, "S106"),
        ({"add_rules": "no/such.dlog"}, "S100"),
        ({"remove_rules": "path(?x, ?y) :- edge(?y, ?x) ."}, "S211"),
    ],
)
def test_rules_that_cannot_be_edited_change_nothing(engine, edit, code):
    kb = sl.materialise(PROGRAM, FACTS, engine=engine)
    kb.what_if()
    before = state(kb)
    with pytest.raises(sl.ProgramError) as caught:
        kb.update(insert={"edge": [("c", "new")]}, **edit)
    assert caught.value.code == code
    assert caught.value.help
    assert state(kb) == before


def test_facts_to_delete_that_nobody_knows_are_counted(engine):
    kb = sl.materialise(PROGRAM, FACTS, engine=engine)
    kb.what_if()
    before = state(kb)
    gone = {"edge": [("q", "r"), ("a", "c")], "path": [("a", "c")], "unheard": [(1, 2, 3)]}
    changes = kb.update(delete=gone)
    assert not changes
    assert changes.stats["not_explicit"] == 4
    assert state(kb) == before
    assert "unheard" not in kb
