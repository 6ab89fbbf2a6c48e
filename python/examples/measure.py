"""Times and memory of the Python package against the command and the library: ``python measure.py [TABLE.csv LABEL]``.

The table is fitted by the command and by the estimator; without one, scikit-learn's digits with 50 labels. A million rows of
20 columns are predicted by the library alone and by the estimator, and the memory of the latter is measured. Prints JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from flowgmm import FlowGMMClassifier, _rows

PAGE = 4096


def resident() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def peak_while(work: Any) -> tuple[float, Any]:
    """Megabytes at most while some work is done, above those before it."""
    before, most, done = resident(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            most[0] = max(most[0], resident())

    thread = threading.Thread(target=watch)
    thread.start()
    result = work()
    done.set()
    thread.join()
    return most[0] - before, result


def timed(work: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def table() -> tuple[pd.DataFrame, pd.Series]:
    if len(sys.argv) == 3:
        frame = pd.read_csv(sys.argv[1])
        return frame.drop(columns=sys.argv[2]), frame[sys.argv[2]].astype("Int64")
    digits = load_digits()
    y = pd.Series(digits.target, name="digit").astype("Int64")
    rank = y.groupby(y).cumcount()
    y[rank >= 5] = pd.NA
    return pd.DataFrame(digits.data, columns=[f"x{j}" for j in range(64)]), y


def fits() -> dict[str, float]:
    X, y = table()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "table.csv"
        X.assign(**{str(y.name): y}).to_csv(path, index=False)
        command = [str(Path(sys.executable).parent / "flowgmm"), "fit", str(path), "--label", str(y.name), "--quiet"]
        by_command, _ = timed(lambda: subprocess.run([*command, "--model", f"{directory}/m.flow"], check=True, capture_output=True))
        array = X.to_numpy(dtype=np.float64)
        by_python, model = timed(lambda: FlowGMMClassifier(verbose=0).fit(pd.DataFrame(array, columns=X.columns), y))
        equal = Path(f"{directory}/m.flow").read_bytes() == model.model_.to_bytes()
    return {"command_seconds": by_command, "python_seconds": by_python, "ratio": by_python / by_command, "equal_bytes": equal}


def predictions(n: int = 1_000_000, dim: int = 20) -> dict[str, float]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2000)
    few = rng.normal(size=(2000, dim)) + 2 * truth[:, None]
    y = np.where(np.arange(2000) < 60, truth, -1)
    model = FlowGMMClassifier(steps=200, pure_flow=True, verbose=0).fit(few, y)
    X = rng.normal(size=(n, dim))
    model.predict_proba(X[:10_000])
    rows, _ = _rows.read(X)
    library, _ = timed(lambda: model.model_.score(rows, ["log_probs"]))
    del rows
    python, _ = timed(lambda: model.predict_proba(X))
    memory, p = peak_while(lambda: model.predict_proba(X))
    return {
        "library_seconds": library,
        "python_seconds": python,
        "ratio": python / library,
        "megabytes_of_X": X.nbytes / 1e6,
        "megabytes_of_results": p.nbytes / 1e6,
        "megabytes_above": memory,
    }


if __name__ == "__main__":
    print(json.dumps({"fit": fits(), "predict": predictions()}, indent=2))
