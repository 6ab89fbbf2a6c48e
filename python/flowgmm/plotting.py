"""Pictures of a fitted model, with matplotlib (``pip install flowgmm[plot]``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._labels import known_codes

if TYPE_CHECKING:
    from .estimator import FlowGMMClassifier

__all__ = ["plot_boundary", "plot_latent", "plot_reliability"]

GRID = 150
BINS = 10


def plot_latent(model: FlowGMMClassifier, X: Any, y: Any = None, ax: Any = None) -> Any:
    """Latent points of rows by predicted class, rows with a label as triangles, and the means of the Gaussians as crosses.

    Two dimensions are shown as they are, more by the two principal directions of the points. Returns the axes.
    """
    ax = _axes(ax)
    z, predicted = model.transform(X), model.predict(X)
    means, _ = model.model_.means()
    z, means = _two_dimensions(np.asarray(z), np.asarray(means))
    for k, value in enumerate(model.classes_):
        rows = predicted == value
        ax.scatter(z[rows, 0], z[rows, 1], s=8, alpha=0.5, color=f"C{k % 10}", label=str(value))
    if y is not None:
        codes = known_codes(y, model.classes_, model.unlabeled_label).codes
        for k in range(len(model.classes_)):
            rows = codes == k
            ax.scatter(z[rows, 0], z[rows, 1], s=40, marker="^", color=f"C{k % 10}", edgecolor="black")
    ax.scatter(means[:, 0], means[:, 1], marker="x", color="black")
    ax.set_xlabel("z, first direction")
    ax.set_ylabel("z, second direction")
    ax.legend(title="predicted")
    return ax


def plot_boundary(model: FlowGMMClassifier, X: Any, y: Any = None, ax: Any = None) -> Any:
    """Regions of the predicted classes of a model of two numeric columns, and rows. Returns the axes."""
    if model.n_features_in_ != 2:
        raise ValueError(f"plot_boundary is for models of two columns; this one has {model.n_features_in_}")
    ax = _axes(ax)
    points = np.asarray(X, dtype=np.float64)
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    margin = 0.1 * (high - low)
    sides = [np.linspace(a, b, GRID) for a, b in zip(low - margin, high + margin)]
    across, up = np.meshgrid(*sides)
    grid = np.column_stack([across.ravel(), up.ravel()])
    rows = type(X)(grid, columns=list(X.columns)) if hasattr(X, "columns") else grid
    p = model.predict_proba(rows)
    codes = p.argmax(axis=1).reshape(GRID, GRID)
    ax.contourf(across, up, codes, levels=np.arange(len(model.classes_) + 1) - 0.5, alpha=0.25,
                colors=[f"C{k % 10}" for k in range(len(model.classes_))])
    predicted = model.predict(X)
    for k, value in enumerate(model.classes_):
        chosen = predicted == value
        ax.scatter(points[chosen, 0], points[chosen, 1], s=8, alpha=0.6, color=f"C{k % 10}", label=str(value))
    if y is not None:
        known = known_codes(y, model.classes_, model.unlabeled_label).codes
        for k in range(len(model.classes_)):
            chosen = known == k
            ax.scatter(points[chosen, 0], points[chosen, 1], s=40, marker="^", color=f"C{k % 10}", edgecolor="black")
    names = getattr(model, "feature_names_in_", ["x0", "x1"])
    ax.set_xlabel(str(names[0]))
    ax.set_ylabel(str(names[1]))
    ax.legend(title="predicted")
    return ax


def plot_reliability(model: FlowGMMClassifier, X: Any, y: Any, ax: Any = None) -> Any:
    """Accuracy of rows by their confidence, in ten bins, against the diagonal of perfect calibration. Returns the axes."""
    ax = _axes(ax)
    codes = known_codes(y, model.classes_, model.unlabeled_label).codes
    p = model.predict_proba(X)
    known = codes >= 0
    confidence, right = p[known].max(axis=1), p[known].argmax(axis=1) == codes[known]
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    for bin_ in np.unique(bins):
        rows = bins == bin_
        ax.plot(confidence[rows].mean(), right[rows].mean(), "o", color="C0", markersize=4 + 12 * rows.mean())
    ax.plot([0, 1], [0, 1], ":", color="grey")
    ax.set_xlabel("confidence")
    ax.set_ylabel("accuracy")
    ax.set_xlim(1 / len(model.classes_) - 0.05, 1.02)
    return ax


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install flowgmm[plot]") from error
    return plt.subplots()[1]


def _two_dimensions(z: Any, means: Any) -> tuple[Any, Any]:
    if z.shape[1] == 1:
        return np.column_stack([z, np.zeros(len(z))]), np.column_stack([means, np.zeros(len(means))])
    if z.shape[1] == 2:
        return z, means
    centre = z.mean(axis=0)
    _, _, directions = np.linalg.svd(z - centre, full_matrices=False)
    return (z - centre) @ directions[:2].T, (means - centre) @ directions[:2].T
