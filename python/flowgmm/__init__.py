"""Semi-supervised learning with normalizing flows: many rows, few labels, one model.

>>> from sklearn.datasets import make_moons
>>> from flowgmm import FlowGMMClassifier
>>> X, y = make_moons(300, noise=0.1, random_state=0)
>>> y[10:] = -1                                   # ten labels are known
>>> model = FlowGMMClassifier(steps=100).fit(X, y)
>>> model.predict_proba(X).shape
(300, 2)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._native import DivergedError, InternalError, __version__

if TYPE_CHECKING:
    from ._pages import Page
    from ._warnings import FlowGMMWarning, UnlabelledScoreWarning
    from .estimator import Decision, FlowGMMClassifier
    from .flow import Flow
    from .model_selection import LabelledStratifiedKFold, labelled_accuracy, labelled_accuracy_scorer

__all__ = [
    "Decision",
    "DivergedError",
    "Flow",
    "FlowGMMClassifier",
    "FlowGMMWarning",
    "InternalError",
    "LabelledStratifiedKFold",
    "Page",
    "UnlabelledScoreWarning",
    "__version__",
    "labelled_accuracy",
    "labelled_accuracy_scorer",
]

# Loaded when they are asked for: the command does not wait for scikit-learn.
_MODULES = {
    "Decision": "estimator",
    "Flow": "flow",
    "FlowGMMClassifier": "estimator",
    "FlowGMMWarning": "_warnings",
    "LabelledStratifiedKFold": "model_selection",
    "Page": "_pages",
    "UnlabelledScoreWarning": "_warnings",
    "labelled_accuracy": "model_selection",
    "labelled_accuracy_scorer": "model_selection",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'flowgmm' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
