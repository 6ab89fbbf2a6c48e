"""Exports give what the model gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from flowgmm import FlowGMMClassifier

from .conftest import few_labels, small

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def run(path, X):
    onnx.checker.check_model(str(path))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(["label", "probabilities", "log_p"], {"x": np.asarray(X, dtype=np.float64)})


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("pure_flow", [False, True])
def test_an_export_predicts_as_the_model(load, pure_flow, tmp_path):
    data = load()
    model = FlowGMMClassifier(steps=100, pure_flow=pure_flow, verbose=0).fit(data.data, few_labels(data.target, 8))
    model.export_onnx(tmp_path / "m.onnx")
    label, p, log_p = run(tmp_path / "m.onnx", data.data)
    assert (np.asarray(label, dtype=int) == model.predict(data.data)).all()
    # Single precision in the flow, rounded in another order.
    assert np.abs(p - model.predict_proba(data.data)).max() < 1e-4
    assert np.abs(log_p - model.score_samples(data.data)).max() < 1e-2


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
    assert np.abs(p - model.predict_proba(X)).max() < 1e-4


def test_what_cannot_be_exported_is_refused_with_its_reason(moons, tmp_path):
    X, y, _ = moons
    mixed = X.astype(object)
    mixed[:, 1] = np.where(X[:, 1] > 0.3, "high", "low")
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    cases = [(mixed, "categories", {}), (gaps, "missing cells", {})]
    cases.append((X, "splines", {"coupling": {"kind": "spline", "bins": 4, "bound": 3.0}}))
    for rows, reason, parameters in cases:
        with pytest.raises(ValueError, match=reason):
            small(steps=5, **parameters).fit(rows, y).export_onnx(tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
