"""``FlowGMMClassifier``: an estimator of ``pyspark.ml``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .. import _labels, _native, _settings
from .._warnings import warn_all
from . import _columns
from .model import FlowGMMClassifierModel
from .params import FitParams, by_param

_LABEL = "__flowgmm_label"


class FlowGMMClassifier(  # type: ignore[misc]
    Estimator[FlowGMMClassifierModel], FitParams, DefaultParamsReadable["FlowGMMClassifier"], DefaultParamsWritable
):
    """FlowGMM for DataFrames of which few rows have a label; a null label is an unlabelled row.

    Parameters
    ----------
    features_col : str or list of str
        Columns of features: one column of vectors or arrays of numbers, or columns of numbers, texts, booleans and dates.
    label_col : str
        Column of classes: numbers, booleans or texts.
    prediction_col, probability_col, log_p_col, typicality_col : str
        Columns that ``transform`` adds; an empty name leaves one out.
    num_workers : int
        Tasks that train at once. The result does not depend on it.
    settings : dict
        Any setting of a fit by its path. The most used ones have names of their own: ``steps``, ``depth``, ``learning_rate`` ...

    ``explainParams()`` documents all of them.
    """

    @keyword_only  # type: ignore[misc]
    def __init__(
        self,
        *,
        features_col: str | Sequence[str] = "features",
        label_col: str = "label",
        prediction_col: str = "prediction",
        probability_col: str = "probability",
        log_p_col: str = "log_p",
        typicality_col: str = "typicality",
        num_workers: int | None = None,
        shards: int | None = None,
        sample_rows: int | None = None,
        checkpoint: str | None = None,
        checkpoint_steps: int | None = None,
        preset: str | None = None,
        pure_flow: bool | None = None,
        steps: int | None = None,
        learning_rate: float | None = None,
        depth: int | None = None,
        hidden: Sequence[int] | None = None,
        coupling: Any = None,
        prepare: Any = None,
        batch_labelled: int | None = None,
        batch_unlabelled: int | None = None,
        settings: dict[str, Any] | None = None,
        columns: dict[str, str] | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self._set(**by_param(self._input_kwargs))

    @keyword_only  # type: ignore[misc]
    def setParams(self, **arguments: Any) -> FlowGMMClassifier:
        """Sets Params by the names of the constructor's arguments."""
        self._set(**by_param(arguments))
        return self

    def _fit(self, dataset: DataFrame) -> FlowGMMClassifierModel:
        features = _columns.features(dataset, self.getFeaturesCols())
        label, label_type = _columns.label(dataset, self.getLabelCol())
        table = dataset.select(*(column.alias(name) for name, column in features), label.alias(_LABEL))
        sample = self._sample(table)
        labels = _labels.encode(sample.column(_LABEL), None)
        rows = _native.Table.from_arrow(sample.drop_columns([_LABEL]))
        codes, names, _ = labels.native()
        fit = _native.fit(rows, (codes, names, self.getLabelCol()), self._options(), None)
        warn_all(fit.warnings())
        return self._model(fit.model().to_bytes(), label_type)

    def _sample(self, table: DataFrame) -> pa.Table:
        """The labelled rows, and some of the others, in an order that does not depend on partitions."""
        keyed = table.withColumn("__flowgmm_key", F.xxhash64(F.lit(self.getSeed()), *table.columns))
        labelled = keyed.where(F.col(_LABEL).isNotNull())
        others = keyed.where(F.col(_LABEL).isNull()).orderBy("__flowgmm_key").limit(self.getOrDefault(self.sample_rows))
        found = labelled.unionByName(others).toArrow()
        return found.sort_by("__flowgmm_key").drop_columns(["__flowgmm_key"])

    def _options(self) -> dict[str, Any]:
        kinds = self._optional("columns") or {}
        return {
            **_settings.plain_options(None),
            "preset": self.getOrDefault(self.preset),
            "settings": _settings.gather(_Arguments(self), self.getSeed()),
            "declared": [(str(name), kind) for name, kind in kinds.items()],
        }

    def _model(self, content: bytes, label_type: str) -> FlowGMMClassifierModel:
        model = FlowGMMClassifierModel(content, label_type)
        model._resetUid(self.uid)
        return self._copyValues(model)


class _Arguments:
    """The Params of an estimator as attributes, None where they are not set."""

    def __init__(self, estimator: FlowGMMClassifier) -> None:
        self._estimator = estimator

    def __getattr__(self, name: str) -> Any:
        return self._estimator._optional(name)
