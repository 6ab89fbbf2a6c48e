"""Columns of text, folders of images, and fits that go on where one was stopped."""

from __future__ import annotations

import os
import pickle
import signal
import struct
import threading
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

from flowgmm import FlowGMMClassifier

from .conftest import few_labels, small
from .encoders import write_encoder

pandas = pytest.importorskip("pandas")

TOPICS = {"money": "oil price market falls rises".split(), "sport": "team wins game goal world".split()}


@pytest.fixture(scope="module")
def news() -> tuple[pandas.DataFrame, np.ndarray, np.ndarray]:
    """160 headlines of two topics, four of ten labelled; one has no text."""
    rng = np.random.default_rng(0)
    truth = np.array(list(TOPICS))[np.arange(160) % 2]
    bodies = [" ".join(["the", *rng.choice(TOPICS[topic], 6), "a", *rng.choice(TOPICS[topic], 2)]) for topic in truth]
    frame = pandas.DataFrame({"body": bodies, "length": rng.integers(0, 13, 160) + 0.5})
    frame.loc[33, "body"] = None
    return frame, np.where(np.arange(160) % 10 < 4, truth, None), truth


def test_a_column_of_text_is_embedded(news, tmp_path):
    frame, y, truth = news
    encoder = write_encoder(tmp_path / "encoder")
    model = FlowGMMClassifier(text="body", encoder=encoder, steps=200, verbose=0).fit(frame, y)
    assert model.model_.text_columns() == ["body"]
    assert "body_0" in model.model_.features() and "length" in model.model_.features()
    assert model.score(frame, truth) > 0.9
    p = model.predict_proba(frame)
    assert (pickle.loads(pickle.dumps(model)).predict_proba(frame) == p).all()
    model.save(tmp_path / "m.flow")
    loaded = FlowGMMClassifier.load(tmp_path / "m.flow")  # remembers where the encoder was
    assert (loaded.predict_proba(frame) == p).all()
    polars = pytest.importorskip("polars")
    assert (model.predict_proba(polars.from_pandas(frame)) == p).all()
    with pytest.raises(ValueError, match="'body' is text"):
        model.export_onnx(tmp_path / "m.onnx")
    encoder.rename(tmp_path / "elsewhere")
    with pytest.raises((ValueError, FileNotFoundError), match="encoder"):
        loaded.predict_proba(frame)
    loaded.set_params(encoder=tmp_path / "elsewhere")
    assert (loaded.predict_proba(frame) == p).all()
    with pytest.raises(ValueError, match="another sentence encoder"):
        loaded.set_params(encoder=write_encoder(tmp_path / "stranger", seed=6)).predict_proba(frame)


def test_what_is_wrong_with_a_column_of_text_is_said(news, tmp_path):
    frame, y, _ = news
    encoder = write_encoder(tmp_path / "encoder")
    with pytest.raises(ValueError, match="'bodies'"):
        small(text="bodies", encoder=encoder).fit(frame, y)
    with pytest.raises((ValueError, FileNotFoundError), match="nowhere"):
        small(text="body", encoder=tmp_path / "nowhere").fit(frame, y)
    model = small(text=["body"], encoder=encoder, preset="auto").fit(frame, y)
    with pytest.raises(ValueError, match="body"):
        model.predict(frame[["length"]])


def write_png(path: Path, pixels: np.ndarray) -> None:
    """A grey PNG file."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels.astype(np.uint8))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    content = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + content)


def bars(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of 8 x 8 with a bright bar that lies or stands."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 40, (n, 8, 8)).astype(np.uint8)
    truth = np.arange(n) % 2
    for image, stands in zip(images, truth):
        at = rng.integers(1, 6)
        image[(slice(None), slice(at, at + 2)) if stands else slice(at, at + 2)] += 180
    return images, truth


def test_a_folder_of_images_is_fitted_and_predicted(tmp_path):
    images, truth = bars(120, 0)
    names = np.array(["lying", "standing"])
    for i, (image, k) in enumerate(zip(images, truth)):
        folder = tmp_path / "images" / (names[k] if i < 20 else "unlabelled")
        folder.mkdir(parents=True, exist_ok=True)
        write_png(folder / f"{i:03}.png", image)
    model = FlowGMMClassifier(steps=60, verbose=0).fit(tmp_path / "images")
    assert model.classes_.tolist() == ["lying", "standing"]
    assert model.n_features_in_ == 64
    new, new_truth = bars(60, 1)
    assert (model.predict(new) == names[new_truth]).mean() > 0.9
    for i, image in enumerate(new):
        (tmp_path / "new" / "unlabelled").mkdir(parents=True, exist_ok=True)
        write_png(tmp_path / "new" / "unlabelled" / f"{i:03}.png", image)
    assert (model.predict_proba(str(tmp_path / "new")) == model.predict_proba(new)).all()
    with pytest.raises(FileNotFoundError, match="absent"):
        model.predict(tmp_path / "absent")


def test_a_fit_goes_on_from_its_checkpoint(moons, tmp_path):
    X, y, _ = moons
    whole = small(steps=60).fit(X, y)
    kept = small(steps=60, checkpoint=tmp_path / "kept").fit(X, y)
    assert (kept.predict_proba(X) == whole.predict_proba(X)).all()
    assert kept.model_.to_bytes() == whole.model_.to_bytes()


@pytest.mark.skipif(os.name != "posix", reason="signals as on Unix")
def test_a_fit_that_was_interrupted_ends_as_if_it_was_not(moons, tmp_path):
    X, y, _ = moons
    steps = 4000
    began = time.monotonic()
    whole = small(steps=steps).fit(X, y)
    seconds = time.monotonic() - began
    timer = threading.Timer(seconds / 2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    model = small(steps=steps, checkpoint=tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    timer.join()
    assert list((tmp_path / "kept").iterdir()), "an interrupt leaves a checkpoint"
    again = model.fit(X, y)
    assert (again.predict_proba(X) == whole.predict_proba(X)).all()
    # Of other rows, the checkpoint is refused and not overwritten.
    if list((tmp_path / "kept").iterdir()):
        with pytest.raises(ValueError, match="checkpoint"):
            small(steps=steps, checkpoint=tmp_path / "kept").fit(X + 1, few_labels(y))
