"""Evaluation on rows of which few have a label."""

from __future__ import annotations

from typing import Any

from pyspark import keyword_only
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from . import _columns


class LabelledAccuracyEvaluator(
    Evaluator, HasLabelCol, HasPredictionCol, DefaultParamsReadable["LabelledAccuracyEvaluator"], DefaultParamsWritable
):
    """Accuracy over the rows that have a label, for ``CrossValidator`` and ``TrainValidationSplit``: Spark's own evaluators cannot
    do with null labels, nor with classes that are texts.
    """

    @keyword_only
    def __init__(self, *, label_col: str = "label", prediction_col: str = "prediction") -> None:
        super().__init__()
        self._set(labelCol=label_col, predictionCol=prediction_col)

    def _evaluate(self, dataset: DataFrame) -> float:
        label, _ = _columns.label(dataset, self.getLabelCol())
        right = (label == F.col(self.getPredictionCol())).cast("double")
        row: Any = dataset.where(label.isNotNull()).select(F.avg(right)).first()
        if row[0] is None:
            raise ValueError(f"no row has a label in {self.getLabelCol()!r}: there is nothing to evaluate by")
        return float(row[0])

    def isLargerBetter(self) -> bool:
        """Accuracy: yes."""
        return True
