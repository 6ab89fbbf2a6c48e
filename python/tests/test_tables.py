"""Any table gives the same model: numpy, pandas, polars, pyarrow, files."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import small, usual

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def table(moons):
    """Numbers, a category, a truth value, a date and gaps."""
    X, y, _ = moons
    n = len(X)
    width = X[:, 0].copy()
    width[::17] = np.nan
    rng = np.random.default_rng(0)
    return pandas.DataFrame(
        {
            "width": width,
            "height": X[:, 1],
            "side": np.where(X[:, 0] > 0.5, "east", "west"),
            "high": X[:, 1] > 0.2,
            "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    ), y


def test_every_library_gives_the_same_bits(table, tmp_path):
    frame, y = table
    model = usual().fit(frame, y)
    p = model.predict_proba(frame)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    others = {
        "polars": polars.from_pandas(frame),
        "lazy polars": polars.from_pandas(frame).lazy(),
        "pyarrow": pyarrow.Table.from_pandas(frame),
        "categorical": frame.assign(side=frame.side.astype("category")),
        "another index": frame.set_index(np.arange(len(frame)) + 1000),
        "arrow strings": frame.assign(side=frame.side.astype("string")),
    }
    for name, other in others.items():
        assert (usual().fit(other, y).predict_proba(other) == p).all(), name
        assert (model.predict_proba(other) == p).all(), name
    path = tmp_path / "table.csv"
    frame.assign(moon=np.where(y < 0, "", y.astype(str))).to_csv(path, index=False)
    of_file = usual().fit(str(path), "moon")
    assert (of_file.predict_proba(str(path)) == p).all()
    assert of_file.model_.label() == "moon"


def test_rows_come_back_as_they_came(table):
    frame, y = table
    model = small().fit(frame, y)
    new, _ = model.sample(20)
    assert list(new.columns) == list(frame.columns)
    assert set(new["side"]) <= {"east", "west"}
    back = model.inverse_transform(model.transform(frame))
    assert np.abs(back["height"] - frame["height"]).max() < 1e-3
    assert (back["side"] == frame["side"]).all()
    assert isinstance(small().fit(polars.from_pandas(frame), y).sample(2)[0], polars.DataFrame)
    assert isinstance(small().fit(pyarrow.Table.from_pandas(frame), y).sample(2)[0], pyarrow.Table)


def test_a_loaded_model_finds_its_columns_by_name(table, tmp_path):
    frame, y = table
    frame = frame.assign(same="constant", id=[f"row {i}" for i in range(len(frame))])
    model = small().fit(frame, y)
    model.save(tmp_path / "m.flow")
    loaded = type(model).load(tmp_path / "m.flow")
    p = model.predict_proba(frame)
    for other in (frame, frame[frame.columns[::-1]], frame.drop(columns=["id"]), polars.from_pandas(frame)):
        assert (loaded.predict_proba(other) == p).all()
    with pytest.raises(ValueError, match="width"):
        loaded.predict(frame.drop(columns=["width"]))
    with pytest.raises(ValueError, match="feature names should match"):  # fitted again, it is as strict as any estimator
        loaded.set_params(**small().get_params()).fit(frame, y).predict(frame.drop(columns=["id"]))


def test_columns_are_declared_and_named(table):
    frame, y = table
    model = small(columns={"day": "ignore"}).fit(frame, y)
    assert not any("day" in feature for feature in model.model_.features())
    with pytest.raises(ValueError, match="'sides'"):
        small(columns={"sides": "ignore"}).fit(frame, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"width": "breadth"}))
    twice = frame.set_axis(["a", "a", "b", "c", "d"], axis=1)
    for table in (twice, pyarrow.table([frame.height, frame.height], names=["a", "a"])):
        with pytest.raises(ValueError, match="'a'"):
            small().fit(table, y)
    for empty in (polars.DataFrame({"a": []}), polars.LazyFrame({"a": []}), pyarrow.table({"a": []})):
        with pytest.raises(ValueError, match="0 sample"):
            small().fit(empty, [])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(polars.from_pandas(frame)[:0])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (small().fit(frame[["width", "height"]], y).predict(frame[["width", "height"]].to_numpy())).shape == (300,)


def test_without_pyarrow_pandas_is_read_all_the_same(table, monkeypatch):
    import builtins

    frame, y = table
    model = small().fit(frame, y)
    p = model.predict_proba(frame)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert (model.predict_proba(frame) == p).all()


def test_series_of_labels_bring_their_name(table):
    frame, y = table
    labels = pandas.Series(y, name="moon")
    assert small().fit(frame, labels).model_.label() == "moon"
    nullable = pandas.Series(y, dtype="Int64").replace(-1, pandas.NA)
    gaps = polars.Series("moon", [None if label < 0 else int(label) for label in y])
    arrow = pyarrow.array([None if label < 0 else str(label) for label in y])
    p = small().fit(frame, y).predict_proba(frame)
    for other in (nullable, gaps, arrow):
        assert (small().fit(frame, other).predict_proba(frame) == p).all(), type(other)


def test_set_output_gives_pandas(table):
    frame, y = table
    z = small().set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(z.columns)[0] == "z1" and len(z) == len(frame)
