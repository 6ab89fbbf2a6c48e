"""``FlowGMMClassifier``: an estimator of ``pyspark.ml``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark import keyword_only
from pyspark.ml import Estimator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .. import _labels, _native, _settings
from .._warnings import warn_all
from . import _columns
from ._keys import SAMPLED, SHARD, keyed
from ._slots import check_slots
from ._workers import Stage
from .model import FlowGMMClassifierModel
from .params import FitParams, by_param

_LABEL = "__flowgmm_label"
#: Labelled rows that a fit may have: every worker holds all of them.
MOST_LABELLED = 200_000


class FlowGMMClassifier(
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

    @keyword_only
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
        self._set(**by_param(self._input_kwargs))  # type: ignore[attr-defined]

    @keyword_only
    def setParams(self, **arguments: Any) -> FlowGMMClassifier:
        """Sets Params by the names of the constructor's arguments."""
        self._set(**by_param(arguments))
        return self

    def _fit(self, dataset: DataFrame) -> FlowGMMClassifierModel:
        session = dataset.sparkSession
        shards, workers = self._checked()
        names = self.getFeaturesCols()
        if self.getLabelCol() in names:
            raise ValueError(f"the label column {self.getLabelCol()!r} is among the features")
        features = _columns.features(dataset, names)
        label, label_type = _columns.label(dataset, self.getLabelCol())
        table = dataset.select(*(column.alias(name) for name, column in features), label.alias(_LABEL))
        counts: Any = table.select(F.count(_LABEL), F.count(F.lit(1))).first()
        labelled, total = int(counts[0]), int(counts[1]) - int(counts[0])
        self._check_labels(labelled)
        check_slots(session, workers)
        sample_rows = int(self.getOrDefault(self.sample_rows))
        keys = keyed(table, [name for name, _ in features], self.getSeed(), shards, sample_rows, total)
        known, sampled = F.col(_LABEL).isNotNull(), F.col(SAMPLED)
        sample = keys.where(known | sampled).drop(SHARD, SAMPLED).toArrow()
        stage = Stage(
            rows=keys.where(~known & ~sampled).drop(_LABEL, SAMPLED),
            shards=shards,
            workers=workers,
            checkpoint=self._optional("checkpoint"),
            every=int(self.getOrDefault(self.checkpoint_steps)),
            threads=int(session.conf.get("spark.task.cpus", "1") or 1),
        )
        codes, classes, _ = _labels.encode(sample.column(_LABEL), None).native()
        rows = _native.Table.from_arrow(sample.drop_columns([_LABEL]))
        fit = _native.fit_on(rows, (codes, classes, self.getLabelCol()), self._options(), total, stage, None)
        warn_all(fit.warnings())
        model = self._model(fit.model().to_bytes(), label_type)
        model.workers = stage.reports
        return model

    def _checked(self) -> tuple[int, int]:
        """The numbers of shards and workers, if all Params make sense."""
        shards, workers = int(self.getOrDefault(self.shards)), int(self.getOrDefault(self.num_workers))
        if workers < 1:
            raise ValueError(f"num_workers must be at least 1, got {workers}")
        if shards < workers:
            raise ValueError(f"num_workers={workers} is more than shards={shards}: a worker holds one shard at least")
        for name in ("sample_rows", "checkpoint_steps"):
            if int(self.getOrDefault(self.getParam(name))) < 1:
                raise ValueError(f"{name} must be at least 1, got {self.getOrDefault(self.getParam(name))}")
        if self.getSeed() < 0:
            raise ValueError(f"seed must not be negative, got {self.getSeed()}")
        _settings.check(_Arguments(self))
        return shards, workers

    def _check_labels(self, labelled: int) -> None:
        name = self.getLabelCol()
        if labelled == 0:
            raise ValueError(f"no row has a label: {name!r} is null everywhere")
        if labelled > MOST_LABELLED:
            raise ValueError(
                f"{labelled} rows have a label in {name!r}, and every worker holds all of these: leave {MOST_LABELLED} of them, and "
                "make the labels of the others null"
            )

    def _options(self) -> dict[str, Any]:
        kinds = self._optional("columns") or {}
        settings = _settings.gather(_Arguments(self), self.getSeed())
        own = {"train.shards": self.getOrDefault(self.shards), "sample": self.getOrDefault(self.sample_rows)}
        return {
            **_settings.plain_options(None),
            "preset": self.getOrDefault(self.preset),
            "settings": [*settings, *((path, _settings.to_json(path, value)) for path, value in own.items())],
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
        return self._estimator._optional(name) if self._estimator.hasParam(name) else None
