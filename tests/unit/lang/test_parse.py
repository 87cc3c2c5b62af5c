"""Program text -> abstract syntax, and the errors that point into the text."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.errors import ProgramError
from stratalog.lang.check import check
from stratalog.lang.names import predicate_name, resolve, show_name
from stratalog.lang.parse import merge, parse_atom, parse_file, parse_program, parse_query
from stratalog.lang.printer import show
from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Atom,
    Bind,
    Call,
    Column,
    Equality,
    Equation,
    Filter,
    Negation,
    Place,
    Predicate,
    Reduction,
    Rule,
    Variable,
)
from stratalog.lang.terms import (
    BNODE_KIND,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    RDF,
    RDF_TYPE,
    STRING,
    XSD,
    Term,
)

X, Y, Z, N = Variable("x"), Variable("y"), Variable("z"), Variable("n")
ONE, TWO = Term(INTEGER, "1"), Term(INTEGER, "2")


def iri(text):
    return Term(IRI_KIND, text)


def atom(name, *args):
    return Atom(Predicate(name, len(args)), args)


def rule(text):
    (read,) = parse_program("@prefix : <http://e/> .\n" + text).rules
    return read


def body(text):
    return rule(f"p() :- {text} .").body


def condition(text):
    (read,) = body(f"FILTER({text})")
    return read.expression


def constant(text):
    (fact,) = parse_program(f"@prefix : <http://e/> .\np({text}) .").facts
    return fact.args[0]


# Atoms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("path(?x, ?y)", atom("path", X, Y)),
        ("p()", atom("p")),
        (":C(?x)", atom("<http://e/C>", X)),
        ("<http://a#p>(?x,?y)", atom("<http://a#p>", X, Y)),
        (":C[?x]", atom("<http://e/C>", X)),
        (":p[?x, ?y]", atom("<http://e/p>", X, Y)),
        ("[?x, :p, ?y]", atom("<http://e/p>", X, Y)),
        ("[?x, ?z, ?y]", Atom(TRIPLE, (X, Z, Y))),
        ("[?x, a, :C]", atom("<http://e/C>", X)),
        ("[?x, rdf:type, :C]", atom("<http://e/C>", X)),
        ("rdf:type(?x, :C)", atom("<http://e/C>", X)),
        ("rdf:type(?x, ?y)", Atom(TRIPLE, (X, RDF_TYPE, Y))),
        ("[?x, a, ?y]", Atom(TRIPLE, (X, RDF_TYPE, Y))),
        ('[?x, a, "C"]', atom(f"<{RDF}type>", X, Term(STRING, "C"))),
        ("[?x, a, _:c]", atom(f"<{RDF}type>", X, Term(BNODE_KIND, "c"))),
        ("rdf:type(?x)", atom(f"<{RDF}type>", X)),
        ("a(?x)", atom("a", X)),
        ("on(?x, ?y)", atom("on", X, Y)),
        ("in(?x)", atom("in", X)),
        ("true(?x)", atom("true", X)),
        ("prefix(?x)", atom("prefix", X)),
        ("base(?x)", atom("base", X)),
        ("größe_2(?x)", atom("größe_2", X)),
        ("swrlb:lessThan(?x, ?y)", None),
    ],
)
def test_atom(text, expected):
    if expected is None:
        with pytest.raises(ProgramError, match="S111"):
            body(text)
    else:
        assert body(text) == (expected,)


def test_a_statement_may_begin_with_a_word_that_is_a_keyword_elsewhere():
    program = parse_program(
        "base(?x) :- prefix(?x) . prefix(1) . exists(1) . distinct(1) . as(1) ."
    )
    assert program.rules[0].heads == (atom("base", X),)
    assert [fact.predicate.name for fact in program.facts] == ["prefix", "exists", "distinct", "as"]
    assert body("NOT exists(?x)") == (Negation((atom("exists", X),)),)


# Literals of a body


@pytest.mark.parametrize("word", ["NOT", "not", "~", "Not"])
def test_negation(word):
    single = Negation((atom("q", X, Y),))
    assert body(f"{word} q(?x, ?y)") == (single,)
    assert body(f"{word} (q(?x, ?y), r(?y))") == (Negation((atom("q", X, Y), atom("r", Y))),)
    inside = (atom("q", Y, Z),)
    assert body(f"{word} EXISTS ?y IN (q(?y, ?z))") == (Negation(inside, (Y,)),)
    assert body(f"{word} exists ?y, ?z in (q(?y, ?z))") == (Negation(inside, (Y, Z)),)
    assert body(f"{word} exists ?y ?z in q(?y, ?z)") == (Negation(inside, (Y, Z)),)


def test_filter_bind_and_comparison():
    less = Filter(Call("<", (X, Y)))
    assert body("FILTER(?x < ?y)") == body("?x < ?y") == body("filter (?x<?y)") == (less,)
    assert body("BIND(?x + 1 AS ?y)") == (Bind(Call("+", (X, ONE)), Y),)
    assert body("?x IN (1, 2)") == (Filter(Call("IN", (X, ONE, TWO))),)
    assert body("?x not in (1)") == (Filter(Call("!", (Call("IN", (X, ONE)),))),)
    assert body("(?x + 1) * 2 >= ?y") == body("FILTER((?x + 1) * 2 >= ?y)")
    assert body("-1 < ?x") == (Filter(Call("<", (Term(INTEGER, "-1"), X))),)
    assert body("?x <?y, ?z> 1") == (Filter(Call("<", (X, Y))), Filter(Call(">", (Z, ONE))))
    assert body(":a != ?x") == (Filter(Call("!=", (iri("http://e/a"), X))),)


def test_aggregate():
    count = Reduction("COUNT", False, Y, N)
    grouped = Aggregate((atom("edge", X, Y),), (X,), (count,))
    assert body("AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n)") == (grouped,)
    assert body("aggregate(edge(?x, ?y) on ?x bind count(?y) as ?n)") == (grouped,)
    everything = Aggregate(
        (atom("q", X, Y, Z), Filter(Call("<", (X, Y)))),
        (X, Y),
        (
            Reduction("COUNT", False, None, N),
            Reduction("COUNT", True, Z, Variable("m")),
            Reduction("SUM", False, Call("*", (Z, TWO)), Variable("s")),
        ),
    )
    tail = "BIND COUNT(*) AS ?n BIND COUNT(DISTINCT ?z) AS ?m BIND SUM(?z * 2) AS ?s)"
    assert body(f"AGGREGATE(q(?x, ?y, ?z), ?x < ?y ON ?x ?y {tail}") == (everything,)
    assert body(f"AGGREGATE(q(?x, ?y, ?z), ?x < ?y ON ?x, ?y {tail}") == (everything,)
    alone = Aggregate((atom("q", X),), (), (Reduction("MAX", False, X, N),))
    assert body("AGGREGATE(q(?x) BIND MAX(?x) AS ?n)") == (alone,)


def test_heads_and_facts():
    assert rule("?x = ?y :- q(?x, ?y) .").heads == (Equality(X, Y),)
    assert rule("a(?x), [?x, :p, 1] :- q(?x) .").heads == (
        atom("a", X),
        atom("<http://e/p>", X, ONE),
    )
    program = parse_program("edge(1, 2) . p() .\na(1), b(2) .")
    assert program.facts == (atom("edge", ONE, TWO), atom("p"), atom("a", ONE), atom("b", TWO))
    assert program.rules == ()
    assert rule("p(?x) .") == Rule((atom("p", X),), ())  # refused by the check, not here


# Expressions


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("?x || ?y && ?z", "?x || (?y && ?z)"),
        ("?x && ?y || ?z", "(?x && ?y) || ?z"),
        ("?x < ?y + 1 && ?z", "(?x < (?y + 1)) && ?z"),
        ("?x + ?y * ?z - 1", "(?x + (?y * ?z)) - 1"),
        ("?x - ?y - ?z", "(?x - ?y) - ?z"),
        ("?x / ?y * ?z", "(?x / ?y) * ?z"),
        ("!?x = ?y", "(!?x) = ?y"),
        ("-?x + ?y", "(-?x) + ?y"),
        ("+?x", "?x"),
        ("?x IN (1) && ?y NOT IN (2, 3)", "(?x IN (1)) && (!(?y IN (2, 3)))"),
        ("?x + 1 in (1) || ?y", "((?x + 1) IN (1)) || ?y"),
        ("?x-1", "?x - 1"),
        ("?x -1", "?x - 1"),
        ("?x - -1", "?x - (-1)"),
        ("?x+1.5", "?x + 1.5"),
        ("?x*-1e3", "?x * (-1e3)"),
    ],
)
def test_operators_bind_as_in_sparql(text, grouped):
    assert condition(text) == condition(grouped)


def test_a_sign_before_a_digit_belongs_to_the_number_where_an_operand_is_expected():
    assert condition("-1") == Term(INTEGER, "-1")
    assert condition("- 1") == Call("NEG", (ONE,))
    assert condition("?x-1") == Call("-", (X, ONE))


def test_function_calls():
    assert condition("strLen(?x)") == Call("STRLEN", (X,))
    assert condition("xsd:integer(?x)") == Call(f"<{INTEGER}>", (X,))
    assert condition("IF(BOUND(?x), 1, COALESCE(?y, 2))") == Call(
        "IF", (Call("BOUND", (X,)), ONE, Call("COALESCE", (Y, TWO)))
    )
    assert condition("CONCAT()") == Call("CONCAT", ())


# Constants


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("1", ONE),
        ("01", ONE),
        ("+1", ONE),
        ("-7", Term(INTEGER, "-7")),
        ("2.5", Term(DECIMAL, "2.5")),
        ("true", Term(BOOLEAN, "true")),
        ('"a b"', Term(STRING, "a b")),
        ("'a\"b'", Term(STRING, 'a"b')),
        ('"""a"b\nc"""', Term(STRING, 'a"b\nc')),
        ("'''a'b'''", Term(STRING, "a'b")),
        ('""', Term(STRING, "")),
        (r'"\t\"\\\u00e9\U0001F600"', Term(STRING, '\t"\\é😀')),
        ('"chat"@FR', Term("@fr", "chat")),
        ('"x"^^xsd:string', Term(STRING, "x")),
        ('"2020-01-01"^^xsd:date', Term(DATE, "2020-01-01")),
        ('"x"^^<http://t>', Term("http://t", "x")),
        ('"x"^^:t', Term("http://e/t", "x")),
        ('"abc"^^xsd:integer', Term(INTEGER, "abc")),
        ("_:b1", Term(BNODE_KIND, "b1")),
        ("<a>", iri("a")),
        (r"<http://a/\u00e9>", iri("http://a/é")),
        (":a", iri("http://e/a")),
        (":", iri("http://e/")),
        (":a.b", iri("http://e/a.b")),
        (":a:b", iri("http://e/a:b")),
        (":1", iri("http://e/1")),
        (":a%20b", iri("http://e/a%20b")),
        (r":a\,b\#", iri("http://e/a,b#")),
        ("xsd:a-b", iri(XSD + "a-b")),
    ],
)
def test_constant(text, term):
    assert constant(text) == term


def test_a_double_is_a_double():
    assert constant("1e0").kind == DOUBLE
    assert constant(".5E-3").kind == DOUBLE


def test_a_dot_after_a_name_or_a_number_ends_the_statement():
    program = parse_program(
        "@prefix : <http://e/> .\np(?x) :- ?x = :a.b. q(1).r(2).\np(?x) :- ?x = 1."
    )
    assert program.rules[0].body == (Equation(X, iri("http://e/a.b")),)
    assert program.rules[1].body == (Equation(X, ONE),)
    assert len(program.facts) == 2


def test_comments_end_with_the_line_and_hide_nothing_in_quotes_and_iris():
    program = parse_program(
        "@prefix : <http://e/> . # one\n% two . p(2) .\n// three\n"
        'p("# % //", <http://a#b%20//c>, :a%20b) . // four\nq(1) . #'
    )
    assert program.facts[0].args == (
        Term(STRING, "# % //"),
        iri("http://a#b%20//c"),
        iri("http://e/a%20b"),
    )
    assert len(program.facts) == 2


# Prefixes and base


def test_prefixes_in_both_spellings():
    program = parse_program(
        "@prefix a: <http://a/> .\nPREFIX b: <http://b/>\nprefix : <http://c/>\n"
        "p(a:x, b:x, :x) .\n@prefix a: <http://d/> .\np(a:x, a:x, rdfs:x) ."
    )
    assert program.facts[0].args == (iri("http://a/x"), iri("http://b/x"), iri("http://c/x"))
    assert program.facts[1].args[0] == iri("http://d/x")
    assert program.prefixes == (("b", "http://b/"), ("", "http://c/"), ("a", "http://d/"))


def test_a_base_resolves_relative_iris():
    program = parse_program(
        "p(<x>) .\n@base <http://a/b/c> .\np(<x>) .\n"
        "@prefix r: <rel#> .\np(r:y) .\nBASE <http://z/>\np(<>) ."
    )
    assert [fact.args[0].text for fact in program.facts] == [
        "x",
        "http://a/b/x",
        "http://a/b/rel#y",
        "http://z/",
    ]
    assert program.base == "http://z/"


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
    ],
)
def test_references_resolve_as_in_the_rfc(reference, expected):
    assert resolve("http://a/b/c/d;p?q", reference) == expected


def test_declarations():
    (declared,) = parse_program(
        '@declare sale(id string, buyer string = "buyer.id", amount decimal?, on date? = "d") .'
    ).declarations
    assert declared.predicate == Predicate("sale", 4)
    assert declared.columns == (
        Column("id", "string"),
        Column("buyer", "string", source="buyer.id"),
        Column("amount", "decimal", nullable=True),
        Column("on", "date", nullable=True, source="d"),
    )


# Places and texts


def test_places_and_texts_of_rules():
    program = parse_program('p(1) .\n  q(?x) :-  # why\n    r(?x),\n    ?x != "a  #b" .', "f.dlog")
    (read,) = program.rules
    assert read.text == 'q(?x) :- r(?x), ?x != "a  #b" .'
    assert read.place == Place("f.dlog", 2, 3)
    assert [part.place for part in read.body] == [Place("f.dlog", 3, 5), Place("f.dlog", 4, 5)]
    assert program.facts[0].place == Place("f.dlog", 1, 1)


# Queries, atoms, names, unions


def test_a_query_is_a_body_or_a_rule():
    prefixes = [("e", "http://e/")]
    assert parse_query("e:p(?x, ?y), ?x < 2", prefixes) == (
        atom("<http://e/p>", X, Y),
        Filter(Call("<", (X, TWO))),
    )
    assert parse_query("p(<x>) .", base="http://b/") == (atom("p", iri("http://b/x")),)
    expected = Rule((atom("a", X),), (atom("e", X, Y),))
    assert parse_query("a(?x) :- e(?x, ?y)") == expected
    assert parse_query("a(?x) :- e(?x, ?y) .") == expected
    assert parse_query("a(?x) :- e(?x, ?y) # last") == expected
    assert parse_query("?x = ?y :- e(?x, ?y)").heads == (Equality(X, Y),)


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "S102"), ("p(?x", "S106"), ("p(A)", "S110"), ("a(?x) :- b(?x) . c(1) .", "S119")],
)
def test_a_wrong_query_is_an_error(text, code):
    with pytest.raises(ProgramError) as caught:
        parse_query(text)
    assert caught.value.code == code


def test_an_atom_may_end_with_a_dot():
    assert parse_atom("path(1, ?x)") == parse_atom(" path(1, ?x) . ") == atom("path", ONE, X)
    assert parse_atom("[e:a, e:p, 1]", [("e", "http://e/")]) == atom(
        "<http://e/p>", iri("http://e/a"), ONE
    )
    with pytest.raises(ProgramError):
        parse_atom("p(1), q(2)")


def test_names_of_predicates():
    prefixes = [("e", "http://e/")]
    assert predicate_name("path", prefixes) == "path"
    assert predicate_name("e:p", prefixes) == "<http://e/p>"
    assert predicate_name("owl:sameAs") == "<http://www.w3.org/2002/07/owl#sameAs>"
    assert predicate_name("<http://x>") == "<http://x>"
    assert show_name("<http://e/p>", prefixes) == "e:p"
    assert show_name("<http://x>", prefixes) == "<http://x>"
    assert show_name("path", prefixes) == "path"
    for text, code in [
        ("z:p", "S111"),
        ("a b", "S112"),
        ("1a", "S112"),
        ("$a", "S112"),
        ("not", "S113"),
    ]:
        with pytest.raises(ProgramError) as caught:
            predicate_name(text, prefixes)
        assert caught.value.code == code


def test_the_union_keeps_everything_and_the_later_prefix():
    one = parse_program("@prefix a: <http://1/> . p(1) . p(?x) :- q(?x) .")
    two = parse_program("@prefix a: <http://2/> . @base <http://b/> . p(2) . @declare q(a term) .")
    union = merge([one, two])
    assert union.facts == (*one.facts, *two.facts)
    assert union.rules == one.rules
    assert union.declarations == two.declarations
    assert union.prefixes == (("a", "http://2/"),)
    assert union.base == "http://b/"
    assert merge([]) == parse_program("")


# Errors

MISTAKES = [
    ('p("abc) .\nq(1) .', "S103", 1, 3, "close it"),
    ('p("""abc) .\nq("x") .', "S103", 1, 3, '"""'),
    ("p(<http://a b>) .", "S104", 1, 3, "%20"),
    ("p(<http://ab) .", "S104", 1, 3, ">"),
    ("p(?x) :- q(?x)\nr(?x) :- s(?x) .", "S105", 1, 14, "."),
    ("p(?x) :- q(?x) # c\n\nr(1) .", "S105", 1, 14, "."),
    ("p(?x) :- q(?x)", "S105", 1, 14, "."),
    ("@prefix e: <http://e/>\np(1) .", "S105", 1, 22, "."),
    ("p(?x :- q(?x) .", "S106", 1, 6, ")"),
    ("p(?x) :- q(?x .", "S106", 1, 15, ")"),
    ("[?x, a, <C> .", "S106", 1, 13, "]"),
    ("p(?x) <- q(?x) .", "S107", 1, 7, ":-"),
    ("p(?x) := q(?x) .", "S107", 1, 7, ":-"),
    ("p(?x) :- q(?x) :- r(?x) .", "S107", 1, 16, "dot"),
    (r'p("\d") .', "S108", 1, 3, r"\\"),
    (r'p("\uD800") .', "S108", 1, 3, r"\\"),
    ("RP0(A) :- TE(A,rdf:type,<C>)", "S110", 1, 5, 'write "A", <A> or ?A'),
    ("path(a, c) .", "S110", 1, 6, 'write "a", <a> or ?a'),
    ("p(?x) :- q(?x), FILTER(?x = abc) .", "S110", 1, 29, "?abc"),
    ("p(?x) :- ex:q(?x) .", "S111", 1, 10, "@prefix ex:"),
    ("[?x, 'p', ?y] :- q(?x, ?y) .", "S112", 1, 6, "IRI"),
    ("[?x, _:p, ?y] :- q(?x, ?y) .", "S112", 1, 6, "IRI"),
    ("p(?x) :- ?q(?x) .", "S112", 1, 12, "[?x, ?p, ?y]"),
    ("filter(?x) :- q(?x) .", "S113", 1, 1, "another name"),
    ("[?x, ?y] :- q(?x, ?y) .", "S114", 1, 1, "[subject"),
    ("p :- q() .", "S115", 1, 1, "p()"),
    ("p() :- q .", "S115", 1, 8, "q()"),
    ("p(?x) :- q(?x), ?x < 1 || ?x > 3 .", "S117", 1, 20, "FILTER"),
    ("p(?x) :- STRLEN(?x) > 3 .", "S117", 1, 21, "FILTER"),
    ("p(?x) :- q(?x), FILTER(1 < ?x < 3) .", "S118", 1, 31, "&&"),
    ('p("x"^^<iri>) .', "S120", 1, 8, "xsd:date"),
    ("p(?x) :- q(?x), .", "S102", 1, 17, "comma"),
    ("p(?x) :- .", "S102", 1, 10, "body"),
    ("p(?x) :- q(?x) & r(?x) .", "S102", 1, 16, "comma"),
    ("p(?x) :- q(?x), ?x == 3 .", "S102", 1, 21, "="),
    ("p(?x) :- q(?x), ?x => 3 .", "S102", 1, 21, "write  >="),
    ("p(?x) :- q(?x), ?x =< 3 .", "S102", 1, 21, "write  <="),
    ("p(?x) :- q(?x), FILTER(?x =< ?x) .", "S102", 1, 28, "write  <="),
    ("p($x) :- q(?x) .", "S102", 1, 3, "?x"),
    ("p(1x) .", "S102", 1, 4, "letter"),
    ("p(1 2) .", "S102", 1, 5, "comma"),
    ("p(1) . .", "S102", 1, 8, "remove"),
    ("@prefix ex <http://e/> .", "S102", 1, 9, "colon"),
    ("p(1) .\0", "S102", 1, 7, ""),
]


@pytest.mark.parametrize(("text", "code", "line", "column", "advice"), MISTAKES)
def test_a_mistake_has_a_place_and_a_fix(text, code, line, column, advice):
    with pytest.raises(ProgramError) as caught:
        parse_program(text, "f.dlog")
    error = caught.value
    assert (error.code, error.path, error.line, error.column) == (code, "f.dlog", line, column)
    assert advice in error.help
    assert error.source == text.split("\n")[line - 1].rstrip()


def test_of_a_long_line_only_a_part_is_shown():
    with pytest.raises(ProgramError) as caught:
        parse_program("p(" + "1, " * 40_000 + "A" + ", 1" * 1000 + ") .")
    error = caught.value
    assert error.code == "S110"
    assert len(error.source) < 110
    assert error.source[error.caret - 1] == "A"
    assert error.column == 3 + 3 * 40_000


@pytest.mark.parametrize(
    "text",
    [
        "p() :- " + "NOT (" * 5000 + "q()" + ")" * 5000 + " .",
        "p() :- FILTER(" + "!" * 5000 + "1) .",
        "p() :- FILTER(" + "f(" * 5000 + "1" + ")" * 5000 + ") .",
        "p() :- FILTER(" + "1 + " * 5000 + "1) .",
    ],
)
def test_deep_nesting_is_an_error_not_a_crash(text):
    with pytest.raises(ProgramError) as caught:
        parse_program(text)
    assert caught.value.code == "S116"


def test_the_deepest_rule_is_checked_and_printed():
    text = "p() :- FILTER(" + "ABS(" * 98 + "1" + ")" * 98 + ") ."
    program = parse_program(text)
    assert check(program) == []
    assert parse_program(show(program)) == program


def test_many_parentheses_and_long_lists_are_fine():
    assert condition("(" * 5000 + "?x" + ")" * 5000) == X
    assert len(body("?x IN (" + ", ".join(map(str, range(5000))) + ")")[0].expression.args) == 5001


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ProgramError) as caught:
        parse_file(tmp_path / "none.dlog")
    assert caught.value.code == "S100"
    wrong = tmp_path / "latin.dlog"
    wrong.write_bytes(b'p(1) .\np("\xe9") .\n')
    with pytest.raises(ProgramError) as caught:
        parse_file(wrong)
    assert (caught.value.code, caught.value.line) == ("S101", 2)
    assert "offset 10" in caught.value.message


def test_a_file_with_a_byte_order_mark_and_windows_lines(tmp_path):
    path = tmp_path / "p.dlog"
    path.write_bytes("\ufeffp(1) .\r\nq(?x) :-\r\n  p(?x) .\r\n".encode())
    program = parse_file(path)
    assert program.facts == (atom("p", ONE),)
    assert program.rules[0].text == "q(?x) :- p(?x) ."
    assert program.facts[0].place == Place(str(path), 1, 1)


def test_half_a_surrogate_pair_is_an_error():
    with pytest.raises(ProgramError) as caught:
        parse_program('p("\ud800") .')
    assert caught.value.code == "S101"


SAMPLE = """@prefix : <http://e/> .
p(?x, "a\\"b"@en) :- :q[?x], [?x, a, :C], NOT EXISTS ?y IN (r(?y)), ?x < -1.5e3 . # c
d(?y, ?n) :- AGGREGATE(e(?x, ?y) ON ?y BIND COUNT(DISTINCT ?x) AS ?n), FILTER(?n IN (1, 2) || !?y) .
@declare s(a string?, b date = "c") .  edge(1, '''x''') .
"""


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, len(SAMPLE)),
    st.integers(0, 6),
    st.text(st.sampled_from("().,:-<>?\"'[]#%/@^&|!=~$\\ \n\tapNOT1_{}é\0"), max_size=4),
)
def test_whatever_is_written_gives_a_program_or_a_program_error(start, length, inserted):
    text = SAMPLE[:start] + inserted + SAMPLE[start + length :]
    problem = None
    try:
        check(parse_program(text))
    except ProgramError as error:
        problem = error
    assert problem is None or (problem.help and problem.line and problem.source is not None)


def test_threads_may_parse_at_once():
    texts = [f"p{i}({i}) . q(?x) :- p{i}(?x) ." for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        programs = list(pool.map(parse_program, texts))
    assert [program.facts[0].predicate.name for program in programs] == [f"p{i}" for i in range(40)]
