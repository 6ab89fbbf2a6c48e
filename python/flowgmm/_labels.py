"""Labels of rows, few of which have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ._rows import is_missing


@dataclass(frozen=True)
class Labels:
    """The classes of rows: ``codes`` are positions in ``classes``, -1 for rows without a label."""

    classes: npt.NDArray[Any]
    codes: npt.NDArray[np.int64]
    column: str

    @property
    def names(self) -> list[str]:
        """What the library calls the classes."""
        return [class_name(value) for value in self.classes]

    def native(self) -> tuple[npt.NDArray[np.int64], list[str], str]:
        """As the library takes them."""
        return self.codes, self.names, self.column


def is_unlabelled(y: npt.NDArray[Any], unlabeled_label: Any) -> npt.NDArray[np.bool_]:
    """Which labels are None, NaN, or the one that means unlabelled."""
    if y.dtype.kind in "iub":
        missing = np.zeros(len(y), dtype=bool)
    elif y.dtype.kind == "f":
        missing = np.isnan(y)
    else:
        missing = np.fromiter((is_missing(value) for value in y), dtype=bool, count=len(y))
    if unlabeled_label is not None:
        if y.dtype.kind in "iubf" and isinstance(unlabeled_label, (int, float, np.number)):
            missing = missing | np.asarray(y == unlabeled_label)
        else:
            same = (type(value) is not bool and value == unlabeled_label for value in y)
            missing = missing | np.fromiter(same, dtype=bool, count=len(y))
    return np.asarray(missing, dtype=bool)


def as_array(y: Any) -> npt.NDArray[Any]:
    """A vector of labels."""
    if hasattr(y, "to_numpy") and hasattr(y, "null_count"):  # polars and pyarrow: gaps stay gaps
        y = np.asarray(y.to_pylist() if hasattr(y, "to_pylist") else y.to_list(), dtype=object)
    if isinstance(y, (list, tuple)) and any(value is None or isinstance(value, str) for value in y):
        y = np.asarray(y, dtype=object)
    vector: npt.NDArray[Any] = column_or_1d(y, warn=True)
    return np.asarray(vector)


def encode(y: Any, unlabeled_label: Any) -> Labels:
    """Classes and codes of labels; at least one row must have a label."""
    column = getattr(y, "name", None)
    vector = as_array(y)
    unlabelled = is_unlabelled(vector, unlabeled_label)
    known = vector[~unlabelled]
    if len(known) == 0:
        hint = "" if unlabeled_label is None else f" {unlabeled_label!r},"
        raise ValueError(
            f"no row has a label: give y the class of at least one row of every class, and{hint} None or NaN for the others"
        )
    if known.dtype.kind == "O":
        kinds = {str if isinstance(value, str) else bool if isinstance(value, (bool, np.bool_)) else float for value in known}
        if len(kinds) > 1:
            raise ValueError("labels are of several types: make them all texts, or all numbers")
        known = np.asarray(list(known))
    elif known.dtype.kind == "U":
        known = np.asarray(known)
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        raise ValueError("Input y contains infinity.")
    check_classification_targets(known)
    classes, inverse = np.unique(known, return_inverse=True)
    codes = np.full(len(vector), -1, dtype=np.int64)
    codes[~unlabelled] = inverse
    labels = Labels(classes, codes, str(column) if isinstance(column, str) and column else "class")
    blank = [name for name in labels.names if not name.strip()]
    if blank:
        raise ValueError("a class has a blank name: use None or NaN for rows without a label")
    return labels


def known_codes(y: Any, classes: npt.NDArray[Any], unlabeled_label: Any) -> Labels:
    """Codes of labels that must be among a model's classes."""
    labels = encode(y, unlabeled_label)
    position = {class_name(value): k for k, value in enumerate(classes)}
    unknown = [name for name in labels.names if name not in position]
    if unknown:
        raise ValueError(f"the model does not know the label {unknown[0]!r}; it knows {', '.join(position)}")
    to_known = np.asarray([position[name] for name in labels.names], dtype=np.int64)
    codes = np.where(labels.codes < 0, -1, to_known[labels.codes])
    return Labels(classes, codes.astype(np.int64), labels.column)


def class_name(value: Any) -> str:
    """What the library calls a class: 3.0 is ``3``, as pandas makes it of 3 where labels are missing."""
    if isinstance(value, (float, np.floating)):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def classes_of_names(names: list[str]) -> npt.NDArray[Any]:
    """The classes of a model file: whole numbers if all names are, else texts."""
    numbers = [int(name) if name.lstrip("-").isdigit() and str(int(name)) == name else None for name in names]
    if all(number is not None for number in numbers):
        return np.asarray(numbers, dtype=np.int64)
    return np.asarray(names)
