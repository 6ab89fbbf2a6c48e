"""Fits in a barrier stage: the same bits for any number of workers and any partitions, and after a lost executor."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

from .conftest import FEATURES, LACKING, SMALL, classifier, rows, to_spark

pytestmark = [
    pytest.mark.skipif(LACKING is not None, reason=f"flowgmm.spark is not tested: {LACKING}"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def one(spark: Any, frame: Any) -> Any:
    """The model of one worker."""
    return classifier().fit(frame)


def test_the_number_of_workers_changes_no_bit(spark: Any, frame: Any, one: Any) -> None:
    for workers in (2, 3):
        assert classifier(num_workers=workers).fit(frame).digest() == one.digest(), workers


def test_one_machine_with_the_same_shards_has_the_same_bits(table: Any, one: Any) -> None:
    from flowgmm import FlowGMMClassifier

    settings = {"train.shards": SMALL["shards"], "sample": SMALL["sample_rows"]}
    own = {name: value for name, value in SMALL.items() if name not in ("shards", "sample_rows")}
    alone = FlowGMMClassifier(settings=settings, verbose=0, **own).fit(table[FEATURES], table["y"])
    assert alone.model_.to_bytes() == one.to_bytes()


def test_order_and_partitions_change_no_bit(spark: Any, table: Any, one: Any) -> None:
    """All labels are in one of five partitions, in another order, and some partitions have few rows."""
    backwards = to_spark(spark, table[::-1], 5)
    assert classifier(num_workers=2).fit(backwards).digest() == one.digest()


def test_settings_and_seed_are_another_fit(frame: Any, one: Any) -> None:
    assert classifier(seed=1).fit(frame).digest() != one.digest()
    assert classifier(shards=5).fit(frame).digest() != one.digest()
    assert any(what == "shards" for what, _, _ in one.decisions)


def test_more_workers_than_rows_beyond_the_sample(spark: Any, table: Any) -> None:
    """Every row is in the driver's sample: the workers' own partitions are empty, and they train all the same."""
    few = to_spark(spark, table[:90])
    alone = classifier().fit(few)
    assert classifier(num_workers=3).fit(few).digest() == alone.digest()


def test_automatic_settings_learn(frame: Any, table: Any) -> None:
    """The recipe's teachers, forest and calibration, from the driver's sample; alignment and soft targets in shards."""
    model = classifier(preset="auto", steps=150, sample_rows=200, num_workers=2, depth=4, hidden=[16]).fit(frame)
    scored = model.transform(frame).select("truth", "prediction").toPandas()
    assert (scored["truth"] == scored["prediction"]).mean() > 0.9
    assert any("forest" in choice or "trees" in choice for _, choice, _ in model.decisions)


def test_a_column_that_is_null_in_one_partition(spark: Any, table: Any) -> None:
    gaps = table.copy()
    gaps.loc[300:, "city"] = None
    gaps.loc[300:, "b"] = float("nan")
    first = classifier().fit(to_spark(spark, gaps))
    assert classifier(num_workers=2).fit(to_spark(spark, gaps[::-1], 3)).digest() == first.digest()


def test_too_few_slots_are_named(spark: Any, frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from flowgmm.spark import _slots

    monkeypatch.setattr(_slots, "_PATIENCE", 0.5)
    with pytest.raises(ValueError, match=r"num_workers=5 needs as many tasks at once.*slots for 3"):
        classifier(num_workers=5).fit(frame)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_workers": 7}, "more than shards=6"),
        ({"num_workers": 0}, "at least 1"),
        ({"label_col": "missing"}, "no label column 'missing'"),
        ({"features_col": ["a", "bb"]}, "no column 'bb'"),
        ({"features_col": ["a", "y"]}, "among the features"),
        ({"preset": "best"}, "preset must be one of"),
        ({"settings": {"train.noise": -1.0}}, "train.noise"),
        ({"columns": {"a": "colour"}}, "must be one of"),
    ],
)
def test_what_makes_no_sense_is_refused_before_work(frame: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(**arguments).fit(frame)


def test_rows_without_labels_or_of_one_class_are_refused(spark: Any, table: Any) -> None:
    unlabelled, one_class = table.copy(), table.copy()
    unlabelled["y"] = float("nan")
    one_class["y"] = one_class["y"].where(one_class["y"] == 1.0)
    with pytest.raises(ValueError, match="no row has a label"):
        classifier().fit(to_spark(spark, unlabelled))
    with pytest.raises(ValueError, match="one class"):
        classifier().fit(to_spark(spark, one_class))


def executors(application: str) -> list[int]:
    """The processes of an application's executors on this machine."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace") if process.name.isdigit() else ""
        except OSError:
            continue
        if "CoarseGrainedExecutorBackend" in command and application in command:
            found.append(int(process.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are looked for in /proc")
def test_a_killed_executor_changes_no_bit(spark: Any, frame: Any, tmp_path: Path) -> None:
    long = {"steps": 1500, "checkpoint_steps": 100}
    expected = classifier(**long).fit(frame).digest()
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if list(tmp_path.glob("*.checkpoint")):
                victim = executors(spark.sparkContext.applicationId)[0]
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = classifier(num_workers=3, checkpoint=str(tmp_path), **long).fit(frame)
    killer.join()
    assert killed, "there was no checkpoint, or no executor to kill"
    assert model.digest() == expected
    assert not list(tmp_path.glob("*.checkpoint")), "a finished fit leaves no checkpoint"


def test_an_interrupt_ends_the_fit_and_leaves_the_session(frame: Any, tmp_path: Path) -> None:
    threading.Thread(target=interrupt_at, args=(tmp_path,)).start()
    with pytest.raises(KeyboardInterrupt):
        classifier(steps=100_000, checkpoint=str(tmp_path), checkpoint_steps=50).fit(frame)
    assert list(tmp_path.glob("*.checkpoint")), "a later fit goes on from there"
    assert frame.count() == len(rows())


def interrupt_at(directory: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not list(directory.glob("*.checkpoint")):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
