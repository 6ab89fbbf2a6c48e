"""Semi-supervised learning with normalizing flows: many rows, few labels, one model.

>>> from sklearn.datasets import make_moons
>>> from flowgmm import FlowGMMClassifier
>>> X, y = make_moons(300, noise=0.1, random_state=0)
>>> y[10:] = -1                                   # ten labels are known
>>> model = FlowGMMClassifier(steps=100).fit(X, y)
>>> model.predict_proba(X).shape
(300, 2)
"""

from ._native import DivergedError, InternalError, __version__
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
