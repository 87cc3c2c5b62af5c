"""All kernels, whichever module they are in."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from stratalog import kernels
from stratalog.kernels.cache import Place
from stratalog.kernels.forms import SOURCES


def import_all() -> None:
    """Import every module of kernels."""
    for found in pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}."):
        import_module(found.name)


def all_kernels() -> list[Place]:
    """Return the places of all kernels of Stratalog."""
    import_all()
    return sorted(place for place in SOURCES if place[0].startswith(kernels.__name__))
