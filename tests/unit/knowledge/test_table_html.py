"""Arrow tables as HTML: nothing in data acts on the page, and wide tables stay readable."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa

from stratalog.knowledge.display.table_html import table_html


def test_cells_are_escaped_and_odd_characters_are_spelled():
    html = table_html(pa.table({"<a>": ["<script>", "a\u202eb\n\x1b[31m"]}))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;a&gt;" in html
    assert "a\\u202Eb\\n\\u001B[31m" in html


def test_values_are_written_as_the_rule_language_writes_them():
    table = pa.table(
        {
            "truth": [True],
            "number": [7],
            "price": [Decimal("2.50")],
            "day": [dt.date(2026, 1, 2)],
            "none": pa.array([None], pa.string()),
        }
    )
    html = table_html(table)
    for text in ("true", "7", "2026-01-02", ""):
        assert f">{text}</td>" in html
    assert '<td style="text-align:right;' in html


def test_many_rows_and_long_values_are_cut_and_told():
    html = table_html(pa.table({"n": list(range(1000)), "text": ["x" * 5_000] * 1000}))
    assert html.count("<tr>") == 51
    assert "the first 50 of 1,000 rows" in html
    assert "x" * 99 + "…</td>" in html
    assert len(html) < 100_000


def test_a_table_without_columns_says_whether_it_holds():
    none = pa.table({"a": [1]}).select([])
    assert "true" in table_html(none)
    assert "false" in table_html(pa.table({}))
