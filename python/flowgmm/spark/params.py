"""The Params of the estimator and its model: columns, workers, and every setting of a fit by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol, HasProbabilityCol, HasSeed

from .. import _settings


def _param(name: str, doc: str, converter: Any) -> Any:
    return Param(Params._dummy(), name, doc, converter)


def _settings_map(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"a dict of names and values was expected, got {type(value).__name__}")
    return {str(name): setting for name, setting in value.items()}


def _anything(value: Any) -> Any:
    return value


class OutputParams(HasFeaturesCol, HasPredictionCol, HasProbabilityCol):
    """Columns that are read, and columns that ``transform`` adds; an empty name leaves a column out."""

    featuresCols = _param("featuresCols", "columns of features, of any type that a table can have; instead of featuresCol",
                          TypeConverters.toListString)
    logPCol = _param("logPCol", "column of log p(x), in the units of the features", TypeConverters.toString)
    typicalityCol = _param("typicalityCol", "column of typicality: the share of rows like the training rows that are less "
                           "likely; near 0 is out of distribution", TypeConverters.toString)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(logPCol="log_p", typicalityCol="typicality")

    def getFeaturesCols(self) -> list[str]:
        """The columns of features, or the one column."""
        if self.isDefined(self.featuresCols):
            return list(self.getOrDefault(self.featuresCols))
        return [self.getFeaturesCol()]

    def getLogPCol(self) -> str:
        """The column of log p(x)."""
        return str(self.getOrDefault(self.logPCol))

    def getTypicalityCol(self) -> str:
        """The column of typicality."""
        return str(self.getOrDefault(self.typicalityCol))


class FitParams(OutputParams, HasLabelCol, HasSeed):
    """Everything that decides a fit. What is not set is chosen from the data."""

    num_workers = _param("num_workers", "tasks that train at once; they need as many free slots. The result does not depend "
                         "on it", TypeConverters.toInt)
    shards = _param("shards", "parts that the rows are cut into; each step sums a gradient over all of them. At least "
                    "num_workers. Another number is another fit", TypeConverters.toInt)
    sample_rows = _param("sample_rows", "unlabelled rows that the driver samples for schema, preprocessing, teachers and "
                         "calibration, about", TypeConverters.toInt)
    checkpoint = _param("checkpoint", "path or URI of shared storage (local, S3, GCS, HDFS: what pyarrow.fs opens) that keeps "
                        "the state of training; a stage that is run again, and a later fit of the same rows and settings, "
                        "go on from there", TypeConverters.toString)
    checkpoint_steps = _param("checkpoint_steps", "training steps between two checkpoints", TypeConverters.toInt)
    preset = _param("preset", "where settings come from: " + ", ".join(_settings.PRESETS), TypeConverters.toString)
    pure_flow = _param("pure_flow", "predict by the flow's own Bayes rule, without trees beside it", TypeConverters.toBoolean)
    steps = _param("steps", "training steps", TypeConverters.toInt)
    learning_rate = _param("learning_rate", "peak of the learning rate", TypeConverters.toFloat)
    depth = _param("depth", "couplings of the flow", TypeConverters.toInt)
    hidden = _param("hidden", "widths of the couplings' hidden layers", TypeConverters.toListInt)
    coupling = _param("coupling", "transform of the couplings, as settings name it", _anything)
    prepare = _param("prepare", "preprocessing, as settings name it", _anything)
    batch_labelled = _param("batch_labelled", "labelled rows of a step", TypeConverters.toInt)
    batch_unlabelled = _param("batch_unlabelled", "unlabelled rows of a step, over all workers", TypeConverters.toInt)
    settings = _param("settings", "any other setting by its path, such as train.ema; flowgmm fit --print-config lists all",
                      _settings_map)
    columns = _param("columns", "what columns are where the program would guess otherwise: name to "
                     + ", ".join(_settings.KINDS), _settings_map)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(num_workers=1, shards=8, sample_rows=50_000, checkpoint_steps=200, preset="auto", pure_flow=False,
                         seed=0)

    def _optional(self, name: str) -> Any:
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None


#: Constructor arguments, and the Params that they set.
ARGUMENTS = {
    "features_col": "featuresCol",
    "label_col": "labelCol",
    "prediction_col": "predictionCol",
    "probability_col": "probabilityCol",
    "log_p_col": "logPCol",
    "typicality_col": "typicalityCol",
}


def by_param(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Constructor arguments by the names of their Params; those that are None stay as they were."""
    named: dict[str, Any] = {}
    for name, value in arguments.items():
        if value is None:
            continue
        if name == "features_col" and not isinstance(value, str):
            named["featuresCols"] = list(value)
        else:
            named[ARGUMENTS.get(name, name)] = value
    return named


def plain_columns(stage: OutputParams) -> dict[str, str]:
    """The columns that ``transform`` adds, by what they hold; empty names are left out."""
    names = {
        "prediction": stage.getPredictionCol(),
        "probability": stage.getProbabilityCol(),
        "log_p": stage.getLogPCol(),
        "typicality": stage.getTypicalityCol(),
    }
    return {what: name for what, name in names.items() if name}
