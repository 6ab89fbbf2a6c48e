"""Scoring of Arrow batches: buffers go to Rust as they are, and the model is loaded once in every Python worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .. import _native

Scorer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: What the library calls what the columns hold.
_FIELDS = {"prediction": "log_probs", "probability": "probs", "log_p": "log_density", "typicality": "typicality"}

_loaded: dict[str, _native.Model] = {}


def scorer(
    model: Any, key: str, sent: dict[str, str], kept: Sequence[str], outputs: dict[str, str], label_type: str, threads: int
) -> Scorer:
    """A function for ``mapInArrow``: batches with the columns ``kept``, and what is predicted from the columns ``sent``.

    ``model`` is the broadcast content of a model file, ``key`` its digest, ``sent`` the model's columns by their names in
    batches, ``outputs`` the names of new columns by what they hold.
    """

    def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if key not in _loaded:
            _loaded.clear()  # a worker that is used again scores by one model at a time
            _loaded[key] = _native.Model.from_bytes(model.value if hasattr(model, "value") else model)
        loaded = _loaded[key]
        values = _class_values(loaded.classes(), label_type)
        for batch in batches:
            table = pa.Table.from_batches([batch.select(list(sent))]).rename_columns(list(sent.values()))
            arrays = _scored(loaded, table, [_FIELDS[what] for what in outputs], threads)
            columns = [batch.column(name) for name in kept]
            columns += [_column(what, arrays[_FIELDS[what]], values) for what in outputs]
            yield pa.RecordBatch.from_arrays(columns, names=[*kept, *outputs.values()])

    return score


def _scored(model: _native.Model, table: pa.Table, fields: list[str], threads: int) -> dict[str, Any]:
    if table.num_rows == 0:
        k = len(model.classes())
        return {field: np.empty((0, k) if "probs" in field else 0) for field in fields}
    arrays, _ = model.score(_native.Table.from_arrow(table), fields, None, threads)
    return dict(arrays)


def _column(what: str, array: Any, values: pa.Array) -> pa.Array:
    if what == "prediction":
        best = np.argmax(array, axis=1) if len(array) else np.empty(0, dtype=np.int64)
        return values.take(pa.array(best, type=pa.int64()))
    if what == "probability":
        n, k = array.shape
        offsets = pa.array(np.arange(0, n * k + 1, k), type=pa.int32())
        return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(array).reshape(-1)))
    return pa.array(array, type=pa.float64())


def _class_values(classes: list[str], label_type: str) -> pa.Array:
    """The classes as values of the label column."""
    if label_type == "double":
        return pa.array([float(name) for name in classes], type=pa.float64())
    if label_type == "boolean":
        return pa.array([name.lower() == "true" for name in classes], type=pa.bool_())
    return pa.array(classes, type=pa.string())
