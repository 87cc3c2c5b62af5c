"""What the documents show is what happens: every block of code is run, every output compared.

In a document, ```console blocks are run by a shell, ```python blocks, which begin with >>> by
doctest (names stay from top to bottom), and ```dlog blocks are read as programs.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import runpy
import shutil
import subprocess
import sysconfig
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest

from stratalog.errors import StratalogError
from stratalog.knowledge.options import Options
from stratalog.lang.builtins.functions import FUNCTIONS
from stratalog.lang.check import check
from stratalog.lang.names import show_name
from stratalog.lang.parse import parse_program

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.parent for path in (ROOT / "examples").glob("*/program.dlog"))
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
NOTEBOOKS = sorted((ROOT / "examples").glob("*/*.ipynb"))
LANGUAGES = {"console", "python", "dlog", "sh", "text", "json", ""}  # the last four are not run
INSTALL = 'pip install -e ".[spark]" && '  # the suite runs in an environment where this is done
SLOW = {"docs/tutorial.md", "examples/family/README.md", "examples/packages/README.md"}
USES_SPARK = re.compile(r"--(?:engine|reader|spill)[ =]spark|\bstratalog stream |\bspark\.")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = re.compile(r"\b\d+(?:\.\d+)? s\b")
CODE = re.compile(r"""["']([BSDTEWUX]\d{3})(?=["':])""")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)|!\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(document: Path) -> list[Block]:
    text = document.read_text()
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start(2)) + 1)
        for found in FENCE.finditer(text)
    ]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def marked(document: Path):
    """Return a document as a parameter, marked if its code starts Spark or takes long."""
    run = (block.text for block in blocks(document) if block.language in {"console", "python"})
    uses_spark = any(map(USES_SPARK.search, run))
    marks = [pytest.mark.spark] * uses_spark + [pytest.mark.slow] * (name_of(document) in SLOW)
    return pytest.param(document, marks=marks)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the examples in it, where documents are played through."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("document", [marked(each) for each in DOCUMENTS], ids=name_of)
def test_code_in_a_document_does_what_the_document_says(document: Path, workplace: Path):
    names: dict[str, object] = {}
    for block in blocks(document):
        assert block.language in LANGUAGES, f"{document}:{block.line}: no such language"
        match block.language:
            case "console":
                play_console(block, document, workplace)
            case "python":
                play_python(block, document, names)
            case "dlog":
                check(parse_program(block.text))


def play_console(block: Block, document: Path, folder: Path) -> None:
    """Run each command after a `$`, and compare what it prints; seconds may differ."""
    environment = {**os.environ, "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"}
    for shown in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, expected = shown.partition("\n")
        run = subprocess.run(
            ["bash", "-c", command.removeprefix(INSTALL)],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        found = "".join(
            line for line in run.stdout.splitlines(True) if not line.startswith("compiling kernels")
        )
        assert comparable(found) == comparable(expected), f"{document}:{block.line}: $ {command}"


def comparable(output: str) -> list[str]:
    return [line.rstrip() for line in SECONDS.sub("T s", output).strip().splitlines()]


def play_python(block: Block, document: Path, names: dict[str, object]) -> None:
    """Run a block of `>>>` lines; names stay for the next block."""
    if ">>>" not in block.text:
        raise AssertionError(
            f"{document}:{block.line}: Python is shown with >>>, so that it is run"
        )
    parsed = doctest.DocTestParser().get_doctest(
        block.text, names, name_of(document), str(document), block.line - 1
    )
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(parsed, out=report.append, clear_globs=False)
    names.update(parsed.globs)
    assert not runner.failures, "".join(report)


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_an_example_has_a_readme_that_runs_it(example: Path):
    shown = "".join(b.text for b in blocks(example / "README.md") if b.language == "console")
    assert f"stratalog materialise {name_of(example)}/program.dlog" in shown


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name_of)
def test_a_notebook_runs_from_top_to_bottom_and_its_mistakes_are_mistakes(
    notebook: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(workplace / name_of(notebook.parent))
    names: dict[str, object] = {}
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "what a cell prints is not kept"
            mistaken = "raises-exception" in cell["metadata"].get("tags", [])
            with pytest.raises(StratalogError) if mistaken else nullcontext():
                exec("".join(cell["source"]), names)
    assert names["changes"]


def test_the_made_up_packages_are_those_that_the_script_makes(tmp_path: Path):
    script = runpy.run_path(str(ROOT / "examples" / "packages" / "generate.py"))
    script["write"](tmp_path)
    kept = ROOT / "examples" / "packages" / "facts"
    for name in ("package.csv", "depends.csv"):
        assert (tmp_path / name).read_text() == (kept / name).read_text()


def test_ci_runs_the_second_command_of_the_readme():
    shown = [block.text.strip() for block in blocks(ROOT / "README.md") if block.language == "sh"]
    command = (ROOT / ".ci" / "run").read_text().strip().splitlines()[-1]
    assert command in shown


def test_every_error_code_is_in_the_reference_and_no_other():
    folders = (ROOT / "src", ROOT / "benchmarks" / "stratalog_bench")
    sources = [source for folder in folders for source in folder.rglob("*.py")]
    raised = {code for source in sources for code in CODE.findall(source.read_text())}
    reference = (ROOT / "docs" / "reference.md").read_text()
    listed = set(re.findall(r"^\| ([BSDTEWUX]\d{3}) \|", reference, re.MULTILINE))
    assert sorted(raised - listed) == []
    assert sorted(listed - raised) == []


def test_every_function_and_option_is_in_the_reference():
    reference = (ROOT / "docs" / "reference.md").read_text()
    words = set(re.findall(r"[\w:]+", reference))
    assert sorted({show_name(name) for name in FUNCTIONS} - words) == []
    options = set(re.findall(r"^\| `(\w+)` \|", reference, re.MULTILINE))
    assert options == {option.name for option in fields(Options)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_between_documents_lead_somewhere(document: Path):
    for link, picture in LINK.findall(FENCE.sub("", document.read_text())):
        target = link or picture
        if "://" not in target:
            assert (document.parent / target).exists(), f"{document} points to {target}"
