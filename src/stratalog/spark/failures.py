"""What Spark's exceptions mean for the person who asked: a code, a sentence, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stratalog.errors import DataError, EngineError, StratalogError
from stratalog.spark.workers import TRACEBACK, error_of_worker, last_line_of_traceback

LENGTH = 300
"""Characters of a message: Spark's may hold a whole plan."""

LOG = "STRATALOG_SPARK_LOG=FILE keeps the log of a session that Stratalog starts"


class Meaning(NamedTuple):
    """What a text of Spark's means; `{0}` is what the pattern's group found."""

    pattern: str
    code: str
    message: str
    help: str


MEANINGS = (  # the first that is found counts
    Meaning(
        pattern=r"No module named '?([\w.]+)",
        code="E203",
        message="a Python worker has no module {0}",
        help="give the executors Stratalog, see docs/spark.md#executors",
    ),
    Meaning(
        pattern=r"\[PACKAGE_NOT_INSTALLED\] (\w+)",
        code="E202",
        message="PySpark needs {0}",
        help='pip install "stratalog[spark]"',
    ),
    Meaning(
        pattern=r'Cannot run program "?([^"\s]+)',
        code="E203",
        message="a Python worker cannot start: there is no {0}",
        help="set PYSPARK_PYTHON to the executors' Python, see docs/spark.md#executors",
    ),
    Meaning(
        pattern=r"PYTHON_VERSION_MISMATCH.*?version:? ?\(?([\d.]+)",
        code="E203",
        message="the Python workers run another Python ({0}) than the driver",
        help="give the executors Stratalog, see docs/spark.md#executors",
    ),
    Meaning(
        pattern=r"Total size of serialized results.*?maxResultSize",
        code="E204",
        message="the result is larger than the session lets through",
        help="make the session with spark.driver.maxResultSize=0",
    ),
    Meaning(
        pattern=r"OutOfMemoryError|insufficient memory for the Java Runtime",
        code="E204",
        message="Spark is out of memory",
        help="--conf spark.driver.memory=8g gives it more; on a cluster spark.executor.memory",
    ),
    Meaning(
        pattern=r"Python worker exited unexpectedly",
        code="E204",
        message="a Python worker was killed, most likely for its memory",
        help="use fewer threads: --master local[2]; on a cluster raise"
        " spark.executor.memoryOverhead",
    ),
    Meaning(
        pattern=r"Checkpoint block (\w+) not found|CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND",
        code="E204",
        message="facts were lost with the executors that had them",
        help="materialise again, or open the store again; see docs/spark.md#what-may-be-lost",
    ),
    Meaning(
        pattern=r"ExecutorLostFailure|Lost executor",
        code="E204",
        message="an executor was lost",
        help="look at the cluster's logs; often spark.executor.memory is too small",
    ),
    Meaning(
        pattern=r"SPARK_JOB_CANCELLED|Job \d+ cancelled|SparkContext was shut down",
        code="E105",
        message="the Spark job was cancelled",
        help="run it again",
    ),
    Meaning(
        pattern=r'No FileSystem for scheme "?(\w+)|Class (\S+FileSystem) not found',
        code="E204",
        message="Spark has no connector for such paths ({0})",
        help="add its jar, see docs/spark.md#remote-paths",
    ),
    Meaning(
        pattern=r"All masters are unresponsive|Could not parse Master URL|UnknownHostException",
        code="E206",
        message="the Spark master does not answer",
        help="check --master and the network",
    ),
    Meaning(
        pattern=r"JAVA_GATEWAY_EXITED|Connection refused|Connection reset|Py4JNetworkError"
        r"|Answer from Java side is empty|Error while sending or receiving"
        r"|stopped SparkContext|'NoneType' object has no attribute",
        code="E204",
        message="the JVM of Spark has ended",
        help=f"often memory was short: leave it more, or lower spark.driver.memory; {LOG}",
    ),
)

BLAMED = r"^(?:Error: (?!Could not create|A fatal)|Invalid |Could not reserve |Exception in ).*"
"""How the JVM begins the line that says why it does not start."""

MISSING_PATHS = (
    r"\[PATH_NOT_FOUND\] Path does not exist: (\S+?)\.? SQLSTATE",
    r"Input path does not exist: (\S+)",
    r"FileNotFoundException: (?:File )?(\S+)",
)


def translate(error: BaseException, doing: str) -> StratalogError:
    """Return the coded error for what Spark raised while `doing` something."""
    if isinstance(error, StratalogError):
        return error
    text = f"{type(error).__name__}: {_message(error)}"
    known = error_of_worker(text) or _missing_data(text) or _known(text, doing)
    return known or EngineError("E204", f"Spark failed while {doing}: {gist(text)}", help=LOG)


def explain_start(error: Exception, log: Path) -> StratalogError:
    """Return the coded error for a session that did not start, from what its JVM has written."""
    told = log.read_text(errors="replace") if log.is_file() else ""
    blamed = re.search(BLAMED, told, re.MULTILINE)
    if isinstance(error, StratalogError) or blamed is None:
        return translate(error, "starting a session")
    return EngineError(
        "E206",
        f"Spark does not start: {blamed[0][:LENGTH]}",
        help=f"check --master and --conf; {LOG}",
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001  # Java's are asked for theirs over a connection
        return str(broken)


def gist(text: str) -> str:
    """Return the line that says what went wrong, without traces of Python or the JVM."""
    if TRACEBACK in text:
        line = last_line_of_traceback(text)
    elif lost := re.search(r"Lost task .*?executor \w+\): (.*)", text):
        line = lost[1]
    else:
        line = next(_told(text), "")
    line = re.sub(r"\s*SQLSTATE: \w+.*", "", line)
    return re.sub(r"^\[[A-Z_.]+\]\s*", "", line)[:LENGTH]


def _told(text: str) -> Iterator[str]:
    """Yield the lines that tell more than the class of an exception or of a wrapper."""
    for line in text.splitlines():
        told = re.sub(r"^(?::? ?[\w.$]*(?:Exception|Error)\w*: ?)+", "", line).strip()
        if told and " " not in told:  # ClassNotFoundException: a.b.C
            told = re.sub(r"^.*?([\w$]+: \S+)$", r"\1", line)
        if told and not told.startswith("An error occurred while calling"):
            yield told


def _known(text: str, doing: str) -> StratalogError | None:
    for meaning in MEANINGS:
        if found := re.search(meaning.pattern, text, re.DOTALL):
            named = next(filter(None, found.groups()), "")
            message = f"{meaning.message.format(named)}, while {doing}"
            return EngineError(meaning.code, message, help=meaning.help)
    return None


def _missing_data(text: str) -> DataError | None:
    for pattern in MISSING_PATHS:
        if found := re.search(pattern, text):
            return DataError(
                "D100",
                "there is no such file or folder",
                path=re.sub(r"^file:/+", "/", found[1]),  # as the user wrote it
                help="check the name and the current folder",
            )
    if found := re.search(r"\[TABLE_OR_VIEW_NOT_FOUND\] The table or view (\S+)", text):
        return DataError(
            "D100", f"there is no table {found[1]}", help="check the name, its schema and catalog"
        )
    return None
