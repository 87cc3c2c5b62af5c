"""Random programs read predicates without facts, and join what never matches: that is told.

`test_types.py` judges what is told of types; here it is heard, and not shown.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::stratalog.StratalogWarning"))
