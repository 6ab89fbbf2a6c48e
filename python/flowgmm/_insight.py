"""How far predictions can be trusted, and what the model does with rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from . import _labels, _native, _settings
from ._base import Fitted, Floats
from ._pages import Page
from ._progress import progress
from ._warnings import warn_all


class Insight(Fitted):
    """Calibration, prediction sets, labels to ask for, explanations, reports, the model card."""

    _conformal: tuple[_native.Model, Floats, npt.NDArray[np.int64]] | None

    def calibrate(self, X: Any, y: Any) -> Insight:
        """Fits the temperature of the probabilities to labelled rows that the model has not seen, and keeps these rows' scores for
        ``predict_set``. Classes do not change. ``calibration_`` has the scores before and after.
        """
        check_is_fitted(self)
        rows, _ = self._read(X, reset=False)
        labels = _labels.known_codes(y, self.classes_, self.unlabeled_label)
        check_consistent_length(rows, labels.codes)
        before = self.model_
        arrays, _ = before.score(rows, ["log_probs"], self._encoder(), self._threads())
        model, scores, found = before.calibrate(rows, labels.native(), self._encoder(), self._threads())
        warn_all(found, stacklevel=3)
        known = labels.codes >= 0
        # Sets rest on the model as it was: its probabilities have not seen these labels, so that coverage is guaranteed.
        self._conformal = (before, arrays["log_probs"][known], self._order[labels.codes[known]])
        self.model_ = model
        self.calibration_ = json.loads(scores)
        return self

    def predict_set(self, X: Any, alpha: float = 0.1) -> npt.NDArray[np.bool_]:
        """Which classes the conformal prediction set of each row holds, ``[n, n_classes]``.

        A set contains the true class of a share of at least ``1 - alpha`` of rows, whatever the model, if rows come from the
        distribution of those that ``calibrate`` was given.
        """
        check_is_fitted(self)
        if self._conformal is None:
            raise ValueError("predict_set needs labelled rows that the model has not seen: call calibrate(X, y) first")
        model, calibration, y = self._conformal
        log_probs = self._score(X, "log_probs", model)
        return np.asarray(_native.conformal_sets(log_probs, calibration, y, float(alpha))[:, self._order])

    def label_next(self, X: Any, n: int = 10, X_labelled: Any = None) -> npt.NDArray[np.int64]:
        """The rows of ``X`` whose labels would teach the model most, best first, as row numbers.

        They are uncertain, lie where rows are dense, and are far from each other and from ``X_labelled``.
        """
        check_is_fitted(self)
        rows, _ = self._read(X, reset=False)
        known = None if X_labelled is None else self._read(X_labelled, reset=False)[0]
        found = self.model_.label_next(rows, known, int(n), self._encoder(), self._threads())
        return np.asarray([row for row, *_ in found], dtype=np.int64)

    def explain(
        self,
        X: Any,
        y: Any = None,
        *,
        out_of_distribution: Any = None,
        unlabelled: Any = None,
        max_rows: int | None = None,
        alpha: float = 0.1,
        random_state: Any = 0,
    ) -> Page:
        """What the model does with rows, and how far each prediction can be trusted: numbers and a page."""
        check_is_fitted(self)
        rows, _ = self._read(X, reset=False)
        labels = None if y is None else _labels.known_codes(y, self.classes_, self.unlabeled_label)
        if labels is not None:
            check_consistent_length(rows, labels.codes)
        elsewhere = None if out_of_distribution is None else self._read(out_of_distribution, reset=False)[0]
        candidates = None if unlabelled is None else self._read(unlabelled, reset=False)[0]
        native = None if labels is None else labels.native()
        findings, page, found = _native.explain(
            self.model_,
            rows,
            native,
            elsewhere,
            candidates,
            max_rows,
            float(alpha),
            _settings.seed(random_state),
            self._encoder(),
            self._threads(),
        )
        warn_all(found, stacklevel=3)
        return Page("explanation", json.loads(findings), page)

    def report(self, X: Any = None, y: Any = None, *, name: str = "the data") -> Page:
        """How far the fit can be trusted, and whether its unlabelled rows helped. It takes about as long as the fit.

        ``X`` and ``y`` are labelled rows that the model has not seen; without them the labelled training rows are
        cross-validated. The training rows are needed, so an estimator that was loaded or unpickled has no report.
        """
        check_is_fitted(self)
        if getattr(self, "_fit", None) is None:
            raise ValueError("a report needs the rows of the fit, which files and pickles do not keep: fit again first")
        test = None
        if X is not None:
            rows, _ = self._read(X, reset=False)
            test = (rows, _labels.known_codes(y, self.classes_, self.unlabeled_label).native())
        bar = progress(self.verbose)
        try:
            findings, page, found = _native.report(self._fit, test, name, self._threads(), bar)
        finally:
            if bar is not None:
                bar.close()
        warn_all(found, stacklevel=3)
        return Page("report", json.loads(findings), page)

    def card(self) -> dict[str, Any]:
        """The model card: what the model is, what it was fitted to, and how exactly its flow inverts."""
        check_is_fitted(self)
        card: dict[str, Any] = json.loads(self.model_.card(self._threads()))
        return card
