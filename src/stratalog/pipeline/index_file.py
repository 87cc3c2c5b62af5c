"""The index of a folder that Stratalog writes for others: which folder a predicate has in it.

The folder may come from a stranger, who could name one elsewhere: names are plain, as ours are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from stratalog.lang.syntax import Predicate
from stratalog.pipeline import documents as docs
from stratalog.pipeline.documents import Fields, OddDocumentError
from stratalog.pipeline.manifest import predicate_in
from stratalog.pipeline.ordinary import check_folder, read_text

_PLAIN = re.compile(r"(?!_)\w{1,120}")
_NUMBER = re.compile(r"[0-9]{1,18}")


def read_index(path: Path) -> tuple[Fields, dict[Predicate, Fields]]:
    """Return an index and its entries by predicate; OddDocumentError if it is not one of ours."""
    told = docs.record(docs.parse_json(read_text(path)), "the index")
    entries = [_entry(each) for each in docs.entries(docs.field(told, "tables"), "tables")]
    for _, entry in entries:
        check_folder(path.parent / entry["folder"])
    return told, dict(entries)


def _entry(value: object) -> tuple[Predicate, dict[str, Any]]:
    entry = docs.record(value, "a table")
    predicate = predicate_in([entry.get("predicate"), entry.get("arity")])
    if not _PLAIN.fullmatch(docs.text(docs.field(entry, "folder"), "a folder")):
        raise OddDocumentError("a folder has no plain name")
    versions = docs.record(entry.get("versions", {}), "versions")
    if not all(_NUMBER.fullmatch(number) for number in versions):
        raise OddDocumentError("a version is no number")
    return predicate, {**entry, "versions": versions}
