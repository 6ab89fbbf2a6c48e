"""What users hold as rows, and rows as what users hold.

``read`` turns numpy arrays, pandas, polars and pyarrow tables, images and paths into what the library reads; ``Container``
remembers what it was, so that new rows come back the same way.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from sklearn.utils import check_array

from ._native import Images, Table

Rows = Union[Table, Images, str]
Columns = Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class Container:
    """What rows came in: ``numpy``, ``pandas``, ``polars``, ``pyarrow``, ``images`` or ``path``."""

    kind: str

    def rebuild(self, columns: Columns) -> Any:
        """Columns of new rows as such a container."""
        data = dict(columns)
        if self.kind == "pandas":
            import pandas

            return pandas.DataFrame(data)
        if self.kind == "polars":
            import polars

            return polars.DataFrame(data)
        if self.kind == "pyarrow":
            import pyarrow

            return pyarrow.table(data)
        cells = list(data.values())
        if all(isinstance(column, np.ndarray) for column in cells):
            return np.column_stack(cells) if cells else np.empty((0, 0))
        return np.column_stack([np.asarray(column, dtype=object) for column in cells])


def read(X: Any, names: Sequence[str] | None = None, threads: int | None = None) -> tuple[Rows, Container]:
    """The rows of ``X``, in columns of these names, and what they came in; numbers are copied by so many threads."""
    if isinstance(X, (str, os.PathLike)):
        return os.fspath(X), Container("path")
    kind = container_kind(X)
    if kind == "pandas":
        check_names(X)
        return _from_pandas(X, names, threads), Container(kind)
    if kind in ("polars", "pyarrow"):
        table = X.collect() if hasattr(X, "collect") else X
        _check_size(table.shape)
        return Table.from_arrow(table, None if names is None else list(names)), Container(kind)
    array = _dense(X)
    if array.ndim in (3, 4):
        return _images(array), Container("images")
    return _from_array(array, names, threads), Container("numpy")


def container_kind(X: Any) -> str:
    """Which library's table this is; ``numpy`` for everything that becomes an array."""
    library = type(X).__module__.split(".")[0]
    if library == "pandas" and hasattr(type(X), "columns"):
        return "pandas"
    if library == "polars" and hasattr(type(X), "columns"):
        return "polars"
    if hasattr(X, "__arrow_c_stream__") and hasattr(X, "column_names"):
        return "pyarrow"
    return "numpy"


def is_images(X: Any) -> bool:
    """Whether these are images in memory, ``[n, h, w]`` or ``[n, h, w, c]``."""
    dimensions = np.ndim(X) if isinstance(X, (list, tuple)) else getattr(X, "ndim", None)
    return container_kind(X) == "numpy" and dimensions in (3, 4)


def column_names(n: int) -> list[str]:
    """The names of columns that have none, as NPY files are read."""
    return [f"x{j}" for j in range(n)]


def _dense(X: Any) -> np.ndarray[Any, Any]:
    if hasattr(X, "tocsr") or hasattr(X, "todense"):
        raise TypeError(
            "Sparse data was passed, but dense data is required: the flow maps every cell. Use X.toarray(), or reduce the "
            "columns first, for example by sklearn.decomposition.TruncatedSVD."
        )
    if isinstance(X, np.ndarray) and X.ndim in (3, 4):
        if X.dtype.kind == "O":
            raise ValueError("images must be arrays of numbers, got dtype object")
        return X
    array = check_array(X, dtype=None, ensure_all_finite=False, accept_sparse=False)
    if np.ma.isMaskedArray(X):
        array = np.ma.filled(X.astype(np.float64), np.nan)
    return np.asarray(array)


def _from_array(array: np.ndarray[Any, Any], names: Sequence[str] | None, threads: int | None) -> Table:
    columns = list(names) if names is not None else column_names(array.shape[1])
    if array.dtype.kind in "biuf":
        return Table.from_matrix(np.asarray(array, dtype=np.float64), columns, threads)
    return Table.from_columns([(name, _cells(array[:, j])) for j, name in enumerate(columns)])


def _from_pandas(X: Any, names: Sequence[str] | None, threads: int | None) -> Table:
    _check_size(X.shape)
    columns = list(names) if names is not None else _frame_names(X)
    kinds = {getattr(dtype, "kind", "O") for dtype in X.dtypes}
    if kinds <= set("iuf") and len(X) > 0 and all(isinstance(dtype, np.dtype) for dtype in X.dtypes):
        return Table.from_matrix(X.to_numpy(dtype=np.float64), columns, threads)  # a view, if all columns are float64
    try:
        import pyarrow
    except ImportError:
        pyarrow = None
    if pyarrow is not None:
        try:
            renamed = X.set_axis(columns, axis=1)
            return Table.from_arrow(pyarrow.Table.from_pandas(renamed, preserve_index=False))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError):
            pass  # a column of several types of object
    return Table.from_columns([(name, _cells(X.iloc[:, j])) for j, name in enumerate(columns)])


def check_names(X: Any) -> None:
    """An error if several columns of a pandas table have the same name."""
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"several columns have the name {twice!r}: rename or drop one of them")


def _frame_names(X: Any) -> list[str]:
    names = [str(name) for name in X.columns]
    return names if all(isinstance(name, str) for name in X.columns) else column_names(len(names))


def _cells(column: Any) -> Any:
    """A column as an array of numbers, or as a list of texts and None."""
    values = np.asarray(column)
    if values.dtype.kind == "b":
        return ["true" if value else "false" for value in values]
    if values.dtype.kind in "iuf":
        return np.ascontiguousarray(values, dtype=np.float64)
    if values.dtype.kind in "mM":
        texts = np.datetime_as_string(values) if values.dtype.kind == "M" else values.astype(str)
        return [None if text == "NaT" else str(text) for text in texts]
    cells = [_cell(value) for value in values.astype(object)]
    if all(cell is None or isinstance(cell, float) for cell in cells):
        return np.asarray([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    return [cell if cell is None or isinstance(cell, str) else _number_text(cell) for cell in cells]


def _cell(value: Any) -> str | float | None:
    if is_missing(value):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, float, np.number)) and not isinstance(value, (complex, np.complexfloating)):
        return float(value)
    if hasattr(value, "isoformat"):  # dates and times
        return str(value.isoformat())
    if type(value).__name__ == "Decimal":
        return float(value)
    raise TypeError(f"argument must be a string or a real number, not {type(value).__name__!r}")


def _number_text(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas.NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _check_size(shape: tuple[int, ...]) -> None:
    n, dim = shape
    if n == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    if dim == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required.")


def _images(array: np.ndarray[Any, Any]) -> Images:
    """Images ``[n, h, w]`` or ``[n, h, w, c]`` of pixel values 0 to 255, or of 0 to 1."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"images must be arrays of numbers, got dtype {array.dtype}")
    pixels = array[:, None] if array.ndim == 3 else np.moveaxis(array, 3, 1)
    if pixels.size == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={array.shape}) while a minimum of 1 is required.")
    if pixels.shape[1] not in (1, 3):
        raise ValueError(
            f"images must have the shape [n, h, w], [n, h, w, 1] or [n, h, w, 3], got {list(array.shape)}"
        )
    if pixels.dtype != np.uint8:
        if not np.isfinite(pixels).all():
            raise ValueError("images contain NaN or infinity")
        low, high = float(pixels.min()), float(pixels.max())
        if low < 0 or high > 255:
            raise ValueError(f"pixel values must be between 0 and 255, or 0 and 1, got {low:g} to {high:g}")
        scale = 255.0 if pixels.dtype.kind == "f" and high <= 1.0 else 1.0
        pixels = np.rint(pixels * scale).astype(np.uint8)
    return Images(np.ascontiguousarray(pixels))
