"""The conventions of ``pyspark.ml``: Params, copies, persistence, pipelines, cross-validation.

They follow what pyspark's own tests ask of an estimator: every Param is documented and belongs to its stage, defaults survive a round
trip, copies are independent, ``fit`` takes a map of Params, and uids stay.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from .conftest import FEATURES, LACKING, SMALL, classifier

pytestmark = [
    pytest.mark.skipif(LACKING is not None, reason=f"flowgmm.spark is not tested: {LACKING}"),
    pytest.mark.filterwarnings("ignore"),
]


def params_of(stage: Any) -> dict[str, Any]:
    return {param.name: value for param, value in stage.extractParamMap().items()}


def test_every_param_is_documented_and_belongs_to_its_stage(spark: Any) -> None:
    from flowgmm.spark import FlowGMMClassifier, FlowGMMClassifierModel, LabelledAccuracyEvaluator

    for stage in (FlowGMMClassifier(), FlowGMMClassifierModel(), LabelledAccuracyEvaluator()):
        names = [param.name for param in stage.params]
        assert names == sorted(names)
        for param in stage.params:
            assert param.parent == stage.uid
            assert len(param.doc) > 10, param.name
            assert stage.hasParam(param.name) and stage.getParam(param.name) == param
            assert param.name in stage.explainParams()
    stage = FlowGMMClassifier()
    assert stage.getLabelCol() == "label" and stage.getFeaturesCols() == ["features"]
    assert stage.getOrDefault(stage.shards) == 8 and not stage.isDefined(stage.steps)
    with pytest.raises(TypeError, match="num_workers"):
        FlowGMMClassifier(num_workers="many")
    with pytest.raises(TypeError):
        FlowGMMClassifier("features")


def test_params_can_be_set_and_copies_are_independent(spark: Any) -> None:
    stage = classifier(steps=5)
    stage.setParams(steps=7, settings={"train.ema": 0.9}, features_col="vector")
    assert stage.getOrDefault(stage.steps) == 7 and stage.getFeaturesCol() == "vector"
    other = stage.copy({stage.steps: 9})
    assert other.uid == stage.uid
    assert other.getOrDefault(other.steps) == 9 and stage.getOrDefault(stage.steps) == 7
    other.set(other.depth, 3)
    assert stage.getOrDefault(stage.depth) == SMALL["depth"]


def test_an_estimator_survives_a_round_trip(spark: Any, tmp_path: Path) -> None:
    from flowgmm.spark import FlowGMMClassifier

    stage = classifier(settings={"train.ema": 0.9}, columns={"count": "numeric"}, prepare={"kind": "standardise"})
    stage.save(str(tmp_path / "stage"))
    back = FlowGMMClassifier.load(str(tmp_path / "stage"))
    assert back.uid == stage.uid and params_of(back) == params_of(stage)
    assert back._defaultParamMap.keys() == stage._defaultParamMap.keys()


@pytest.fixture(scope="module")
def pipeline(spark: Any, frame: Any) -> tuple[Any, Any]:
    """A pipeline and its model, fitted with other Params than its own."""
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import SQLTransformer

    stage = classifier()
    pipeline = Pipeline(stages=[SQLTransformer(statement="select *, 2 * a as twice from __THIS__"), stage])
    wider = {stage.featuresCols: ["twice", "b", "city"], stage.steps: 10}
    return pipeline, pipeline.fit(frame, wider)


def test_a_pipeline_survives_a_round_trip(spark: Any, frame: Any, pipeline: Any, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel

    before, model = pipeline
    before.save(str(tmp_path / "pipeline"))
    model.save(str(tmp_path / "model"))
    stage = Pipeline.load(str(tmp_path / "pipeline")).getStages()[1]
    assert params_of(stage) == params_of(before.getStages()[1])
    back = PipelineModel.load(str(tmp_path / "model"))
    assert back.stages[1].uid == model.stages[1].uid == before.getStages()[1].uid
    assert params_of(back.stages[1]) == params_of(model.stages[1])
    assert back.stages[1].digest() == model.stages[1].digest()
    assert back.stages[1].history[-1]["step"] == 10, "the map of Params was used"
    columns = ("prediction", "probability", "log_p", "typicality")
    assert back.transform(frame).select(*columns).collect() == model.transform(frame).select(*columns).collect()


def test_the_model_inside_is_the_one_file(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """The command and the Python estimator read what Spark wrote."""
    import os

    from flowgmm import FlowGMMClassifier

    model = pipeline[1].stages[1]
    model.write().overwrite().save(str(tmp_path / "spark"))
    file = tmp_path / "spark" / "model.flowgmm"
    assert file.read_bytes() == model.to_bytes()
    assert FlowGMMClassifier.load(file).feature_names_in_.tolist() == ["twice", "b", "city"]
    command = os.environ.get("FLOWGMM_BINARY")
    if command:
        shown = subprocess.run([command, "inspect", str(file)], capture_output=True, text=True)
        assert shown.returncode == 0 and "twice" in shown.stdout
    model.save_file(tmp_path / "again.flowgmm")
    assert (tmp_path / "again.flowgmm").read_bytes() == model.to_bytes()


def test_a_list_of_maps_is_a_list_of_models(frame: Any) -> None:
    stage = classifier(features_col=["a", "b"])
    models = stage.fit(frame, [{stage.steps: 2}, {stage.steps: 4, stage.seed: 1}])
    assert [model.history[-1]["step"] for model in models] == [2, 4]
    assert [model.uid for model in models] == [stage.uid, stage.uid]
    assert stage.getOrDefault(stage.steps) == SMALL["steps"], "the stage itself stays as it was"


def test_cross_validation_by_labelled_rows(spark: Any, frame: Any, tmp_path: Path) -> None:
    from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder

    from flowgmm.spark import LabelledAccuracyEvaluator

    stage = classifier(features_col=["a", "b"])
    grid = ParamGridBuilder().addGrid(stage.steps, [2, 40]).build()
    evaluator = LabelledAccuracyEvaluator(label_col="y")
    found = CrossValidator(estimator=stage, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=3).fit(frame)
    assert len(found.avgMetrics) == 2 and all(0.0 <= metric <= 1.0 for metric in found.avgMetrics)
    scored = found.transform(frame).where("y is not null").toPandas()
    assert evaluator.evaluate(found.transform(frame)) == pytest.approx((scored["y"] == scored["prediction"]).mean())
    with pytest.raises(ValueError, match="nothing to evaluate"):
        evaluator.evaluate(found.transform(frame.where("y is null")))
    found.save(str(tmp_path / "found"))
    back = CrossValidatorModel.load(str(tmp_path / "found"))
    assert back.uid == found.uid and back.avgMetrics == found.avgMetrics
    assert back.bestModel.digest() == found.bestModel.digest()
    assert params_of(back.getEstimator()) == params_of(stage)
    kept = [{param.name: value for param, value in maps.items()} for maps in back.getEstimatorParamMaps()]
    assert kept == [{"steps": 2}, {"steps": 40}]


def test_features_have_a_default_that_vectors_use(spark: Any) -> None:
    from flowgmm.spark import FlowGMMClassifier

    assert FlowGMMClassifier().getFeaturesCols() == ["features"]
    assert classifier().getFeaturesCols() == FEATURES
