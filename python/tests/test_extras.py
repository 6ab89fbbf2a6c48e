"""Rivals and plots."""

from __future__ import annotations

import doctest
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import flowgmm.rivals
from flowgmm import LabelledStratifiedKFold
from flowgmm.rivals import DIGLM, M1M2, LabelSpreading, PiModel, Rival, names

from .conftest import few_labels


def test_rivals_are_estimators(moons):
    X, y, truth = moons
    assert LabelSpreading(verbose=0).fit(X, y).score(X, truth) > 0.9
    for rival in (PiModel(steps=20, verbose=0), M1M2(steps=20, verbose=0), DIGLM(steps=20, verbose=0)):
        p = clone(rival).fit(X, y).predict_proba(X)
        assert p.shape == (300, 2) and np.allclose(p.sum(axis=1), 1), rival
    assert {"label-spreading", "pi-model", "m1m2", "diglm"} <= set(names())
    with pytest.raises(ValueError, match="unknown learner 'oracle'"):
        Rival("oracle").fit(X, y)
    with pytest.raises(ValueError, match="cannot be trained for 5 steps"):
        LabelSpreading(steps=5).fit(X, y)


def test_rivals_are_pickled_cloned_and_sent_to_other_processes(moons, tmp_path):
    X, y, _ = moons
    for rival in (LabelSpreading(verbose=0), PiModel(steps=20, random_state=np.random.RandomState(3), verbose=0)):
        with pytest.raises(NotFittedError):
            pickle.loads(pickle.dumps(rival)).predict(X)
        p = rival.fit(X, y).predict_proba(X)
        assert (pickle.loads(pickle.dumps(rival)).predict_proba(X) == p).all()
        joblib.dump(rival, tmp_path / "rival.joblib")
        assert (joblib.load(tmp_path / "rival.joblib").predict_proba(X) == p).all()
        results = joblib.Parallel(n_jobs=2)(joblib.delayed(rival.predict_proba)(X) for _ in range(2))
        assert all((result == p).all() for result in results)
        with pytest.raises(NotFittedError):
            clone(rival).predict(X)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["a", "b"])
    of_frame = LabelSpreading(verbose=0).fit(frame, y)
    assert (pickle.loads(pickle.dumps(of_frame)).predict_proba(frame) == of_frame.predict_proba(frame)).all()


def test_rivals_read_named_columns_and_folds():
    from sklearn.model_selection import cross_val_score

    iris = load_iris(as_frame=True)
    y = few_labels(iris.target, 9)
    scores = cross_val_score(LabelSpreading(verbose=0), iris.data, y, cv=LabelledStratifiedKFold(3))
    assert scores.mean() > 0.7


def test_documentation_of_rivals():
    assert doctest.testmod(flowgmm.rivals).failed == 0


def test_plots(fitted, moons):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from flowgmm.plotting import plot_boundary, plot_latent, plot_reliability

    X, y, truth = moons
    for ax in (plot_latent(fitted, X, y), plot_boundary(fitted, X, y), plot_reliability(fitted, X, truth)):
        ax.figure.canvas.draw()
        assert ax.get_xlabel() and ax.has_data()
        matplotlib.pyplot.close(ax.figure)
