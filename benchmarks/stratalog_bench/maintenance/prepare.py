"""A data set becomes the folder that workers read: rules, and facts as columns of numbers."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from stratalog.lang.parse import parse_program
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.objects import encode_facts
from stratalog_bench.maintenance.datasets import DataSet
from stratalog_bench.workloads.inputs import (
    DESCRIPTION,
    TERMS,
    Input,
    StoredRelation,
    make_input,
)

KINDS = b"stratalog.kinds"  # in the metadata of the terms: languages, types


def prepare(wanted: DataSet, scale: str, place: Path, folder: Path | None) -> Input:
    """Write a data set into the folder `place`, and return what was written."""
    rules = None if folder is None or not wanted.rules else wanted.rules_in(folder).read_text()
    if wanted.generator:
        parameters = dict(wanted.full if scale == "full" else wanted.small)
        return make_input(wanted.generator, parameters, place, rules)
    assert folder is not None  # noqa: S101  # `chosen_sets` left out what needs one
    return read_files(rules or "", wanted.files_in(folder), place)


def read_files(rules: str, files: list[Path], place: Path) -> Input:
    """Read facts from files, and write them as columns."""
    program, dictionary = parse_program(rules), Dictionary()
    facts = encode_facts(
        [str(path) for path in files],
        declarations=program.declarations,
        prefixes=program.prefixes,
        dictionary=dictionary,
    )
    place.mkdir(parents=True, exist_ok=True)
    relations = []
    for number, (predicate, columns, size) in enumerate(facts):
        name = f"{number}.npy"
        np.save(place / name, np.array(columns, np.uint32).reshape(predicate.arity, size))
        relations.append(StoredRelation(predicate.name, predicate.arity, size, name, name))
    kinds = {KINDS: json.dumps(list(dictionary.kinds))}
    pq.write_table(dictionary.to_table().replace_schema_metadata(kinds), place / TERMS)
    written = Input(str(place), rules, relations, has_terms=True)
    (place / DESCRIPTION).write_text(json.dumps(asdict(written)))
    return written


def terms_of(given: Input) -> Dictionary:
    """Return the dictionary of an input, with the kinds of constants that its files have."""
    if not given.has_terms:
        return Dictionary()
    table = pq.read_table(Path(given.folder) / TERMS)
    told = (table.schema.metadata or {}).get(KINDS)
    return Dictionary.from_table(json.loads(told) if told else Dictionary().kinds, table)
