"""What is printed is read back as the same syntax."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.lang.names import KEYWORDS
from stratalog.lang.parse import parse_atom, parse_program, parse_query
from stratalog.lang.printer import show
from stratalog.lang.syntax import (
    TRIPLE,
    Aggregate,
    Anonymous,
    Atom,
    Bind,
    Call,
    Choice,
    Column,
    Declaration,
    Equality,
    Equation,
    Filter,
    Negation,
    Pattern,
    Predicate,
    Program,
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
    RDF_TYPE,
    STRING,
    Term,
)
from stratalog.lang.values.terms import literal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WORDS = st.from_regex(r"[^\W\d]\w{0,5}", fullmatch=True)
BARE_NAMES = WORDS.filter(lambda word: word.upper() not in KEYWORDS)
IRIS = st.one_of(
    TEXTS.map(lambda text: "http://a/" + text),
    TEXTS,
    st.sampled_from(
        ["http://e/b.c", "http://e/b.", "http://e/-x", "http://e/", "http://e#1:2", "urn:x"]
    ),
)
DATATYPES = TEXTS.map(lambda text: "urn:" + text) | st.sampled_from([DATE, INTEGER, STRING])
VARIABLES = st.from_regex(r"\w{1,4}", fullmatch=True).map(Variable)
LABELS = st.from_regex(r"\w([\w.-]{0,3}\w)?", fullmatch=True)
NUMBERS = st.one_of(
    st.integers().map(lambda number: literal(str(number), datatype=INTEGER)),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(
        lambda number: literal(f"{number:f}", datatype=DECIMAL)
    ),
    st.floats().map(lambda number: literal(str(number), datatype=DOUBLE)),
    st.booleans().map(lambda truth: literal(str(truth).lower(), datatype=BOOLEAN)),
)
TERMS = st.one_of(
    IRIS.map(lambda iri: Term(IRI_KIND, iri)),
    LABELS.map(lambda label: Term(BNODE_KIND, label)),
    NUMBERS,
    TEXTS.map(literal),
    st.builds(
        literal, TEXTS, lang=st.from_regex(r"[a-zA-Z]{1,3}(-[a-z0-9]{1,3})?", fullmatch=True)
    ),
    st.builds(literal, TEXTS, datatype=DATATYPES),
)
ARGUMENTS = VARIABLES | TERMS
FUNCTIONS = st.one_of(
    st.from_regex(r"[A-Z][A-Z0-9_]{0,4}", fullmatch=True).filter(lambda name: name != "DISTINCT"),
    IRIS.map(lambda iri: f"<{iri}>"),
)
BINARY = st.sampled_from(["||", "&&", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/"])


def calls(inner):
    return st.one_of(
        st.builds(lambda name, left, right: Call(name, (left, right)), BINARY, inner, inner),
        st.builds(lambda name, arg: Call(name, (arg,)), st.sampled_from(["NEG", "!"]), inner),
        st.lists(inner, min_size=1, max_size=3).map(lambda args: Call("IN", tuple(args))),
        st.builds(
            lambda name, args: Call(name, tuple(args)), FUNCTIONS, st.lists(inner, max_size=3)
        ),
    )


EXPRESSIONS = st.recursive(ARGUMENTS, calls, max_leaves=8)


@st.composite
def atoms(draw, arguments=ARGUMENTS):
    args = tuple(draw(st.lists(arguments, max_size=3)))
    name = draw(BARE_NAMES | IRIS.map(lambda iri: f"<{iri}>"))
    return Atom(Predicate(name, len(args)), args)


@st.composite
def written(draw, *, is_verb=False):
    choices = [st.just(Anonymous.ANY), calls(EXPRESSIONS), VARIABLES if is_verb else ARGUMENTS]
    return draw(st.one_of(choices))


@st.composite
def patterns(draw):
    if draw(st.booleans()):
        args = tuple(draw(st.lists(written(), min_size=1, max_size=3)))
        predicate = Predicate(draw(BARE_NAMES | IRIS.map(lambda iri: f"<{iri}>")), len(args))
    else:
        predicate, verb = TRIPLE, draw(written(is_verb=True) | st.just(RDF_TYPE))
        args = (draw(written()), verb, draw(written(is_verb=verb == RDF_TYPE)))
    if all(isinstance(arg, Variable | Term) for arg in args):
        return Atom(predicate, args)
    return Pattern(predicate, args)


@st.composite
def equations(draw):
    return Equation(draw(EXPRESSIONS), draw(EXPRESSIONS))


TRIPLES = st.one_of(
    st.builds(lambda s, p, o: Atom(TRIPLE, (s, p, o)), ARGUMENTS, VARIABLES, ARGUMENTS),
    st.builds(lambda s, c: Atom(TRIPLE, (s, RDF_TYPE, c)), ARGUMENTS, VARIABLES),
)
REDUCTIONS = st.builds(
    Reduction,
    st.sampled_from(["COUNT", "SUM", "MIN", "MAX", "AVG"]),
    st.booleans(),
    st.none() | EXPRESSIONS,
    VARIABLES,
)


def bodies(inner):
    return st.lists(inner, min_size=1, max_size=3).map(tuple)


def compound(inner):
    variables = st.lists(VARIABLES, max_size=2).map(tuple)
    reductions = st.lists(REDUCTIONS, min_size=1, max_size=2).map(tuple)
    plain = inner.filter(lambda literal: not isinstance(literal, Choice))
    return st.one_of(
        st.builds(Negation, bodies(inner), variables),
        st.builds(Aggregate, bodies(plain), variables, reductions),
        st.lists(bodies(inner), min_size=2, max_size=3).map(lambda parts: Choice(tuple(parts))),
    )


LITERALS = st.recursive(
    patterns()
    | equations()
    | atoms()
    | TRIPLES
    | st.builds(Filter, EXPRESSIONS)
    | st.builds(Bind, EXPRESSIONS, VARIABLES),
    compound,
    max_leaves=4,
)
HEADS = patterns() | atoms() | TRIPLES | st.builds(Equality, ARGUMENTS, ARGUMENTS)
RULES = st.builds(Rule, st.lists(HEADS, min_size=1, max_size=2).map(tuple), bodies(LITERALS))
COLUMNS = st.builds(
    Column, WORDS, st.sampled_from(["integer", "date"]), st.booleans(), st.none() | TEXTS
)


@st.composite
def declarations(draw):
    columns = tuple(draw(st.lists(COLUMNS, max_size=3)))
    name = draw(BARE_NAMES | IRIS.map(lambda iri: f"<{iri}>"))
    return Declaration(Predicate(name, len(columns)), columns)


PREFIXES = st.dictionaries(
    st.sampled_from(["", "e", "rdf", "a-b", "prefix", "not", "x.y"]),
    IRIS | st.sampled_from(["http://e/", "http://e#", "http://a/", "http:"]),
    max_size=4,
).map(lambda mapping: tuple(mapping.items()))
PROGRAMS = st.builds(
    Program,
    st.lists(RULES, max_size=3).map(tuple),
    st.lists(atoms(TERMS), max_size=3).map(tuple),
    st.lists(declarations(), max_size=2).map(tuple),
    PREFIXES,
    st.none() | st.just("http://base/x"),
)


@settings(max_examples=min(150, 3 * settings().max_examples), deadline=None)
@given(PROGRAMS)
def test_a_printed_program_reads_back(program):
    assert parse_program(show(program)) == program


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS)
def test_a_printed_expression_reads_back(expression):
    assert parse_query(f"p(), {show(Filter(expression))}")[1] == Filter(expression)


@settings(max_examples=100, deadline=None)
@given(LITERALS, PREFIXES)
def test_a_printed_literal_reads_back_with_the_same_prefixes(node, prefixes):
    assert parse_query(show(node, prefixes), prefixes) == (node,)


@settings(max_examples=100, deadline=None)
@given(TERMS)
def test_a_printed_term_reads_back(term):
    atom = Atom(Predicate("p", 1), (term,))
    assert parse_atom(show(atom)) == atom


@pytest.mark.parametrize(
    "text",
    [
        "?a - (?b - ?c)",
        "?a - ?b - ?c",
        "(?a + ?b) * ?c",
        "?a + ?b * ?c",
        "?a || ?b && ?c",
        "(?a || ?b) && ?c",
        "!(?a && ?b)",
        "!?a && ?b",
        "(?a < ?b) = ?c",
        "?a NOT IN (1, ?b + 2)",
        "-(1)",
        "-?a",
        "?a - -1",
        "-(-?a)",
        'IF(?a = 1, xsd:integer(?b), "x")',
    ],
)
def test_parentheses_are_printed_only_where_they_matter(text):
    (literal_read,) = parse_query(f"FILTER({text})")
    assert show(literal_read.expression) == text


def test_names_are_shortened_by_the_prefixes_that_fit():
    prefixes = (("e", "http://e/"), ("deep", "http://e/very/deep/"))
    assert show(Term(IRI_KIND, "http://e/very/deep/x"), prefixes) == "deep:x"
    assert show(Term(IRI_KIND, "http://e/a/b"), prefixes) == "<http://e/a/b>"
    assert show(Atom(Predicate("<http://e/p>", 0), ()), prefixes) == "e:p()"


def test_hidden_names_are_printed_as_they_are():
    atom = Atom(Predicate("$hidden", 1), (Variable("$1"),))
    assert show(atom) == "$hidden(?$1)"
