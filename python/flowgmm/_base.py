"""What the methods of the estimator have in common: a fitted model, and rows for it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _native, _rows, _settings
from ._warnings import warn_all

Floats = npt.NDArray[np.float64]


class Fitted(BaseEstimator):  # type: ignore[misc]
    """An estimator with a model of the library."""

    unlabeled_label: Any
    encoder: Any
    n_jobs: int | None
    verbose: int
    model_: _native.Model
    classes_: npt.NDArray[Any]
    n_features_in_: int
    _order: npt.NDArray[np.int64]
    _container: _rows.Container
    # A model of a file does not know which other columns there were, nor their order: those of a table are found by their names.
    _matches_by_name: bool = False

    def _read(self, X: Any, reset: bool) -> tuple[_rows.Rows, _rows.Container]:
        if isinstance(X, (str, os.PathLike)):
            return _rows.read(X)
        if _rows.is_images(X):
            rows, container = _rows.read(X)
            if reset:
                self.n_features_in_ = int(np.prod(np.shape(X)[1:]))
            return rows, container
        kind = _rows.container_kind(X)
        if kind == "polars" and hasattr(X, "collect"):
            X = X.collect()
        names: list[str] | None = None
        if kind == "pandas":
            _rows.check_names(X)
        if kind != "numpy" and not reset and self._matches_by_name:
            return _rows.read(X, None, self._threads())
        if kind == "numpy":
            X = _rows._dense(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset:
            width = self.n_features_in_
            names = list(getattr(self, "feature_names_in_", _rows.column_names(width)))
            texts = self.model_.text_columns()
            if texts and kind != "numpy":
                names = None
        return _rows.read(X, names, self._threads())

    def _score(self, X: Any, field: str, model: _native.Model | None = None) -> Any:
        check_is_fitted(self)
        rows, _ = self._read(X, reset=False)
        model = self.model_ if model is None else model
        arrays, found = model.score(rows, [field], self._encoder(), self._threads())
        warn_all(found)
        return arrays[field]

    def _rebuild(self, columns: _rows.Columns) -> Any:
        shape = self.model_.image_shape()
        if shape is None:
            return self._container.rebuild(columns)
        pixels = np.column_stack([values for _, values in columns]).reshape(-1, *shape)
        return pixels[:, 0] if shape[0] == 1 else np.moveaxis(pixels, 1, 3)

    def _encoder(self) -> str | None:
        return None if self.encoder is None else os.fspath(self.encoder)

    def _threads(self) -> int | None:
        return _settings.threads(self.n_jobs)
