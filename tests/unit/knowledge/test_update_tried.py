"""What was only tried, or failed, leaves nothing that a later update meets."""

from itertools import product

import numpy as np
import pytest

import stratalog as sl
from stratalog.engine.spark.overlay import ABSENT, Overlay, States
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.dictionary import Dictionary

CLOSURE = "b(?u, ?v) :- b(?u, ?x), b(?x, ?v) ."
SYMMETRIC = CLOSURE + " b(?u, ?v) :- b(?v, ?u) ."
PAIRS = {("x", "y"), ("y", "z"), ("x", "z")}
ALGORITHMS = ("auto", "dred", "dred-c", "bf", "bf-c", "rematerialise")


def closed(rule):
    pairs = PAIRS if rule is CLOSURE else {(x, y) for x in "xyz" for y in "xyz"}
    return {*pairs}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("rule", [CLOSURE, SYMMETRIC])
def test_a_closure_of_a_predicate_that_was_tried_is_made_anew(rule, algorithm):
    for tried, facts in product(("auto", "dred"), ({}, {"b": [("x", "y"), ("y", "z")]})):
        kb = sl.materialise("a(1) .", progress=False)
        kb.what_if(add_rules=rule, insert=facts, maintenance=tried)
        kb.update(add_rules=rule, maintenance=tried)
        kb.update(insert={"b": [("x", "y")]}, maintenance=algorithm)
        kb.update(insert={"b": [("y", "z")]}, maintenance=algorithm)
        assert set(kb["b"]) == closed(rule)
        kb.update(delete={"b": [("y", "z")]}, maintenance=algorithm)
        assert ("y", "z") not in kb["b"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_closure_of_a_predicate_of_a_failed_update_is_made_anew(algorithm):
    kb = sl.materialise("a(1) .", progress=False, max_facts=8)
    chain = {"b": [(i, i + 1) for i in range(6)]}
    with pytest.raises(sl.StratalogError, match="E103"):
        kb.update(add_rules=CLOSURE, insert=chain, maintenance=algorithm)
    assert kb.predicates() == ["a"]
    rules = "c(?u, ?v) :- d(?u, ?v) ." + CLOSURE
    kb.update(add_rules=rules, insert={"d": []}, maintenance=algorithm)
    kb.update(insert={"d": [(1, 2)], "b": [("x", "y")]}, maintenance=algorithm)
    kb.update(insert={"b": [("y", "z")]}, maintenance=algorithm)
    assert (set(kb["b"]), set(kb["c"])) == (PAIRS, {(1, 2)})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rules_that_were_removed_and_come_back_follow_what_changed_meanwhile(algorithm):
    kb = sl.materialise(CLOSURE, {"b": [("x", "y")], "e": [(1,)]}, progress=False)
    kb.what_if(remove_rules=CLOSURE, insert={"f": [(1,)]}, maintenance=algorithm)
    kb.update(remove_rules=CLOSURE, insert={"b": [("y", "z")]}, maintenance=algorithm)
    assert set(kb["b"]) == {("x", "y"), ("y", "z")}
    kb.what_if(add_rules=SYMMETRIC, maintenance=algorithm)
    kb.update(add_rules=CLOSURE, maintenance=algorithm)
    kb.update(insert={"b": [("z", "x")]}, maintenance=algorithm)
    kb.update(delete={"b": [("z", "x")]}, maintenance=algorithm)
    assert set(kb["b"]) == PAIRS


def test_an_overlay_knows_nothing_of_rows_of_a_relation_that_was_dropped():
    overlay = Overlay(Dictionary())
    first, second = Predicate("first", 1), Predicate("second", 1)
    stored = np.array([2], np.int64)
    overlay.enter(States(first, [np.array([7], np.uint32)], stored, stored, stored))
    overlay.drop([first])
    overlay.store(second, [np.array([8], np.uint32)], 1)
    assert overlay.relation(second).number == 0
    assert overlay.base(overlay.relation(second)).tolist() == [ABSENT]
