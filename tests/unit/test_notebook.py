"""In the kernel of a notebook: one line of progress, tables, errors without internal frames."""

import re

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of the client's libraries
    pytest.mark.slow,  # a kernel of Jupyter starts
]

PROGRESS = """
import time
import stratalog as sl
from IPython.display import DisplayHandle
from stratalog.knowledge.display import status

status.QUIET = status.INTERVAL = 0.01
updates, update = [], DisplayHandle.update

def counted(self, *args, **options):
    updates.append(args)
    update(self, *args, **options)

DisplayHandle.update = counted

def rows(most):
    yield (1, 2)
    while len(updates) < most:
        time.sleep(0.01)
"""
MATERIALISE = """
kb = sl.materialise("path(?x, ?y) :- edge(?x, ?y) .", {"edge": rows(3)}, engine="reference")
"""
LISTED = """
sl.materialise("", {"edge": rows(6)}, engine="reference", progress="stages") and None
"""
MISTAKE = """
def load():
    return sl.materialise("p(a) .")

load()
"""
CAUSE = """
def broken():
    yield (1,)
    raise KeyError("of mine")

sl.materialise("", {"a": broken()})
"""
TABLES = """
import pyarrow as pa
html = get_ipython().display_formatter.formatters["text/html"]
html.for_type(pa.Table, lambda table: "mine")
kb.query("path(?x, ?y)")
"""


INTERRUPTED = """
import signal

def stopped(stage, detail):
    signal.raise_signal(signal.SIGINT)

sl.materialise("p(?x) :- q(?x) .", {"q": [(1,)]}, progress=stopped)
"""


DOUBTFUL = """
doubtful = sl.materialise("p(?x) :- q(?x) .", {"r": [(1,)]})
doubtful
"""

INTERRUPTED_ROWS = """
def rows():
    yield (1, 2)
    signal.raise_signal(signal.SIGINT)

kb.update(insert={"edge": rows()})
"""


class Client(nbclient.NotebookClient):
    """Counts what comes from the kernel."""

    def process_message(self, msg, cell, cell_index):
        self.kinds = [*getattr(self, "kinds", []), msg["msg_type"]]
        return super().process_message(msg, cell, cell_index)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The outputs of each cell."""
    sources = {
        "import": PROGRESS,
        "materialise": MATERIALISE,
        "listed": LISTED,
        "query": 'kb.query("path(?x, ?y)")',
        "holds": 'kb.query("path(1, 2)")',
        "is Arrow": 'type(kb.query("path(?x, ?y)")).__module__',
        "relation": 'kb["path"]',
        "changes": 'kb.what_if(insert={"edge": [("<b>", 3)]})',
        "mistake": MISTAKE,
        "cause": CAUSE,
        "doubtful": DOUBTFUL,
        "doubtful again": DOUBTFUL,
        "doubtful later": "doubtful",
        "misspelt": "sl.materialize('p(1) .')",
        "interrupted": INTERRUPTED,
        "shown again": "%tb",
        "interrupted rows": INTERRUPTED_ROWS,
        "afterwards": 'kb.query("path(?x, ?y)")',
        "verbose": "%xmode Verbose\nsl.materialise('p(a) .')",
        "own": TABLES,
    }
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source.strip()) for source in sources.values()]
    )
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = Client(
        notebook, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": folder}}
    )
    client.execute()
    return dict(zip(sources, (cell.outputs for cell in notebook.cells), strict=True)), client.kinds


def html(outputs):
    return outputs[-1]["data"]["text/html"]


def test_progress_is_one_output_that_is_updated_without_widgets(ran):
    cells, kinds = ran
    (line,) = cells["materialise"]
    assert line["output_type"] == "display_data"
    assert re.fullmatch(r"reason: 1 derived fact, .* \(\d+ s\)", line["data"]["text/plain"])
    assert set(line["data"]) == {"text/plain", "text/html"}
    assert kinds.count("update_display_data") >= 6


def test_stages_are_listed_in_the_same_output(ran):
    cells, _ = ran
    shown = cells["listed"][0]["data"]["text/plain"].splitlines()
    assert [line.partition(":")[0] for line in shown] == ["read", "reason"]
    assert len(cells["listed"]) == 1


def test_an_answer_is_shown_as_a_table_and_stays_an_arrow_table(ran):
    cells, _ = ran
    assert "<table" in html(cells["query"])
    assert html(cells["query"]).count("<td") == 2
    assert html(cells["holds"]) == "<div>true</div>"
    assert cells["is Arrow"][0]["data"]["text/plain"] == "'pyarrow.lib'"
    assert "<table" in html(cells["relation"])
    assert "&lt;b&gt;" not in html(cells["relation"])


def test_another_display_of_arrow_tables_stays(ran):
    cells, _ = ran
    assert html(cells["own"]) == "mine"


def test_an_error_shows_the_cell_and_the_message_alone(ran):
    cells, _ = ran
    (error,) = cells["mistake"]
    assert (error["ename"], error["evalue"][:5]) == ("ProgramError", "S110:")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
    assert re.search(r"^Cell In\[\d+\], line 4\n", shown)
    assert re.search(r"^Cell In\[\d+\], line 2, in load$", shown, re.MULTILINE)
    assert '---> 2     return sl.materialise("p(a) .")' in shown
    assert shown.endswith('help: write "a", <a> or ?a: a string, an IRI or a variable')
    assert "stratalog/" not in shown
    assert "interactiveshell" not in shown


def test_the_cause_in_a_function_of_the_user_is_shown_too(ran):
    cells, _ = ran
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(cells["cause"][-1]["traceback"]))
    assert "line 3, in broken" in shown
    assert "KeyError: 'of mine'" in shown
    assert "DataError: D309" in shown
    assert "stratalog/" not in shown


@pytest.mark.parametrize("cell", ["doubtful", "doubtful again"])
def test_a_warning_is_shown_once_below_the_cell_that_it_is_about(ran, cell):
    cells, _ = ran
    warned, shown = cells[cell]
    assert "StratalogWarning: W301: q with 1 argument" in warned["text"]
    assert "W301" not in shown["data"]["text/html"]


def test_a_warning_is_shown_again_where_the_knowledge_base_is(ran):
    cells, _ = ran
    assert "warning: W301: q with 1 argument" in html(cells["doubtful later"])


def test_a_misspelt_name_is_corrected_without_internal_frames(ran):
    cells, _ = ran
    (error,) = cells["misspelt"]
    assert error["evalue"].endswith("has no attribute 'materialize'. Did you mean: 'materialise'?")
    assert "__init__.py" not in "\n".join(error["traceback"])


def test_an_interrupt_shows_the_lines_of_the_user_and_work_goes_on(ran):
    cells, _ = ran
    (error,) = cells["interrupted"]
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))
    assert "---> 6 sl.materialise(" in shown
    assert "line 4, in stopped" in shown
    assert shown.endswith("\nKeyboardInterrupt")
    assert "stratalog/" not in shown
    assert cells["shown again"][0]["traceback"] == error["traceback"]
    assert "<table" in html(cells["afterwards"])


def test_an_interrupt_amid_rows_of_the_user_shows_no_frame_of_a_library(ran):
    cells, _ = ran
    shown = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(cells["interrupted rows"][-1]["traceback"]))
    assert re.findall(r"^(?:Cell|File) .*$", shown, re.MULTILINE) == [
        "Cell In[17], line 5",
        "Cell In[17], line 3, in rows",
    ]


def test_all_frames_are_shown_if_asked_for(ran):
    cells, _ = ran
    shown = "\n".join(cells["verbose"][-1]["traceback"])
    assert "programs.py" in shown
