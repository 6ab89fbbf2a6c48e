"""Interrupts, threads, memory, warnings, progress."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from flowgmm import FlowGMMClassifier, FlowGMMWarning
from flowgmm._progress import TerminalBar, describe, progress

from .conftest import few_labels, small


@pytest.mark.skipif(os.name != "posix", reason="signals as on Unix")
def test_ctrl_c_stops_a_fit_and_leaves_the_estimator_usable(moons):
    X, y, _ = moons
    model = small(steps=10**6)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    after = time.monotonic()
    timer.join()
    assert time.monotonic() - after < 0.1  # the fit ended after the signal, not before
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.set_params(steps=20).fit(X, y).predict(X).shape == (300,)


def test_ctrl_c_is_heard_within_a_fraction_of_a_second(moons):
    X, y, _ = moons
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(1.0, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        small(steps=10**6).fit(X, y)
    assert time.monotonic() - sent[0] < 1.0


def test_python_goes_on_while_a_fit_runs(moons):
    X, y, _ = moons
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    small(steps=1500).fit(X, y)
    done.set()
    thread.join()
    assert len(ticks) > 10
    assert np.max(np.diff(ticks)) < 0.5


def test_eight_threads_predict_the_same_from_one_model(fitted, moons):
    X = np.tile(moons[0], (20, 1))
    expected = fitted.predict_proba(X)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fitted.predict_proba(X), range(16)))
    assert all((p == expected).all() for p in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_a_child_of_fork_predicts(fitted, moons):
    X, _, _ = moons
    expected = fitted.predict(X).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0 if fitted.predict(X).sum() == expected else 1)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child hangs")


def resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="/proc")
def test_memory_does_not_grow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) + 4 * (np.arange(20) % 2)[:, None]
    y = few_labels(np.arange(20) % 2, 3)
    model = small(preset="paper", steps=2, depth=1)

    def cycle(count: int) -> None:
        for _ in range(count):
            model.fit(X, y).predict_proba(X)

    cycle(100)
    before = resident()
    cycle(2000)
    assert resident() - before < 20


@pytest.mark.skipif(os.name != "posix", reason="the resource module")
def test_predicting_copies_the_rows_once_at_most():
    example = Path(__file__).parent.parent / "examples" / "measure.py"
    if not example.exists():
        pytest.skip("examples are not beside the tests")
    spec = importlib.util.spec_from_file_location("measure", example)
    measure = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(measure)
    model = measure.small_model()
    # 48 MB of rows. What else a process needs, such as the growing array of results, is less than a third of that.
    assert measure.memory(model, 300_000)["copies_of_X"] < 1.35
    assert measure.memory(model, 300_000, copies=1)["copies_of_X"] > 1.65  # one copy too many would be seen


def test_warnings_of_the_library_are_python_warnings(moons):
    X, _, truth = moons
    y = np.full(300, -1)
    y[[np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]]] = [0, 1]
    with pytest.warns(FlowGMMWarning, match="one labelled row"):
        small().fit(X, y)


def test_progress_is_shown_to_people_only(monkeypatch, capsys):
    assert progress(0) is None
    assert progress(1) is None  # standard error is captured: no terminal
    assert describe("training", 5, 10, 1.25) == "training  50%  loss 1.250"
    bar = TerminalBar()
    bar("training", 5, 10, None)
    bar.close()
    assert "training  50%" in capsys.readouterr().err


def test_a_callback_that_fails_stops_the_fit(moons, monkeypatch):
    X, y, _ = moons

    class Broken:
        def __call__(self, *state):
            raise RuntimeError("the bar broke")

        def close(self):
            pass

    monkeypatch.setattr("flowgmm.estimator.progress", lambda verbose: Broken())
    with pytest.raises(RuntimeError, match="the bar broke"):
        FlowGMMClassifier(steps=10**6, depth=2, hidden=[8]).fit(X, y)
