"""Other learners for few labels, as estimators: what scikit-learn has not, or not for many rows.

>>> from sklearn.datasets import make_moons
>>> from flowgmm.rivals import LabelSpreading
>>> X, truth = make_moons(500, noise=0.1, random_state=0)
>>> y = truth.copy()
>>> y[10:] = -1
>>> bool(LabelSpreading().fit(X, y).score(X, truth) > 0.9)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from . import _labels, _rows, _settings
from ._native import Rival as _Rival
from ._progress import progress
from ._warnings import warn_all
from .model_selection import labelled_accuracy

__all__ = ["DIGLM", "LabelSpreading", "M1M2", "PiModel", "Rival", "names"]


def names() -> list[str]:
    """The names of all learners that ``Rival`` takes."""
    return _Rival.names()


@dataclass(frozen=True)
class _Training:
    """What a rival was fitted to."""

    X: Any
    labels: _labels.Labels
    seed: int


class Rival(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A learner of the arena by its name, on rows of which few have a label.

    A fitted rival keeps its training rows. A pickle holds these and not the model, which is fitted again when it is first
    asked: the same seed gives the same bits.

    Parameters
    ----------
    learner : str, default="label-spreading"
        One of ``names()``.
    steps : int, default=None
        Training steps of learners that are trained in steps; their own, if None.
    unlabeled_label : default=-1
        The label that means unlabelled, besides None and NaN; None if -1 is a class.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    n_jobs : int, default=None
        Threads; one for each core if None or -1.
    verbose : int, default=1
        0 shows no progress.
    """

    def __init__(
        self,
        learner: str = "label-spreading",
        *,
        steps: int | None = None,
        unlabeled_label: Any = -1,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None:
        self.learner = learner
        self.steps = steps
        self.unlabeled_label = unlabeled_label
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Rival:
        """Fits the learner to a table; ``y`` has -1, None or NaN for rows without a label."""
        labels = _labels.encode(y, self.unlabeled_label)
        if not _rows.is_images(X):
            validate_data(self, X, reset=True, skip_check_array=True)
        training = _Training(X, labels, _settings.seed(self.random_state))
        model = self._learn(training)
        warn_all(model.warnings(), stacklevel=3)
        own = model.classes()
        self._training = training
        self.model_ = model
        self.classes_ = labels.classes
        self._order = np.asarray([own.index(name) for name in labels.names])
        return self

    def _learn(self, training: _Training) -> _Rival:
        rows, _ = _rows.read(training.X)
        check_consistent_length(rows, training.labels.codes)
        bar = progress(self.verbose)
        try:
            return _Rival.fit(
                self.learner,
                rows,
                training.labels.native(),
                _settings.plain_options(_settings.threads(self.n_jobs)),
                self.steps,
                training.seed,
                bar,
            )
        finally:
            if bar is not None:
                bar.close()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("model_", None)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_training")

    def predict_log_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """log p(k | x), ``[n, n_classes]``."""
        check_is_fitted(self)
        if not hasattr(self, "model_"):  # this is what was pickled
            self.model_ = self._learn(self._training)
        rows, _ = _rows.read(X, self._names(X))
        return self.model_.log_probs(rows, _settings.threads(self.n_jobs))[:, self._order]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """p(k | x), ``[n, n_classes]``."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        most_probable = self.predict_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on the rows that have a label."""
        return labelled_accuracy(y, self.predict(X), unlabeled_label=self.unlabeled_label)

    def _names(self, X: Any) -> list[str] | None:
        if _rows.is_images(X):
            return None
        validate_data(self, X, reset=False, skip_check_array=True)
        return list(getattr(self, "feature_names_in_", _rows.column_names(self.n_features_in_)))


class _Named(Rival):
    """A rival whose learner is fixed."""

    _learner: str

    def __init__(
        self,
        *,
        steps: int | None = None,
        unlabeled_label: Any = -1,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            self._learner,
            steps=steps,
            unlabeled_label=unlabeled_label,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )


class LabelSpreading(_Named):
    """Label spreading on a graph of nearest neighbours (Zhou et al., 2004), for hundreds of thousands of rows."""

    _learner = "label-spreading"


class PiModel(_Named):
    """The Pi-model (Laine and Aila, 2017): a network whose predictions do not depend on noise."""

    _learner = "pi-model"


class M1M2(_Named):
    """M1+M2 (Kingma et al., 2014): variational autoencoders with a class."""

    _learner = "m1m2"


class DIGLM(_Named):
    """Deep invertible generalised linear model (Nalisnick et al., 2019): a flow with a linear classifier on z."""

    _learner = "diglm"
