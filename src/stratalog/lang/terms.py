"""Constants: two are one iff they have the same datatype (or language) and the same value.

A `Term` always holds the canonical spelling of its value, so that equality of terms is equality of
tuples.
"""

from __future__ import annotations

from typing import NamedTuple

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"

IRI_KIND = "iri"
BNODE_KIND = "bnode"
STRING = XSD + "string"
INTEGER = XSD + "integer"
DECIMAL = XSD + "decimal"
DOUBLE = XSD + "double"
BOOLEAN = XSD + "boolean"
DATE = XSD + "date"
DATETIME = XSD + "dateTime"
LANG = "@"  # the kind of a literal with language tag en is "@en" (tags in lower case)


class Term(NamedTuple):
    """A constant.

    `kind` is "iri", "bnode", a datatype's IRI, or "@" and a language tag in lower case; `text` is
    the IRI, the label of the blank node, or the canonical lexical form of the literal.
    """

    kind: str
    text: str


RDF_TYPE = Term(IRI_KIND, RDF + "type")
SAME_AS = OWL + "sameAs"
