"""FlowGMM where the data already are: a ``pyspark.ml`` estimator for tables of any size, few rows of which have a label::

    from flowgmm.spark import FlowGMMClassifier

    classifier = FlowGMMClassifier(features_col=["age", "income", "city"], label_col="churned", num_workers=4)
    model = classifier.fit(frame)                  # a null label is an unlabelled row
    model.transform(frame).select("prediction", "probability", "log_p", "typicality").show()

How a fit goes::

    driver   counts ── sample: labelled rows, and unlabelled ones by their row hash ── schema, recipe, teachers, fresh flow
    workers  one barrier stage: every task holds its shards of the rows; each step sums gradients exactly (xgboost.collective)
    driver   held-out labels, temperature, forest, typicality, certificate ── one model file

The number of workers, the order of the rows and how they are partitioned change nothing: the result has the same bits, those of
``flowgmm.FlowGMMClassifier`` on one machine with the same ``train.shards``. Needs ``pip install flowgmm[spark]``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimator import FlowGMMClassifier
    from .evaluation import LabelledAccuracyEvaluator
    from .model import FlowGMMClassifierModel

__all__ = ["FlowGMMClassifier", "FlowGMMClassifierModel", "LabelledAccuracyEvaluator"]

# Loaded when they are asked for: the workers that score need neither pyspark.ml nor scikit-learn.
_MODULES = {
    "FlowGMMClassifier": "estimator",
    "FlowGMMClassifierModel": "model",
    "LabelledAccuracyEvaluator": "evaluation",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'flowgmm.spark' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
