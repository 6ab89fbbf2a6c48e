"""The command that the wheel brings, and equal bits on every path."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import flowgmm
from flowgmm import FlowGMMClassifier

from .conftest import small

pandas = pytest.importorskip("pandas")


def exact(text: str) -> pandas.DataFrame:
    """A table whose numbers are read to the last bit, which pandas' own parser does not do."""
    return pandas.read_csv(io.StringIO(text), float_precision="round_trip")


def command(*arguments: object, code: int = 0) -> str:
    script = Path(sys.executable).parent / "flowgmm"
    run = subprocess.run([script, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    return run.stdout if code == 0 else run.stderr


@pytest.fixture(scope="module")
def csv(moons, tmp_path_factory):
    X, y, _ = moons
    path = tmp_path_factory.mktemp("csv") / "moons.csv"
    frame = pandas.DataFrame(X, columns=["width", "height"])
    frame.assign(moon=np.where(y < 0, "", y.astype(str))).to_csv(path, index=False)
    return path, frame


def test_version_and_help():
    assert flowgmm.__version__ in command("--version")
    assert "fit" in command("--help")
    assert "error:" in command("predict", "absent.flow", "absent.csv", code=5)
    assert "unexpected argument" in command("--no-such-flag", code=2)


def test_the_command_and_python_write_the_same_model(csv, moons, tmp_path):
    path, frame = csv
    command("fit", path, "--label", "moon", "--model", tmp_path / "c.flow", "--steps", 60, "--seed", 3, "--quiet")
    y = pandas.Series(moons[1], name="moon")
    model = FlowGMMClassifier(steps=60, random_state=3, verbose=0).fit(frame, y)
    model.save(tmp_path / "p.flow")
    assert (tmp_path / "c.flow").read_bytes() == (tmp_path / "p.flow").read_bytes()


def test_the_rust_binary_and_python_write_the_same_model(csv, moons, tmp_path):
    binary = os.environ.get("FLOWGMM_BINARY")
    if not binary:
        pytest.skip("FLOWGMM_BINARY does not name the program of the Rust workspace")
    path, frame = csv
    arguments = ["fit", path, "--label", "moon", "--model", tmp_path / "b.flow", "--steps", 60, "--quiet", "--threads", 1]
    subprocess.run([binary, *map(str, arguments)], check=True, capture_output=True)
    model = FlowGMMClassifier(steps=60, verbose=0).fit(frame, pandas.Series(moons[1], name="moon"))
    assert (tmp_path / "b.flow").read_bytes() == model.model_.to_bytes()


def test_each_reads_the_models_of_the_other(csv, moons, tmp_path):
    path, frame = csv
    model = small(steps=100).fit(frame, pandas.Series(moons[1], name="moon"))
    model.save(tmp_path / "m.flow")
    written = exact(command("predict", tmp_path / "m.flow", path, "--digits", 17))
    assert (written["class"] == model.predict(frame)).all()
    p = model.predict_proba(frame)
    assert (written[["p_0", "p_1"]].to_numpy() == p).all()
    assert (written["log_p"].to_numpy() == model.score_samples(frame)).all()
    loaded = FlowGMMClassifier.load(tmp_path / "m.flow")
    assert (loaded.predict_proba(frame) == p).all()
    assert loaded.feature_names_in_.tolist() == ["width", "height"]
    evaluated = command("evaluate", tmp_path / "m.flow", path, "--json")
    assert '"n":10' in evaluated.replace(" ", "")


@pytest.mark.skipif(os.name != "posix", reason="signals as on Unix")
def test_ctrl_c_ends_the_command(csv, tmp_path):
    script = Path(sys.executable).parent / "flowgmm"
    arguments = ["fit", csv[0], "--label", "moon", "--model", tmp_path / "m.flow", "--steps", "1000000"]
    run = subprocess.Popen([script, *map(str, arguments)], stderr=subprocess.PIPE)
    time.sleep(3)
    run.send_signal(signal.SIGINT)
    try:
        # By its own code; or by the signal, if the machine is so slow that the command has not begun.
        assert run.wait(20) in (130, -signal.SIGINT)
    finally:
        run.kill()
    assert not (tmp_path / "m.flow").exists()
