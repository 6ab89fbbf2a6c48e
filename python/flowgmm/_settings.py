"""Parameters of the estimator as settings of the library, checked."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

PRESETS = ("auto", "paper", "paper-toy", "reference-code")
KINDS = ("numeric", "categorical", "date", "ignore")

# Parameters that are settings, and the paths of these.
NAMED = {
    "steps": "train.steps",
    "learning_rate": "train.schedule.peak",
    "batch_labelled": "train.batch_labelled",
    "batch_unlabelled": "train.batch_unlabelled",
    "depth": "architecture.depth",
    "hidden": "architecture.hidden",
    "coupling": "architecture.coupling",
    "prepare": "prepare",
}


def gather(estimator: Any, seed: int) -> list[tuple[str, str]]:
    """Settings that differ from the preset's, by path, as JSON; later ones win."""
    gathered: dict[str, Any] = {"seed": seed}
    if estimator.pure_flow:
        gathered["forest"] = None
    for name, path in NAMED.items():
        value = getattr(estimator, name)
        if value is not None:
            gathered[path] = list(value) if isinstance(value, tuple) else value
    if estimator.settings is not None:
        if not isinstance(estimator.settings, Mapping):
            raise TypeError(f"settings must be a dict of paths and values, got {type(estimator.settings).__name__}")
        gathered.update(flat(estimator.settings))
    return [(path, to_json(path, value)) for path, value in gathered.items()]


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """``{"train": {"steps": 5}}`` as ``{"train.steps": 5}``; what has a ``kind`` is one value."""
    paths: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and "kind" not in value and "method" not in value and value:
            paths.update(flat(value, f"{prefix}{key}."))
        else:
            paths[f"{prefix}{key}"] = value
    return paths


def to_json(path: str, value: Any) -> str:
    """A value of a setting."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray):
            return value.tolist()
        raise TypeError(f"setting {path}: {type(value).__name__} is not a number, text, list or dict")

    return json.dumps(value, default=plain)


def check(estimator: Any) -> None:
    """An error for parameters that make no sense, before any work."""
    if estimator.preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {estimator.preset!r}")
    for name in ("steps", "depth", "batch_labelled", "batch_unlabelled"):
        value = getattr(estimator, name)
        if value is not None and not (is_whole(value) and value > 0):
            raise ValueError(f"{name} must be a positive whole number or None, got {value!r}")
    if estimator.learning_rate is not None and not (is_number(estimator.learning_rate) and estimator.learning_rate > 0):
        raise ValueError(f"learning_rate must be a positive number or None, got {estimator.learning_rate!r}")
    if estimator.columns is not None:
        if not isinstance(estimator.columns, Mapping):
            raise TypeError("columns must be a dict of column names and kinds")
        for name, kind in estimator.columns.items():
            if kind not in KINDS:
                raise ValueError(f"columns[{name!r}] must be one of {', '.join(KINDS)}, got {kind!r}")
    if estimator.text is not None and estimator.encoder is None:
        raise ValueError("text needs encoder=DIRECTORY: a sentence encoder of the BERT family")
    threads(estimator.n_jobs)
    memory(estimator.memory)


def texts(estimator: Any) -> list[str]:
    """The columns of running text."""
    if estimator.text is None:
        return []
    return [estimator.text] if isinstance(estimator.text, str) else list(estimator.text)


def threads(n_jobs: Any) -> int | None:
    """Threads to compute with; None for one on each core. Results do not depend on it."""
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")  # joblib tells its workers so how many they may use
        return int(limit) if limit.isdigit() and int(limit) > 0 else None
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, or None, got {n_jobs!r}")
    cores = os.cpu_count() or 1
    return min(int(n_jobs), 4 * cores + 16) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def memory(value: Any) -> int | None:
    """Bytes that a fit may take: a number, or a text such as ``"2G"``."""
    if value is None:
        return None
    if isinstance(value, str):
        units = {"K": 1, "M": 2, "G": 3, "T": 4}
        text = value.strip().upper().removesuffix("B").removesuffix("I")
        power = units.get(text[-1:], 0)
        try:
            value = float(text[:-1] if power else text) * 1024.0**power
        except ValueError:
            raise ValueError(f"memory must be a number of bytes or a text such as '2G', got {value!r}") from None
    if not is_number(value) or value < 100 * 1024**2:
        raise ValueError(f"memory must be at least 100 MiB, got {value!r}")
    return int(value)


def seed(random_state: Any) -> int:
    """The seed of a ``random_state``: a number is itself; others draw one."""
    if is_whole(random_state):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    if random_state is None:
        return int(np.random.mtrand._rand.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**31 - 1))
    raise ValueError(f"{random_state!r} cannot be used to seed a numpy.random.RandomState instance")


def is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def plain_options(n_threads: int | None) -> dict[str, Any]:
    """How rows are read, if nothing is said about them."""
    return {
        "preset": "auto",
        "settings": [],
        "declared": [],
        "texts": [],
        "encoder": None,
        "image_size": None,
        "memory": None,
        "checkpoint": None,
        "label": None,
        "threads": n_threads,
    }
