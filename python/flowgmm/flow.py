"""``Flow``: a normalizing flow by itself, for density estimation, samples and outlier scores.

>>> from sklearn.datasets import make_moons
>>> from flowgmm import Flow
>>> X, _ = make_moons(300, noise=0.1, random_state=0)
>>> flow = Flow(steps=100).fit(X)
>>> flow.log_prob(X).shape, flow.sample(5).shape
((300,), (5, 2))
>>> bool(flow.log_prob([[30.0, 0.0]])[0] < flow.log_prob(X).min())
True
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import DensityMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _native, _settings
from ._base import Fitted, Floats
from ._progress import progress
from ._warnings import warn_all


class Flow(TransformerMixin, DensityMixin, OutlierMixin, Fitted):  # type: ignore[misc]
    """An invertible map f of rows to a Gaussian, or to a mixture of several, fitted by exact likelihood without labels.

    Parameters
    ----------
    components : int, default=1
        Number of Gaussians in the latent space.
    steps, learning_rate, depth, hidden, coupling, prepare : default=None
        Settings by name, as those of ``FlowGMMClassifier``.
    settings : dict, default=None
        Any other setting by its path.
    columns : dict, default=None
        What columns are: name to "numeric", "categorical", "date" or "ignore".
    contamination : float, default=0.05
        Share of rows like the training rows that ``predict`` calls outliers.
    random_state, n_jobs, verbose :
        As those of ``FlowGMMClassifier``.
    """

    # What the checks and the settings of the classifier look at.
    preset = "auto"
    pure_flow = False
    batch_labelled = None
    batch_unlabelled = None
    text = None
    encoder = None
    memory = None
    unlabeled_label = None

    def __init__(
        self,
        components: int = 1,
        *,
        steps: int | None = None,
        learning_rate: float | None = None,
        depth: int | None = None,
        hidden: Any = None,
        coupling: Any = None,
        prepare: Any = None,
        settings: Any = None,
        columns: Any = None,
        contamination: float = 0.05,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None:
        self.components = components
        self.steps = steps
        self.learning_rate = learning_rate
        self.depth = depth
        self.hidden = hidden
        self.coupling = coupling
        self.prepare = prepare
        self.settings = settings
        self.columns = columns
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Flow:
        """Fits the density of a table's rows; ``y`` is not looked at."""
        _settings.check(self)
        if not _settings.is_whole(self.components) or self.components < 1:
            raise ValueError(f"components must be a positive whole number, got {self.components!r}")
        rows, container = self._read(X, reset=True)
        options = _settings.plain_options(self._threads())
        options["settings"] = _settings.gather(self, _settings.seed(self.random_state))
        options["declared"] = [] if self.columns is None else [(str(k), v) for k, v in self.columns.items()]
        bar = progress(self.verbose)
        try:
            fit = _native.density(rows, int(self.components), options, bar)
        finally:
            if bar is not None:
                bar.close()
        warn_all(fit.warnings(), stacklevel=3)
        self.model_ = fit.model()
        self.settings_ = json.loads(fit.settings())
        self.history_ = json.loads(self.model_.history())
        self._container = container
        return self

    def log_prob(self, X: Any) -> Floats:
        """log p(x) of each row, in the units of its columns."""
        return np.asarray(self._score(X, "log_density"))

    score_samples = log_prob

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of log p(x)."""
        return float(np.mean(self.log_prob(X)))

    def sample(self, n_samples: int = 1, temperature: float = 1.0, random_state: Any = 0) -> Any:
        """New rows, in the columns and the container of the training rows."""
        check_is_fitted(self)
        drawn = self.model_.sample(
            int(n_samples), None, float(temperature), _settings.seed(random_state), self._threads()
        )
        return self._rebuild(drawn[:-1])

    def encode(self, X: Any, layer: int | None = None) -> Floats:
        """z = f(x), or activations after so many layers."""
        check_is_fitted(self)
        return self.model_.encode(self._read(X, reset=False)[0], layer, None, self._threads())

    def decode(self, Z: Any, layer: int | None = None) -> Any:
        """x = f^-1(z)."""
        check_is_fitted(self)
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        return self._rebuild(self.model_.decode(Z, layer, self._threads()))

    def transform(self, X: Any) -> Floats:
        """``encode``, by scikit-learn's name."""
        return self.encode(X)

    def inverse_transform(self, Z: Any) -> Any:
        """``decode``, by scikit-learn's name."""
        return self.decode(Z)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the latent columns: z1, z2, ..."""
        check_is_fitted(self)
        return np.asarray([f"z{j + 1}" for j in range(self.model_.latent_dim())], dtype=object)

    def typicality(self, X: Any) -> Floats:
        """The share of rows like the training rows that are less likely than each row."""
        return np.asarray(self._score(X, "typicality"))

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """1 for rows like the training rows, -1 for outliers."""
        return np.where(self.typicality(X) < self.contamination, -1, 1)

    @property
    def layers(self) -> list[str]:
        """The layers of the flow, data side first."""
        check_is_fitted(self)
        return self.model_.layers()

    def save(self, path: Any) -> None:
        """Writes the model to the file that the ``flowgmm`` command reads."""
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")
