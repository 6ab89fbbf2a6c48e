"""Features and labels of a Spark DataFrame as the columns of a table.

A column of vectors or arrays becomes one column for each element, ``features_0``, ``features_1`` and so on; all others keep their
name and type. Decimals become doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

PLAIN = (T.NumericType, T.StringType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType)


def features(dataset: DataFrame, names: Sequence[str], wanted: Sequence[str] | None = None) -> list[tuple[str, Column]]:
    """The columns of a table of these features, or those of them that a model ``wanted``, by name.

    Raises an error that names every column that is missing or cannot be used.
    """
    found: list[tuple[str, Column]] = []
    missing = [name for name in names if name not in dataset.columns]
    if missing:
        have = ", ".join(dataset.columns[:20])
        raise ValueError(f"the DataFrame has no column {', '.join(map(repr, missing))}; it has {have}")
    for name in names:
        kind = dataset.schema[name].dataType
        column = F.col(_quoted(name))
        if isinstance(kind, (VectorUDT, T.ArrayType)):
            found += _elements(dataset, name, kind, column, wanted)
        elif isinstance(kind, T.DecimalType):
            found.append((name, column.cast("double")))
        elif isinstance(kind, PLAIN):
            found.append((name, column))
        else:
            raise TypeError(
                f"column {name!r} is of type {kind.simpleString()}: a feature is a number, a text, a boolean, a date, or a "
                "column of vectors"
            )
    if wanted is None:
        return found
    by_name = dict(found)
    absent = [name for name in wanted if name not in by_name]
    if absent:
        raise ValueError(f"the model needs {', '.join(map(repr, absent))}, which the features {list(names)} do not have")
    return [(name, by_name[name]) for name in wanted]


def as_it_is(dataset: DataFrame, name: str, names: Sequence[str]) -> bool:
    """Whether a column of the table is one of the features ``names`` without any conversion."""
    if name not in names:
        return False
    kind = dataset.schema[name].dataType
    return isinstance(kind, PLAIN) and not isinstance(kind, T.DecimalType)


def _elements(
    dataset: DataFrame, name: str, kind: Any, column: Column, wanted: Sequence[str] | None
) -> list[tuple[str, Column]]:
    if isinstance(kind, T.ArrayType) and not isinstance(kind.elementType, T.NumericType):
        raise TypeError(f"column {name!r} holds arrays of {kind.elementType.simpleString()}: a feature is an array of numbers")
    array = vector_to_array(column) if isinstance(kind, VectorUDT) else column
    if wanted is not None:
        prefix = f"{name}_"
        at = [int(own[len(prefix) :]) for own in wanted if own.startswith(prefix) and own[len(prefix) :].isdigit()]
        return [(f"{name}_{i}", F.get(array, F.lit(i)).cast("double")) for i in at]
    known = dataset.schema[name].metadata.get("ml_attr", {}).get("num_attrs")
    if known is None:
        first = dataset.where(column.isNotNull()).select(F.size(array)).first()
        if first is None:
            raise ValueError(f"column {name!r} is null in every row")
        known = first[0]
    return [(f"{name}_{i}", F.get(array, F.lit(i)).cast("double")) for i in range(int(known))]


def label(dataset: DataFrame, name: str) -> tuple[Column, str]:
    """The column of labels, null for rows without one, and the type of predictions: double, boolean or string."""
    if name not in dataset.columns:
        raise ValueError(f"the DataFrame has no label column {name!r}; it has {', '.join(dataset.columns[:20])}")
    column, kind = F.col(_quoted(name)), dataset.schema[name].dataType
    if isinstance(kind, T.NumericType):
        # NaN is no class: pandas makes it of a missing label.
        number = column.cast("double")
        return F.when(~F.isnan(number), number), "double"
    if isinstance(kind, T.BooleanType):
        return column, "boolean"
    if isinstance(kind, T.StringType):
        return F.when(F.trim(column) != "", column), "string"
    raise TypeError(f"label column {name!r} is of type {kind.simpleString()}: labels are numbers, booleans or texts")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
