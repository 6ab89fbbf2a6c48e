"""Exports give what the model gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from flowgmm import FlowGMMClassifier

from .conftest import few_labels, small

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


# The flow is computed in single precision, summed up in another order: that moves a logit of magnitude L by a few times
# 1e-7 L, and a probability by at most a quarter of that.
PROBABILITIES = 1e-5
# log p is a sum of terms of both signs over all columns, so what it loses is relative to their magnitude, not to its own.
LOG_P = 1e-5


def run(path, X, dtype=np.float64):
    onnx.checker.check_model(str(path), full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities", "log_p"], {"x": np.asarray(X, dtype=dtype)})


def assert_predicts_as(model, path, X, terms, dtype=np.float64, rows=None):
    """Labels are equal, probabilities and log p nearly; ``terms`` is how many numbers of magnitude 1 log p is a sum of."""
    model.export_onnx(path)
    label, p, log_p = run(path, X, dtype)
    rows = X if rows is None else rows
    assert (np.asarray(label, dtype=model.classes_.dtype) == model.predict(rows)).all()
    assert np.abs(p - model.predict_proba(rows)).max() < PROBABILITIES
    assert np.abs(log_p - model.score_samples(rows)).max() < LOG_P * terms


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("pure_flow", [False, True])
def test_an_export_predicts_as_the_model(load, pure_flow, tmp_path):
    data = load()
    model = FlowGMMClassifier(steps=100, pure_flow=pure_flow, verbose=0).fit(data.data, few_labels(data.target, 8))
    assert_predicts_as(model, tmp_path / "m.onnx", data.data, terms=100)
    kept = {entry.key: entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert json.loads(kept["columns"]) == model.model_.input_columns()
    assert json.loads(kept["classes"]) == model.model_.classes()


@pytest.mark.parametrize("between", ["act-norm", "permutation", "linear"])
def test_layers_between_couplings(between, moons, tmp_path):
    X, y, _ = moons
    layer = {"kind": between} if between == "act-norm" else {"kind": between, "seed": 3}
    model = small(preset="auto", depth=3, steps=60, settings={"architecture.between": [layer]}).fit(X, y)
    assert between in model.model_.layers()
    assert_predicts_as(model, tmp_path / "m.onnx", X, terms=10)


def test_splines(tmp_path):
    iris = load_iris()
    spline = {"kind": "spline", "bins": 5, "bound": 2.5}  # some rows are outside
    model = small(preset="auto", steps=80, depth=3, coupling=spline).fit(iris.data, few_labels(iris.target, 10))
    assert "spline" in model.model_.layers()
    assert_predicts_as(model, tmp_path / "m.onnx", iris.data, terms=100)


@pytest.mark.parametrize("preset", ["auto", "paper"])
def test_missing_cells_are_imputed(preset, tmp_path):
    iris = load_iris()
    gaps = iris.data.copy()
    gaps[:, 3] = np.round(2 * gaps[:, 3])  # few values, which are codes too
    gaps[np.random.default_rng(0).random(gaps.shape) < 0.2] = np.nan
    gaps[:, 0] = iris.data[:, 0]  # complete
    gaps[7, 1:] = np.nan
    model = FlowGMMClassifier(preset=preset, steps=80, verbose=0).fit(gaps, few_labels(iris.target, 10))
    assert sum("(missing)" in feature for feature in model.model_.features()) == 3
    assert_predicts_as(model, tmp_path / "m.onnx", gaps, terms=100)


@pytest.mark.parametrize("covariance", ["diagonal", "full", "tied"])
def test_covariances_that_are_trained(covariance, tmp_path):
    iris = load_iris()
    trained = {"architecture.covariance": covariance, "architecture.trainable.covariances": True}
    model = small(steps=100, settings=trained).fit(iris.data, few_labels(iris.target, 10))
    assert_predicts_as(model, tmp_path / "m.onnx", iris.data, terms=100)


def digits(n=300, height=8, width=8, colour=False):
    """Digits as images, cut to a size, and few of their labels."""
    data = load_digits()
    images = (data.images * 15).astype(np.uint8)[:n, :height, :width]
    if colour:
        images = np.stack([images, 255 - images, images // 2], axis=3)
    return images, few_labels(data.target[:n], 6)


def stacked(images):
    """Images as an export takes them, ``[n, c, h, w]``."""
    return images[:, None] if images.ndim == 3 else np.moveaxis(images, 3, 1)


SHAPE = {"channels": 1, "height": 8, "width": 8}
NETS = {
    "light": None,
    "plain": {"kind": "plain", "shape": SHAPE, "stages": [{"couplings": 2, "hidden": 6}, {"couplings": 2, "hidden": 8}]},
    "residual": {"kind": "paper", "shape": SHAPE, "hidden": 4, "blocks": 2},
}


@pytest.mark.parametrize("net", NETS)
def test_images_are_exported(net, tmp_path):
    images, y = digits()
    settings = None if NETS[net] is None else {"architecture.image": NETS[net]}
    model = FlowGMMClassifier(steps=40, settings=settings, verbose=0).fit(images, y)
    kinds = {"light": "channel-mix", "plain": "channel-mix", "residual": "factor-out"}
    assert kinds[net] in model.model_.layers()
    assert_predicts_as(model, tmp_path / "m.onnx", stacked(images), 200, np.uint8, images)


def test_images_of_other_sizes_and_colours_are_exported(tmp_path):
    for size in ({"height": 7, "width": 6}, {"colour": True}):
        images, y = digits(150, **size)
        model = FlowGMMClassifier(steps=10, verbose=0).fit(images, y)
        assert_predicts_as(model, tmp_path / "m.onnx", stacked(images), 600, np.uint8, images)


def test_codes_additive_couplings_and_the_command(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 2
    X = np.column_stack([rng.normal(size=400) + 3 * truth, rng.integers(0, 4, 400), rng.normal(size=400)])
    model = small(preset="auto", steps=80, coupling={"kind": "additive"}).fit(X, few_labels(truth, 10))
    model.save(tmp_path / "m.flow")
    script = Path(sys.executable).parent / "flowgmm"
    subprocess.run([script, "export-onnx", tmp_path / "m.flow", "--out", tmp_path / "m.onnx"], check=True, capture_output=True)
    label, p, _ = run(tmp_path / "m.onnx", X)
    assert (np.asarray(label, dtype=int) == model.predict(X)).all()
    assert np.abs(p - model.predict_proba(X)).max() < PROBABILITIES


def test_what_cannot_be_exported_is_refused_with_its_reason(moons, tmp_path):
    X, y, _ = moons
    mixed = X.astype(object)
    mixed[:, 1] = np.where(X[:, 1] > 0.3, "high", "low")
    dates = X.astype(object)
    dates[:, 1] = [f"2024-03-{1 + i % 28:02}" for i in range(len(X))]
    for rows, reason in ((mixed, "categories"), (dates, "is a date")):
        with pytest.raises(ValueError, match=reason):
            small(steps=5).fit(rows, y).export_onnx(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
