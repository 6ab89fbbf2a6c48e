"""Scoring of DataFrames: the numbers of the library, in every type of column, on streams too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import FEATURES, LACKING, to_spark

pytestmark = [
    pytest.mark.skipif(LACKING is not None, reason=f"flowgmm.spark is not tested: {LACKING}"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def fitted(table: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """A model of the Python estimator, and its file."""
    from flowgmm import FlowGMMClassifier

    path = str(tmp_path_factory.mktemp("model") / "model.flowgmm")
    model = FlowGMMClassifier(steps=60, depth=2, hidden=[8], verbose=0).fit(table[FEATURES], table["y"])
    model.save(path)
    return model, path


@pytest.fixture(scope="module")
def model(fitted: Any, spark: Any) -> Any:
    from flowgmm.spark import FlowGMMClassifierModel

    return FlowGMMClassifierModel.load_file(fitted[1], label_type="double")


def test_predictions_are_those_of_the_library(frame: Any, table: Any, fitted: Any, model: Any) -> None:
    scored = model.transform(frame).toPandas()
    alone, X = fitted[0], table[FEATURES]
    assert scored.columns.tolist() == [*table.columns, "prediction", "probability", "log_p", "typicality"]
    assert np.array_equal(scored["prediction"], alone.predict(X).astype(float))
    assert np.array_equal(np.array([row.toArray() for row in scored["probability"]]), alone.predict_proba(X))
    assert np.array_equal(scored["log_p"], alone.score_samples(X))
    assert np.array_equal(scored["typicality"], alone.typicality(X))


def test_columns_are_chosen_by_params(frame: Any, model: Any) -> None:
    one = model.copy({model.probabilityCol: "", model.logPCol: "density", model.typicalityCol: ""})
    assert one.transform(frame).columns == [*frame.columns, "prediction", "density"]
    assert model.transform(frame).columns[-1] == "typicality", "a copy changes no Params of the original"
    with pytest.raises(ValueError, match="prediction already exists"):
        model.transform(one.transform(frame))


def test_missing_and_wrong_columns_are_named(frame: Any, model: Any) -> None:
    from pyspark.errors import PythonException

    with pytest.raises(ValueError, match="'city', 'flag'"):
        model.transform(frame.drop("city", "flag"))
    with pytest.raises(TypeError, match="'city' is of type map"):
        model.transform(frame.selectExpr("* except (city)", "map('a', 1) as city"))
    with pytest.raises(PythonException, match="column 'a'"):
        model.transform(frame.selectExpr("* except (a)", "'much' as a")).collect()


def test_decimals_are_scored_as_the_numbers_they_are(frame: Any, model: Any) -> None:
    decimals = frame.selectExpr("* except (count)", "cast(count as decimal(9, 2)) as count")
    scored = model.transform(decimals)
    assert scored.schema["count"].dataType.simpleString() == "decimal(9,2)", "the column itself stays"
    log_p = [row["log_p"] for row in model.transform(frame).orderBy("a").select("log_p").collect()]
    assert [row["log_p"] for row in scored.orderBy("a").select("log_p").collect()] == log_p


def test_a_worker_loads_what_it_needs_and_no_more() -> None:
    """Every Python worker of every executor loads this module before its first batch."""
    code = "import sys, flowgmm.spark._scoring; print([m for m in ('sklearn', 'pandas', 'pyspark.ml') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_an_empty_frame_has_no_predictions(frame: Any, model: Any) -> None:
    assert model.transform(frame.where("a > 1e9")).count() == 0


def test_a_stream_is_scored(spark: Any, frame: Any, model: Any, tmp_path: Path) -> None:
    frame.repartition(3).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    scored = model.transform(stream).select("truth", "prediction", "log_p")
    query = scored.writeStream.format("memory").queryName("scored").trigger(availableNow=True).start()
    query.awaitTermination()
    streamed = [row["log_p"] for row in spark.sql("select log_p from scored order by log_p").collect()]
    assert streamed == [row["log_p"] for row in model.transform(frame).orderBy("log_p").collect()]


def test_vectors_and_texts(spark: Any, table: Any) -> None:
    """A column of vectors as features, texts as labels, through a driver and a worker."""
    from pyspark.ml.feature import VectorAssembler

    from flowgmm.spark import FlowGMMClassifier

    named = to_spark(spark, table).selectExpr("*", "case y when 1 then 'right' when 0 then 'left' end as side")
    vectors = VectorAssembler(inputCols=["a", "count"], outputCol="features").transform(named)
    few = FlowGMMClassifier(label_col="side", preset="paper", steps=20, depth=2, hidden=[8], sample_rows=100)
    found = few.fit(vectors).transform(vectors)
    assert {row["prediction"] for row in found.select("prediction").distinct().collect()} <= {"left", "right"}
    assert found.schema["prediction"].dataType.simpleString() == "string"
