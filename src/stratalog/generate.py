"""The old name of `stratalog_bench.generate`; every use goes there, with a warning on import."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from stratalog.errors import StratalogWarning
from stratalog.runtime.benchmarks import not_installed

if find_spec("stratalog_bench") is None:
    raise not_installed("stratalog.generate")
_generate = import_module("stratalog_bench.generate")
__all__ = list(_generate.__all__)
warnings.warn(
    StratalogWarning(
        "W330",
        "stratalog.generate is an old name",
        help="from stratalog_bench import generate",
    ),
    stacklevel=2,
)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    return getattr(_generate, name)


def __dir__() -> list[str]:
    return dir(_generate)
