"""The flow itself: latent points, and new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _labels, _settings
from ._base import Fitted, Floats


class Latent(TransformerMixin, Fitted):  # type: ignore[misc]
    """Maps between rows and latent points."""

    def transform(self, X: Any, layer: int | None = None) -> Floats:
        """Latent points z = f(x), ``[n, latent dim]``, or activations after so many layers of the flow."""
        check_is_fitted(self)
        rows, _ = self._read(X, reset=False)
        return self.model_.encode(rows, layer, self._encoder(), self._threads())

    def inverse_transform(self, Z: Any, layer: int | None = None) -> Any:
        """Rows x = f^-1(z), in the columns and the container of the training rows; images as ``[n, h, w(, c)]``."""
        check_is_fitted(self)
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        if Z.ndim != 2:
            raise ValueError(f"latent points must be of the shape [n, {self.model_.latent_dim()}], got {list(Z.shape)}")
        return self._rebuild(self.model_.decode(Z, layer, self._threads()))

    def sample(
        self, n_samples: int = 1, class_: Any = None, temperature: float = 1.0, random_state: Any = 0
    ) -> tuple[Any, npt.NDArray[Any]]:
        """New rows in the columns and the container of the training rows, and their classes.

        ``class_`` draws one class only. ``temperature`` is the spread of the latent points: 1 is the model's density, less is more
        typical.
        """
        check_is_fitted(self)
        if not _settings.is_whole(n_samples) or n_samples < 0:
            raise ValueError(f"n_samples must be a whole number, got {n_samples!r}")
        name = None if class_ is None else _labels.class_name(class_)
        seed = _settings.seed(random_state)
        *columns, (_, drawn) = self.model_.sample(int(n_samples), name, float(temperature), seed, self._threads())
        position = {_labels.class_name(value): k for k, value in enumerate(self.classes_)}
        classes = self.classes_[np.asarray([position[name] for name in drawn], dtype=np.int64)]
        return self._rebuild(columns), classes

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the latent columns: z1, z2, ..."""
        check_is_fitted(self)
        return np.asarray([f"z{j + 1}" for j in range(self.model_.latent_dim())], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return self.model_.latent_dim()
