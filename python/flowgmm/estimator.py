"""``FlowGMMClassifier``: the whole product as a scikit-learn estimator."""

from __future__ import annotations

import json
import os
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from . import _card, _labels, _native, _rows, _settings
from ._base import Floats
from ._insight import Insight
from ._latent import Latent
from ._progress import progress
from ._warnings import UnlabelledScoreWarning, warn_all


class Decision(NamedTuple):
    """What was decided about a fit, and why."""

    what: str
    choice: str
    why: str


class FlowGMMClassifier(ClassifierMixin, Insight, Latent):  # type: ignore[misc]
    """A classifier, density and generator for many rows and few labels.

    An invertible network maps rows to a latent space where every class is a Gaussian; labelled and unlabelled rows train it
    together by exact likelihood (FlowGMM, Izmailov et al., ICML 2020). By default settings are chosen from the data, and a
    forest, a logistic regression and naive Bayes predict beside the flow.

    Parameters
    ----------
    preset : {"auto", "paper", "paper-toy", "reference-code"}, default="auto"
        Where settings come from: chosen from the data, the paper's, those of the authors' notebooks, or of their code.
    pure_flow : bool, default=False
        Predict by the flow's own Bayes rule (eq. 5 of the paper), without trees beside it.
    steps : int, default=None
        Training steps; as many as the data need, if None.
    learning_rate, depth, hidden, coupling, prepare, batch_labelled, batch_unlabelled : default=None
        The most used settings by name; chosen from the data, if None. ``hidden`` is a list of widths.
    settings : dict, default=None
        Any other setting by its path: ``{"train.ema": 0.99, "architecture.means": ...}``. ``flowgmm fit --print-config``
        and ``settings_`` list all of them.
    columns : dict, default=None
        What columns are, where the program would guess otherwise: name to "numeric", "categorical", "date" or "ignore".
    text : str or list of str, default=None
        Columns of running text, to be embedded by ``encoder``.
    encoder : path, default=None
        Directory of a sentence encoder of the BERT family.
    image_size : (int, int), default=None
        Height and width that images are brought to; as they are, if None.
    unlabeled_label : default=-1
        The label that means unlabelled, besides None and NaN. None if -1 is a class.
    memory : int or str, default=None
        Bytes that a fit may take, such as "2G"; half of what is free, if None.
    checkpoint : path, default=None
        Directory that keeps the state of training; a fit of the same rows and settings goes on from there.
    random_state : int, RandomState, Generator or None, default=0
        Seed. The same seed gives the same bits at any number of threads, and those of the command.
    n_jobs : int, default=None
        Threads; one for each core if None or -1.
    verbose : int, default=1
        0 shows no progress. Otherwise a bar is shown in terminals and notebooks.

    Attributes
    ----------
    classes_ : array of the classes, sorted.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    decisions_ : list of Decision, what was chosen and why.
    history_ : list of dict, one for each epoch of training.
    settings_ : dict, every setting as it was used.
    fit_seconds_ : float.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from flowgmm import FlowGMMClassifier
    >>> X, truth = make_moons(300, noise=0.1, random_state=0)
    >>> y = truth.copy()
    >>> y[10:] = -1
    >>> model = FlowGMMClassifier(steps=100).fit(X, y)
    >>> bool(model.score(X, truth) > 0.8)
    True
    >>> new, classes = model.sample(3, class_=1)
    >>> new.shape, classes.tolist()
    ((3, 2), [1, 1, 1])
    """

    def __init__(
        self,
        *,
        preset: str = "auto",
        pure_flow: bool = False,
        steps: int | None = None,
        learning_rate: float | None = None,
        depth: int | None = None,
        hidden: Any = None,
        coupling: Any = None,
        prepare: Any = None,
        batch_labelled: int | None = None,
        batch_unlabelled: int | None = None,
        settings: Any = None,
        columns: Any = None,
        text: Any = None,
        encoder: Any = None,
        image_size: Any = None,
        unlabeled_label: Any = -1,
        memory: Any = None,
        checkpoint: Any = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 1,
    ) -> None:
        self.preset = preset
        self.pure_flow = pure_flow
        self.steps = steps
        self.learning_rate = learning_rate
        self.depth = depth
        self.hidden = hidden
        self.coupling = coupling
        self.prepare = prepare
        self.batch_labelled = batch_labelled
        self.batch_unlabelled = batch_unlabelled
        self.settings = settings
        self.columns = columns
        self.text = text
        self.encoder = encoder
        self.image_size = image_size
        self.unlabeled_label = unlabeled_label
        self.memory = memory
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Fitting, and files.

    def fit(self, X: Any, y: Any = None) -> FlowGMMClassifier:
        """Fits the model to rows of which few have a label.

        ``X`` is a table (numpy, pandas, polars, pyarrow, or the path of a file), or images ``[n, h, w]`` or
        ``[n, h, w, c]``, or the path of a folder of them. ``y`` has -1, None or NaN for rows without a label; of a file it is the
        name of the column that holds the labels, and of a folder None.
        """
        _settings.check(self)
        rows, container, labels, label = self._training_rows(X, y)
        options = {
            "preset": self.preset,
            "settings": _settings.gather(self, _settings.seed(self.random_state)),
            "declared": [] if self.columns is None else [(str(k), v) for k, v in self.columns.items()],
            "texts": _settings.texts(self),
            "encoder": None if self.encoder is None else os.fspath(self.encoder),
            "image_size": None if self.image_size is None else tuple(self.image_size),
            "memory": _settings.memory(self.memory),
            "checkpoint": None if self.checkpoint is None else (os.fspath(self.checkpoint), 30.0, True),
            "label": label,
            "threads": _settings.threads(self.n_jobs),
        }
        bar = progress(self.verbose)
        try:
            fit = _native.fit(rows, None if labels is None else labels.native(), options, bar)
        except BaseException:
            self._forget()  # a fit that was stopped leaves no half of a model
            raise
        finally:
            if bar is not None:
                bar.close()
        warn_all(fit.warnings(), stacklevel=3)
        self._fit = fit
        self.settings_ = json.loads(fit.settings())
        self.fit_seconds_ = fit.seconds()
        self._take(fit.model(), container, None if labels is None else labels.classes)
        return self

    def _training_rows(
        self, X: Any, y: Any
    ) -> tuple[_rows.Rows, _rows.Container, _labels.Labels | None, str | None]:
        if isinstance(X, (str, os.PathLike)):
            rows, container = _rows.read(X)
            if y is None or isinstance(y, str):
                return rows, container, None, y
            return rows, container, _labels.encode(y, self.unlabeled_label), None
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Give -1, None or NaN for rows "
                "without a label; flowgmm.Flow fits a density without any."
            )
        rows, container = self._read(X, reset=True)
        labels = _labels.encode(y, self.unlabeled_label)
        check_consistent_length(rows, labels.codes)
        return rows, container, labels, None

    def _take(self, model: _native.Model, container: _rows.Container, classes: npt.NDArray[Any] | None) -> None:
        """Makes a fitted model this estimator's."""
        names = model.classes()
        self.model_ = model
        self.classes_ = _labels.classes_of_names(names) if classes is None else classes
        mine = [_labels.class_name(value) for value in self.classes_]
        if sorted(mine) != sorted(names):
            raise ValueError(f"classes {mine} are read as {names}: two of them are the same number")
        self._order = np.asarray([names.index(name) for name in mine])
        self._container = container
        self._matches_by_name = False
        self._conformal = None
        self.decisions_ = [Decision(*decision) for decision in model.decisions()]
        self.history_: list[dict[str, Any]] = json.loads(model.history())
        if not hasattr(self, "n_features_in_"):
            columns = _users_columns(model)
            shape = model.image_shape()
            self.n_features_in_ = len(columns) if shape is None else int(np.prod(shape))
            if columns and columns != _rows.column_names(len(columns)):
                self.feature_names_in_ = np.asarray(columns, dtype=object)

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") or name.startswith("_")]:
            delattr(self, name)

    def save(self, path: Any) -> None:
        """Writes the model to the file that the ``flowgmm`` command and ``load`` read."""
        check_is_fitted(self)
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls, path: Any) -> FlowGMMClassifier:
        """The model in a file of ``save`` or of ``flowgmm fit``. Classes are whole numbers if all of their names are."""
        estimator = cls()
        estimator._take(_native.Model.load(os.fspath(path)), _rows.Container("pandas" if _has_pandas() else "numpy"), None)
        estimator._matches_by_name = True
        return estimator

    def export_onnx(self, path: Any) -> None:
        """Writes an ONNX file. Its input ``x`` holds the model's columns as double, NaN for missing cells in columns that had some
        in training, or images as bytes ``[n, c, h, w]`` in the size of ``model_.image_shape()``. Its outputs are ``label``,
        ``probabilities`` (in the order of the class names) and ``log_p``. Models of categories, dates or texts are refused.
        """
        check_is_fitted(self)
        self.model_.export_onnx(os.fspath(path))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_fit", None)  # the training rows are not part of the model
        return state

    # Predictions.

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        log_probs = self._score(X, "log_probs")
        position = np.empty(len(self._order), dtype=np.int64)
        position[self._order] = np.arange(len(self._order))
        return np.asarray(self.classes_[position[np.argmax(log_probs, axis=1)]])

    def predict_log_proba(self, X: Any) -> Floats:
        """log p(k | x), ``[n, n_classes]``, in the order of ``classes_``."""
        return self._in_order(self._score(X, "log_probs"))

    def predict_proba(self, X: Any) -> Floats:
        """p(k | x), ``[n, n_classes]``, in the order of ``classes_``."""
        return self._in_order(self._score(X, "probs"))

    def decision_function(self, X: Any) -> Floats:
        """Log-odds of the second class if there are two, ``[n]``, else log p(k | x)."""
        log_probs = self.predict_log_proba(X)
        return log_probs[:, 1] - log_probs[:, 0] if log_probs.shape[1] == 2 else log_probs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on the rows that have a label. Rows without one are skipped, with a warning."""
        vector = _labels.as_array(y)
        unlabelled = _labels.is_unlabelled(vector, self.unlabeled_label)
        predicted = self.predict(X)
        check_consistent_length(predicted, vector)
        if unlabelled.any():
            warnings.warn(
                f"{int(unlabelled.sum())} of {len(vector)} rows to score have no label and are skipped. Plain folds put such "
                "rows into test parts, and leave them out of training parts: use cv=flowgmm.LabelledStratifiedKFold()",
                UnlabelledScoreWarning,
                stacklevel=2,
            )
        if unlabelled.all():
            raise ValueError("no row has a label: there is nothing to score by")
        weights = None if sample_weight is None else np.asarray(sample_weight)[~unlabelled]
        truth = [_labels.class_name(value) for value in vector[~unlabelled]]
        right = [_labels.class_name(a) == b for a, b in zip(predicted[~unlabelled], truth)]
        return float(np.average(right, weights=weights))

    def score_samples(self, X: Any) -> Floats:
        """log p(x) of each row, in the units of its columns."""
        return np.asarray(self._score(X, "log_density"))

    def typicality(self, X: Any) -> Floats:
        """The share of rows like the training rows that are less likely than each row: near 0 is out of distribution."""
        return np.asarray(self._score(X, "typicality"))

    def boundary_distance(self, X: Any) -> Floats:
        """Latent distance of each row to the flow's decision boundary."""
        return np.asarray(self._score(X, "boundary"))

    def _html_repr(self) -> str:
        """What notebooks show: scikit-learn's diagram, and the model card of a fitted model."""
        diagram = str(estimator_html_repr(self))
        return diagram + _card.html(self.card(), self.decisions_) if hasattr(self, "model_") else diagram

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._html_repr()
        return bundle

    def _in_order(self, by_class: Floats) -> Floats:
        in_order = (self._order == np.arange(len(self._order))).all()
        return by_class if in_order else by_class[:, self._order]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _users_columns(model: _native.Model) -> list[str]:
    """The columns that a model reads, those of text among them, in the order of its features."""
    columns = model.input_columns()
    for text in model.text_columns():
        embedded = [name for name in columns if re.fullmatch(rf"{re.escape(text)}_\d+", name)]
        columns = [text if name == embedded[0] else name for name in columns if name not in embedded[1:]]
    return columns


def _has_pandas() -> bool:
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True
