"""Times and memory of the Python package against the command and the library.

    python measure.py [--table TABLE.csv --label LABEL] [--rows N] [--rounds R] [--out DIRECTORY]

``fit``: a table is fitted by the command and by the estimator; without one, scikit-learn's digits with 50 labels.
``predict``: rows of 20 columns are predicted by the library, which is given them in its own layout, and by the estimator, turn
by turn; times are medians. ``memory``: a fresh process loads a model, predicts a few rows, then all; the peaks of its memory
before and after are the operating system's. Prints JSON, and writes it to ``DIRECTORY/measure.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from flowgmm import FlowGMMClassifier, _rows

DIM = 20
WARM = 10_000


def timed(work: Any) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def table(path: str | None, label: str) -> tuple[Any, Any]:
    import pandas as pd

    if path is not None:
        frame = pd.read_csv(path)
        return frame.drop(columns=label), frame[label].astype("Int64")
    from sklearn.datasets import load_digits

    digits = load_digits()
    y = pd.Series(digits.target, name="digit").astype("Int64")
    y[y.groupby(y).cumcount() >= 5] = pd.NA
    return pd.DataFrame(digits.data, columns=[f"x{j}" for j in range(64)]), y


def fits(path: str | None, label: str, rounds: int) -> dict[str, Any]:
    import pandas as pd

    X, y = table(path, label)
    array, name = X.to_numpy(dtype=np.float64), str(y.name)
    commands, estimators, equal = [], [], True
    with tempfile.TemporaryDirectory() as directory:
        csv, model_file = Path(directory) / "table.csv", Path(directory) / "m.flow"
        X.assign(**{name: y}).to_csv(csv, index=False)
        script = Path(sys.executable).parent / "flowgmm"
        command = [script, "fit", csv, "--label", name, "--quiet", "--force", "--model", model_file]
        for _ in range(rounds):
            commands.append(timed(lambda: subprocess.run(command, check=True, capture_output=True))[0])
            frame = pd.DataFrame(array, columns=X.columns)
            seconds, model = timed(lambda: FlowGMMClassifier(verbose=0).fit(frame, y))
            estimators.append(seconds)
            equal = equal and model_file.read_bytes() == model.model_.to_bytes()
    return {**compared("command", commands, estimators), "equal_bytes": equal}


def compared(other: str, others: list[float], ours: list[float]) -> dict[str, Any]:
    medians = statistics.median(others), statistics.median(ours)
    return {
        f"{other}_seconds": medians[0],
        "python_seconds": medians[1],
        "ratio": medians[1] / medians[0],
        "ratio_of_best": min(ours) / min(others),
        "rounds": len(ours),
    }


def small_model() -> FlowGMMClassifier:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2000)
    X = rng.normal(size=(2000, DIM)) + 2 * truth[:, None]
    return FlowGMMClassifier(steps=200, pure_flow=True, verbose=0).fit(X, np.where(np.arange(2000) < 60, truth, -1))


def predictions(model: FlowGMMClassifier, n: int, rounds: int) -> dict[str, Any]:
    X = np.random.default_rng(1).normal(size=(n, DIM))
    model.predict_proba(X[:WARM])
    library, python = [], []
    for _ in range(rounds):
        rows, _ = _rows.read(X)
        library.append(timed(lambda: model.model_.score(rows, ["probs"]))[0])
        del rows
        python.append(timed(lambda: model.predict_proba(X))[0])
    return {"rows": n, "columns": DIM, **compared("library", library, python)}


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss begins at the peak of the process that started this one
        [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def memory_here(path: str, n: int, copies: int) -> dict[str, Any]:
    """How far predictions raise the peak of this process, which has done nothing else; with so many copies more."""
    model = FlowGMMClassifier.load(path)
    X = np.random.default_rng(1).normal(size=(n, DIM))
    model.predict_proba(X[:WARM])
    before = peak()
    more = [X.copy() for _ in range(copies)]
    p = model.predict_proba(X)
    after = peak()
    del more
    copies_of_X = (after - before - p.nbytes) / X.nbytes
    return {
        "rows": n,
        "columns": DIM,
        "megabytes_of_X": X.nbytes / 1e6,
        "megabytes_of_results": p.nbytes / 1e6,
        "megabytes_before": before / 1e6,
        "megabytes_after": after / 1e6,
        "copies_of_X": copies_of_X,
    }


def memory(model: FlowGMMClassifier, n: int, copies: int = 0) -> dict[str, Any]:
    """``memory_here`` in a fresh process."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "m.flow")
        model.save(path)
        command = [sys.executable, __file__, "--memory-of", path, "--rows", str(n), "--copies", str(copies)]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Times and memory of the Python package.")
    parser.add_argument("--table", help="CSV file to fit")
    parser.add_argument("--label", default="label", help="its column of labels")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to predict")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["fit", "predict", "memory"])
    parser.add_argument("--out", type=Path, help="directory for measure.json, such as experiments/results/python")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--copies", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of is not None:
        print(json.dumps(memory_here(arguments.memory_of, arguments.rows, arguments.copies)))
        return
    found: dict[str, Any] = {"python": platform.python_version(), "numpy": np.__version__, "cores": os.cpu_count()}
    found["load_average"] = os.getloadavg()[0]
    wanted = ["fit", "predict", "memory"] if arguments.only is None else [arguments.only]
    if "fit" in wanted:
        found["fit"] = fits(arguments.table, arguments.label, arguments.rounds)
    model = small_model()
    if "predict" in wanted:
        found["predict"] = predictions(model, arguments.rows, arguments.rounds)
    if "memory" in wanted:
        found["memory"] = memory(model, arguments.rows)
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "measure.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
