"""Scoring of Arrow batches: buffers go to Rust as they are, and the model is loaded once in every Python worker.

Workers load this module and nothing else of the package, so that they start quickly and stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from .. import _native

Scorer = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

#: What the library calls what the columns hold.
_FIELDS = {"prediction": "log_probs", "probability": "probs", "log_p": "log_density", "typicality": "typicality"}

_loaded: dict[str, _native.Model] = {}


@dataclass(frozen=True)
class Scoring:
    """What becomes of a batch: the columns ``kept``, then what is predicted from the columns ``sent``."""

    #: The broadcast content of a model file, or the content.
    model: Any
    #: Its digest.
    key: str
    #: The model's columns by their names in batches.
    sent: dict[str, str]
    kept: list[str]
    #: Names of new columns by what they hold.
    outputs: dict[str, str]
    label_type: str
    threads: int

    def function(self) -> Scorer:
        """The function for ``mapInArrow``."""
        return lambda batches: self.scored(batches)

    def scored(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches with their predictions."""
        loaded = self._load()
        values = _class_values(loaded.classes(), self.label_type)
        fields = [_FIELDS[what] for what in self.outputs]
        for batch in batches:
            table = pa.Table.from_batches([batch.select(list(self.sent))]).rename_columns(list(self.sent.values()))
            arrays = _arrays(loaded, table, fields, self.threads)
            columns = [batch.column(name) for name in self.kept]
            columns += [_column(what, arrays[_FIELDS[what]], values) for what in self.outputs]
            yield pa.RecordBatch.from_arrays(columns, names=[*self.kept, *self.outputs.values()])

    def _load(self) -> _native.Model:
        if self.key not in _loaded:
            _loaded.clear()  # a worker that is used again scores by one model at a time
            _loaded[self.key] = _native.Model.from_bytes(self.model.value if hasattr(self.model, "value") else self.model)
        return _loaded[self.key]


def _arrays(model: _native.Model, table: pa.Table, fields: list[str], threads: int) -> dict[str, Any]:
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
        return _vectors(array)
    return pa.array(array, type=pa.float64())


def _vectors(array: Any) -> pa.Array:
    """The rows of a matrix as ``pyspark.ml`` stores dense vectors: nothing is left to convert in Spark."""
    n, k = array.shape
    offsets = pa.array(np.arange(0, n * k + 1, k), type=pa.int32())
    values = pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(array).reshape(-1)))
    dense = pa.array(np.ones(n, dtype=np.int8))
    parts = {"type": dense, "size": pa.nulls(n, pa.int32()), "indices": pa.nulls(n, pa.list_(pa.int32())), "values": values}
    return pa.StructArray.from_arrays(list(parts.values()), names=list(parts))


def _class_values(classes: list[str], label_type: str) -> pa.Array:
    """The classes as values of the label column."""
    if label_type == "double":
        return pa.array([float(name) for name in classes], type=pa.float64())
    if label_type == "boolean":
        return pa.array([name.lower() == "true" for name in classes], type=pa.bool_())
    return pa.array(classes, type=pa.string())
