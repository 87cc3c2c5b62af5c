"""Which names are slips of others."""

import pytest

from stratalog.lang.similar import distance, slip_of


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("egde", "edge"),
        ("edges", "edge"),
        ("Edge", "edge"),
        ("is_a", "isA"),
        ("pth", "path"),
        ("emploiee", "employee"),
        ("ex:knwos", "ex:knows"),
        ("<http://e/p#knwos>", "<http://e/p#knows>"),
    ],
)
def test_a_slip_is_found(name, known):
    assert slip_of(name, [known, "other"]) == known


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("edge", "edge"),
        ("car", "cat"),
        ("r1", "r2"),
        ("sales_2024", "sales_2025"),
        ("parent", "person"),
        ("child", "childOf"),
        ("ex:knwos", "foaf:knows"),
        ("<http://e/a#knows>", "<http://e/b#knows>"),
    ],
)
def test_names_that_differ_on_purpose_are_no_slips(name, known):
    assert slip_of(name, [known]) is None


def test_of_several_names_the_nearest_is_found():
    assert slip_of("managers", ["mangers", "manger", "manager"]) == "manager"


def test_swapped_letters_are_one_slip():
    assert distance("egde", "edge") == 1
    assert distance("", "abc") == 3
    assert distance("abcd", "acbd") == 1
