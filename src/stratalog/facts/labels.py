"""The marks a stored fact can carry: the papers' sets, one bit each of the label word.

The life of a fact in a materialisation: it is stored without a mark when a rule first derives it
(or with E if the user gave it), becomes part of the delta of a round, and is marked I when the
round ends. A fact without any mark belongs to no fact set.
"""

from __future__ import annotations

from stratalog.facts.sets import Label

E = Label("E", 0)  # explicit: given by the user
I = Label("I", 1)  # in the materialisation
D = Label("D", 2)  # overdeleted (001)
A = Label("A", 3)  # added (001)
DELTA = Label("delta", 4)  # the positive delta of the running `apply`
DELTA_NEGATED = Label("delta negated", 5)  # its negative delta
SEEN = Label("seen", 6)  # derived by the running `apply`
C = Label("C", 7)  # checked (001 Algorithm 3)
P = Label("P", 8)  # proved
Y = Label("Y", 9)  # delayed
X = Label("X", 10)  # external to a closure module, or in one of its components (000)
S = Label("S", 11)  # seen by a module's function (000)

LABELS = 12
"""Bits of the label word that sets may use; a truth table over them has 2 ** LABELS entries."""

STORED = (E, I, X)
"""The marks that outlive a run; all others are scaffolding of one algorithm."""

STORED_MARKS = sum(1 << label.bit for label in STORED)
"""Those marks in a label word."""
