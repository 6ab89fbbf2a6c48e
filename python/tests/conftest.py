"""Small rows, small flows: what every test begins with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

from flowgmm import FlowGMMClassifier


def small(**parameters: Any) -> FlowGMMClassifier:
    """A flow that is fitted in a fraction of a second: the paper's, unless the test is about more."""
    settings: dict[str, Any] = {"preset": "paper", "steps": 30, "depth": 2, "hidden": [8], "verbose": 0, "n_jobs": 2}
    return FlowGMMClassifier(**{**settings, **parameters})


def usual(**parameters: Any) -> FlowGMMClassifier:
    """What users get, but for the number of steps: settings chosen from the data, teachers, folds, a forest."""
    return FlowGMMClassifier(**{"steps": 40, "verbose": 0, **parameters})


def few_labels(truth: Any, each: int = 5) -> Any:
    """-1 but for the first rows of every class."""
    truth = np.asarray(truth)
    y = np.full(len(truth), -1)
    for k in np.unique(truth):
        rows = np.flatnonzero(truth == k)[:each]
        y[rows] = truth[rows]
    return y


@pytest.fixture(scope="session")
def moons() -> tuple[Any, Any, Any]:
    X, truth = make_moons(300, noise=0.1, random_state=0)
    return X, few_labels(truth), truth


@pytest.fixture(scope="session")
def fitted(moons: Any) -> FlowGMMClassifier:
    X, y, _ = moons
    return small(preset="auto", steps=200).fit(X, y)
