"""Kernels in two forms of one source: compiled by Numba, or interpreted by Python.

A kernel calls other kernels, and primitives, by the names of its module. A form gives its functions
names of their own that lead to the same form: what is compiled calls compiled functions, what is
interpreted calls plain ones. Primitives are what Python and Numba spell differently, such as arrays
by address: `intrinsics.py` has them under the same names for Numba.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, TypeVar

from stratalog.kernels.cache import Place

Function = TypeVar("Function", bound=Callable[..., Any])

SOURCES: dict[Place, FunctionType] = {}
"""Kernels as they are written."""

PRIMITIVES: dict[Place, FunctionType] = {}
"""Primitives as Python runs them."""


def primitive(function: Function) -> Function:
    """Register a function that `intrinsics.py` has for Numba under the same name."""
    PRIMITIVES[function.__module__, function.__name__] = function
    return function


REPLACED: dict[Place, dict[str, Place]] = {}
"""For variants of a kernel: which other kernels some of its names stand for."""


@cache
def called_by(place: Place) -> tuple[Place, ...]:
    """Return the kernels that a kernel calls."""
    source = SOURCES[place]
    names, replaced = vars(sys.modules[source.__module__]), REPLACED.get(place, {})
    called = (replaced.get(name) or _place(names.get(name)) for name in source.__code__.co_names)
    return tuple(dict.fromkeys(each for each in called if each in SOURCES and each != place))


def _place(value: Any) -> Place:
    return getattr(value, "__module__", ""), getattr(value, "__name__", "")


class Form:
    """All kernels in one form, each made when it is first needed."""

    def __init__(
        self,
        kernel: Callable[[FunctionType], Any],
        primitive: Callable[[FunctionType], Any],
    ) -> None:
        """Take what makes a kernel from a function with this form's names, and a primitive."""
        self._kernel = kernel
        self._primitive = primitive
        self._kernels: dict[Place, Any] = {}
        self._names: dict[str, dict[str, Any]] = {}

    def kernel(self, place: Place) -> Any:  # a function, or Numba's
        """Return a kernel in this form."""
        found = self._kernels.get(place)
        if found is None:
            source = SOURCES[place]
            names = self._names_of(source.__module__)
            if others := REPLACED.get(place):
                names = names | {name: self.kernel(other) for name, other in others.items()}
            found = self._kernels.get(place)  # one that calls itself, by way of others
            if found is None:
                function = FunctionType(source.__code__, names, source.__name__)
                function.__qualname__, function.__doc__ = source.__name__, source.__doc__
                found = self._kernels[place] = self._kernel(function)
        return found

    def _names_of(self, module: str) -> dict[str, Any]:
        names = self._names.get(module)
        if names is None:
            names = self._names[module] = {}
            own = vars(sys.modules[module]).items()
            for name, value in sorted(own, key=lambda item: _place(item[1]) in REPLACED):
                names[name] = self._translated(value)  # variants last: they copy the names
        return names

    def _translated(self, value: Any) -> Any:  # whatever a module holds
        place = _place(value)
        if place in SOURCES:
            return self.kernel(place)
        if place in PRIMITIVES:
            return self._primitive(PRIMITIVES[place])
        return value
