"""A real Spark with executors in processes of their own, and small rows."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

#: Executors of the cluster, a core each.
EXECUTORS = 3
NEEDED = ("pyspark", "pyarrow", "pandas", "xgboost")


def lacking() -> str | None:
    """What Spark's tests cannot do without, if it is not here."""
    for module in NEEDED:
        if importlib.util.find_spec(module) is None:
            return f"there is no package {module}"
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else shutil.which("java")
    if java is None or subprocess.run([java, "-version"], capture_output=True).returncode != 0:
        return "there is no Java"
    return None


LACKING = lacking()
collect_ignore_glob: list[str] = []


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    if LACKING is not None:
        pytest.skip(f"flowgmm.spark is not tested: {LACKING}")
    import pyspark
    from pyspark.sql import SparkSession

    # The scripts that start executors are in the package; executors use this interpreter.
    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,768]")
        .appName("flowgmm tests")
        .config("spark.executor.memory", "640m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        .config("spark.log.level", "FATAL")
        .config("spark.network.timeout", "600s")  # of a busy machine
        .config("spark.sql.parquet.compression.codec", "uncompressed")  # Snappy does not load on every machine
        .getOrCreate()
    )
    yield session
    session.stop()


def rows(n: int = 600) -> Any:
    """A table of numbers, counts, cities, days and flags with gaps; every row knows its truth, 20 know their label."""
    import pandas

    generator = np.random.default_rng(0)
    truth = generator.integers(0, 2, n)
    frame = pandas.DataFrame(
        {
            "a": generator.normal(3.0 * truth, 1.0),
            "b": np.where(generator.random(n) < 0.1, np.nan, generator.normal(-2.0 * truth, 1.0)),
            "count": generator.integers(0, 9, n),
            "city": np.where(generator.random(n) < 0.1, None, generator.choice(["Rome", "Oslo", "Lima"], n)),
            "day": pandas.to_datetime("2024-01-01") + pandas.to_timedelta(generator.integers(0, 300, n), "D"),
            "flag": generator.random(n) < 0.3,
            "truth": truth.astype(float),
        }
    )
    frame["day"] = frame["day"].dt.date
    frame["y"] = np.where(np.arange(n) < 20, truth.astype(float), np.nan)
    return frame


FEATURES = ["a", "b", "count", "city", "day", "flag"]
SMALL: dict[str, Any] = {
    "preset": "paper", "steps": 30, "depth": 2, "hidden": [8], "batch_unlabelled": 64, "shards": 6, "sample_rows": 150,
}


@pytest.fixture(scope="session")
def table() -> Any:
    return rows()


@pytest.fixture(scope="session")
def frame(spark: Any, table: Any) -> Any:
    return to_spark(spark, table)


def to_spark(spark: Any, table: Any, partitions: int = 2) -> Any:
    """The table in Spark, null where a cell is missing, in so many partitions."""
    schema = "a double, b double, count long, city string, day date, flag boolean, truth double, y double"
    cells = table.astype(object).where(table.notna(), None)
    records = [tuple(record) for record in cells.itertuples(index=False)]
    return spark.createDataFrame(spark.sparkContext.parallelize(records, partitions), schema)


def classifier(**arguments: Any) -> Any:
    """A small classifier of the table's features."""
    from flowgmm.spark import FlowGMMClassifier

    return FlowGMMClassifier(**{"features_col": FEATURES, "label_col": "y", **SMALL, **arguments})
