"""Odd rows: a result, or an error that says what to do. No panic reaches Python."""

from __future__ import annotations

import numpy as np
import pytest

from flowgmm import FlowGMMClassifier, InternalError

from .conftest import few_labels, small, usual

pandas = pytest.importorskip("pandas")


def test_dtypes_orders_and_memory(moons):
    X, y, _ = moons
    scaled = np.round((X - X.min()) * 20)  # within int8 and uint8
    for dtype in ["int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "longdouble"]:
        assert small().fit(scaled.astype(dtype), y).predict(scaled.astype(dtype)).shape == (300,), dtype
    p = usual().fit(X, y).predict_proba(X)
    fortran = np.asfortranarray(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    strided = np.repeat(X, 2, axis=0)[::2]
    for other in (fortran, read_only, strided, X.astype(">f8"), X.tolist(), X.astype(object)):
        assert (usual().fit(other, y).predict_proba(other) == p).all()
    assert small().fit(X > 0.3, y).predict(X > 0.3).shape == (300,)


def test_object_columns_and_mixed_ones(moons):
    X, y, _ = moons
    mixed = X.astype(object)
    mixed[:, 1] = np.where(X[:, 1] > 0.3, "high", "low")
    mixed[5, 1] = None
    mixed[6, 0] = np.nan
    model = small().fit(mixed, y)
    assert model.predict(mixed).shape == (300,)
    frame = pandas.DataFrame({"a": X[:, 0], "b": [1 if v > 0 else "one" for v in X[:, 1]]})
    assert small().fit(frame, y).predict(frame).shape == (300,)
    frame["c"] = [{"no": "cell"}] * 300
    with pytest.raises(TypeError, match="string or a real number"):
        small().fit(frame, y)


def test_missing_cells(moons):
    X, y, truth = moons
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    model = FlowGMMClassifier(verbose=0).fit(gaps, y)
    assert np.isfinite(model.predict_proba(gaps)).all()
    assert model.score(X, truth) > 0.6
    assert np.isfinite(model.predict_proba([[np.nan, np.nan]])).all()
    masked = np.ma.masked_invalid(gaps)
    assert (small().fit(masked, y).predict(masked) == small().fit(gaps, y).predict(gaps)).all()


def test_labels_that_cannot_be_learnt_from(moons):
    X, y, truth = moons
    with pytest.raises(ValueError, match="no row has a label"):
        small().fit(X, np.full(300, -1))
    with pytest.raises(ValueError, match="one class"):
        small().fit(X, np.where(truth == 0, 0, -1))
    with pytest.raises(ValueError, match="requires y to be passed"):
        small().fit(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small().fit(X, y[:10])
    with pytest.raises(ValueError, match="Unknown label type"):
        small().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="several types"):
        small().fit(X, ["a", 1] * 150)
    with pytest.raises(ValueError, match="blank"):
        small().fit(X, ["", "a"] * 150)
    assert FlowGMMClassifier(verbose=0).fit(X, truth).score(X, truth) > 0.97  # all labelled


def test_rows_that_cannot_be_read(moons):
    X, y, _ = moons
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"X.toarray\(\)"):
        small().fit(sparse.csr_matrix(X), y)
    with pytest.raises(ValueError, match="infinity"):
        small().fit(np.where(X > 1.5, np.inf, X), y)
    with pytest.raises(ValueError, match="Complex data"):
        small().fit(X.astype(complex), y)
    with pytest.raises(ValueError, match="Expected 2D array"):
        small().fit(X[:, 0], y)
    for empty in (np.empty((0, 2)), pandas.DataFrame({"a": []})):
        with pytest.raises(ValueError, match="0 sample"):
            small().fit(empty, [])
    with pytest.raises(ValueError, match="0 feature"):
        small().fit(np.empty((300, 0)), y)
    with pytest.raises(ValueError, match="images"):
        small().fit(np.zeros((3, 4, 5, 6)), [0, 1, 1])
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(np.empty((0, 2)))
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(FileNotFoundError):
        small().fit("absent.csv", "label")


def test_twenty_rows_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=20) + 4 * (np.arange(20) % 2), np.ones(20)])
    y = few_labels(np.arange(20) % 2, 3)
    model = FlowGMMClassifier(verbose=0).fit(X, y)
    assert model.score(X, np.arange(20) % 2) > 0.8
    assert (model.inverse_transform(model.transform(X))[:, 1] == 1).all()


def test_a_file_of_twenty_lines(tmp_path):
    rng = np.random.default_rng(1)
    truth = np.arange(20) % 2
    width = rng.normal(size=20) + 4 * truth
    lines = [f"{w:.2f},{'ab'[k] if i < 6 else ''}" for i, (w, k) in enumerate(zip(width, truth))]
    (tmp_path / "few.csv").write_text("\n".join(["width,kind", *lines]) + "\n")
    model = FlowGMMClassifier(verbose=0).fit(tmp_path / "few.csv", "kind")
    assert model.classes_.tolist() == ["a", "b"]
    assert (model.predict(width[:, None]) == np.array(["a", "b"])[truth]).mean() > 0.8


def test_nothing_odd_is_a_panic(moons):
    X, y, _ = moons
    model = small().fit(X, y)
    odd = [[[1e300, -1e300]], [[1e-300, 0]], [[0.0, 1e30]], np.full((1, 2), np.nan)]
    for rows in odd:
        try:
            assert np.isfinite(model.predict_proba(rows)).all()
        except ValueError as error:
            assert "too far" in str(error) or "Rescale" in str(error)
        except InternalError as error:  # pragma: no cover
            pytest.fail(str(error))
