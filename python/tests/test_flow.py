"""A flow by itself."""

from __future__ import annotations

import doctest
import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import flowgmm.flow
from flowgmm import Flow


def test_the_density_of_a_gaussian_is_found():
    rng = np.random.default_rng(0)
    truth = multivariate_normal([1.0, -2.0], [[2.0, 0.8], [0.8, 1.0]])
    X = truth.rvs(3000, random_state=rng)
    new = truth.rvs(1000, random_state=rng)
    flow = Flow(steps=400, depth=4, hidden=[16], verbose=0).fit(X)
    # Nats of a row: the truth is best, and a good fit loses little.
    gap = truth.logpdf(new).mean() - flow.log_prob(new).mean()
    assert -0.02 < gap < 0.1
    drawn = flow.sample(3000)
    assert np.abs(np.cov(drawn.T) - truth.cov_object.covariance).max() < 0.4


def test_rows_layers_outliers_and_files(moons, tmp_path):
    X, _, _ = moons
    flow = Flow(2, steps=100, depth=3, hidden=[8], verbose=0).fit(X)
    assert np.abs(flow.decode(flow.encode(X)) - X).max() < 1e-4
    assert np.abs(flow.decode(flow.encode(X, layer=2), layer=2) - X).max() < 1e-4
    assert len(flow.layers) == 3
    assert (flow.predict(X + 100) == -1).all() and (flow.predict(X) == 1).mean() > 0.8
    assert flow.score(X) == pytest.approx(flow.score_samples(X).mean())
    assert (pickle.loads(pickle.dumps(flow)).log_prob(X) == flow.log_prob(X)).all()
    flow.save(tmp_path / "f.flow")
    assert (tmp_path / "f.flow").stat().st_size > 1000
    with pytest.raises(ValueError, match="components"):
        Flow(0).fit(X)


def test_tables_with_categories():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y"], 200)})
    flow = Flow(steps=20, verbose=0).fit(frame)
    assert list(flow.sample(3).columns) == ["a", "b"]


def test_documentation():
    assert doctest.testmod(flowgmm.flow).failed == 0
