"""The CPU seconds of each benchmark as bars on a logarithmic scale: SVG without dependencies.

Nothing is drawn behind the bars, and the text follows the reader's choice of a light or dark
background; where a viewer does not know it, a grey that both bear.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from stratalog_bench.harness.results import DONE, OVER_LIMIT, BenchmarkResult, Result, SystemResult
from stratalog_bench.harness.run import differences
from stratalog_bench.harness.table import spelled

COLOURS = {
    "stratalog": "#e4572e",
    "duckdb": "#d9a514",
    "duckdb-recursion": "#a9802a",
    "polars": "#3d8bd4",
    "polars-memory": "#8fbde8",
    "nemo": "#4aa564",
    "clingo": "#9a6fc4",
    "counting": "#7d8590",
    "dred-c": "#3d8bd4",
    "dred": "#8fbde8",
    "bf-c": "#4aa564",
    "bf": "#a3d3b1",
    "auto": "#e4572e",
    "insertion": "#d9a514",
}
WIDTH, LEFT, RIGHT, TOP = 860, 150, 90, 84
BAR, GAP, GROUP = 13, 3, 16  # pixels: a bar, between two bars, between two benchmarks
LEAST = 1e-3  # seconds at the left end, at most

STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #6e7a87 }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 11px }
.name { font-weight: 600 }
.grid { stroke: #8c959f; stroke-opacity: 0.3 }
@media (prefers-color-scheme: light) { text { fill: #24292f } .small { fill: #57606a } }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .small { fill: #9ba5b0 } }"""


def draw(result: Result) -> str:
    """Return the picture as SVG."""
    deletions = [each for each in result.maintenance if "deleted" in each.parameters]
    shown = [each for each in (*result.benchmarks, *deletions) if _bars(each)]
    scale = _Scale(shown)
    parts, y = [], float(TOP)
    for benchmark in shown:
        part, y = _group(benchmark, scale, y)
        parts.append(part)
    height = int(y + 52)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="CPU seconds">',
        f"<style>\n{STYLE}\n</style>",
        _text(16, 26, "CPU seconds of reasoning, one thread; shorter is better", "title"),
        _legend(shown),
        scale.grid(y),
    ]
    where = f"{result.machine.get('cpu', '')}, {result.date[:10]}, {result.scale} scale"
    foot = _text(16, height - 12, f"logarithmic scale; {where}", "small")
    return "\n".join([*head, *parts, foot, "</svg>"]) + "\n"


class _Scale:
    """From seconds to pixels."""

    def __init__(self, shown: Sequence[BenchmarkResult]) -> None:
        found = [_seconds(bar) for benchmark in shown for bar in _bars(benchmark)] or [1.0]
        self.low = math.floor(math.log10(max(min(found), LEAST)))
        self.high = max(math.log10(max(found)) + 0.1, self.low + 1.0)

    def x(self, seconds: float) -> float:
        share = (math.log10(max(seconds, 10**self.low)) - self.low) / (self.high - self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def grid(self, bottom: float) -> str:
        lines = []
        for power in range(self.low, math.floor(self.high) + 1):
            x = self.x(10.0**power)
            lines.append(
                f'<line class="grid" x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom:.0f}"/>'
            )
            lines.append(_text(x, bottom + 14, f"{10.0**power:g} s", "small", "middle"))
        return "\n".join(lines)


def _bars(benchmark: BenchmarkResult) -> list[SystemResult]:
    if differences(benchmark):
        return []
    return [each for each in benchmark.systems if each.status in {DONE, OVER_LIMIT}]


def _seconds(bar: SystemResult) -> float:
    return bar.least("cpu") if bar.status == DONE else float(bar.detail.strip("> s"))


def _group(benchmark: BenchmarkResult, scale: _Scale, y: float) -> tuple[str, float]:
    """Return the bars of a benchmark from `y` on, and where the next one begins."""
    bars = _bars(benchmark)
    height = len(bars) * (BAR + GAP) - GAP
    middle = y + height / 2
    parts = [_text(LEFT - 10, middle + 4, benchmark.name, "name", "end")]
    if done := [bar for bar in bars if bar.status == DONE]:
        facts = f"{sum(done[0].counts.values()):,} facts"
        parts.append(_text(LEFT - 10, middle + 18, facts, "small", "end"))
    for bar in bars:
        parts.append(_bar(bar, scale, y))
        y += BAR + GAP
    return "\n".join(parts), y - GAP + max(GROUP, 36 - height)


def _bar(bar: SystemResult, scale: _Scale, y: float) -> str:
    seconds, end = _seconds(bar), scale.x(_seconds(bar))
    is_done = bar.status == DONE
    label = f"{spelled(seconds)} s" if is_done else f"> {seconds:g} s"
    look = "" if is_done else ' fill-opacity="0.35" stroke-dasharray="3 2"'
    colour = COLOURS.get(bar.system, "#7d8590")
    return (
        f'<rect x="{LEFT}" y="{y:.1f}" width="{max(end - LEFT, 1):.1f}" height="{BAR}" rx="2" '
        f'fill="{colour}" stroke="{colour}"{look}><title>{escape(bar.system)}: {escape(label)}'
        f"</title></rect>\n{_text(end + 6, y + BAR - 3, label, 'small')}"
    )


def _legend(shown: Sequence[BenchmarkResult]) -> str:
    used = {bar.system for benchmark in shown for bar in _bars(benchmark)}
    parts, x = [], 16.0
    for name in (each for each in COLOURS if each in used):
        parts.append(
            f'<rect x="{x:.0f}" y="42" width="12" height="12" rx="2" fill="{COLOURS[name]}"/>'
        )
        parts.append(_text(x + 17, 52, name))
        x += 34 + 7 * len(name)
    return "\n".join(parts)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(text)}</text>'
