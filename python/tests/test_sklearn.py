"""The estimator among scikit-learn's own tools."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from flowgmm import (
    FlowGMMClassifier,
    LabelledStratifiedKFold,
    UnlabelledScoreWarning,
    labelled_accuracy,
    labelled_accuracy_scorer,
)

from .conftest import few_labels, small


def failed_checks(**parameters):
    """Checks of scikit-learn that fail, though they are not expected to."""
    estimator = FlowGMMClassifier(verbose=0, **parameters)
    expected = {} if estimator.unlabeled_label is None else {
        "check_classifiers_classes": "its classes are -1 and 1, and -1 means unlabelled by default",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert len(found) > 40
    assert {result["check_name"] for result in found if result["status"] == "xfail"} == set(expected)
    return [(result["check_name"], repr(result["exception"])) for result in found if result["status"] == "failed"]


def test_all_checks_of_scikit_learn_pass():
    assert failed_checks(unlabeled_label=None) == []


def test_all_checks_but_one_pass_where_minus_one_is_unlabelled():
    assert failed_checks() == []


def test_pipelines_and_columns_in_front():
    iris = load_iris(as_frame=True)
    X, y = iris.data, few_labels(iris.target, 8)
    pipeline = make_pipeline(StandardScaler(), small(preset="auto", steps=150)).fit(X, y)
    assert pipeline.score(X, iris.target) > 0.8
    X = X.assign(size=np.where(X.iloc[:, 2] > 3, "large", "small"))
    columns = ColumnTransformer([("size", OneHotEncoder(), ["size"])], remainder="passthrough")
    model = make_pipeline(columns, small(preset="auto", steps=150)).fit(X, y)
    assert model.predict(X).shape == (150,)
    latent = make_pipeline(StandardScaler(), small()).set_output(transform="pandas").fit(iris.data, y).transform(iris.data)
    assert list(latent.columns) == ["z1", "z2", "z3", "z4"]


def test_calibration_of_scikit_learn():
    iris = load_iris()
    model = CalibratedClassifierCV(small(), cv=2).fit(iris.data, iris.target)
    assert model.predict_proba(iris.data).shape == (150, 3)


def test_folds_hold_labelled_rows_only_and_train_on_all_others():
    y = few_labels(load_wine().target, 6)
    folds = list(LabelledStratifiedKFold(3, shuffle=True, random_state=0).split(np.zeros((len(y), 1)), y))
    assert len(folds) == 3
    unlabelled = set(np.flatnonzero(y < 0))
    for train, test in folds:
        assert (y[test] >= 0).all() and np.bincount(y[test]).tolist() == [2, 2, 2]
        assert unlabelled <= set(train) and not set(train) & set(test)
    assert sorted(np.concatenate([test for _, test in folds])) == np.flatnonzero(y >= 0).tolist()
    with pytest.raises(ValueError, match="no row has a label"):
        next(LabelledStratifiedKFold().split(np.zeros((3, 1)), [-1, -1, -1]))


def test_cross_validation_and_grid_search_count_labelled_rows():
    wine = load_wine()
    X, y = StandardScaler().fit_transform(wine.data), few_labels(wine.target, 10)
    folds = LabelledStratifiedKFold(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnlabelledScoreWarning)
        scores = cross_val_score(small(preset="auto", steps=150), X, y, cv=folds)
    assert scores.mean() > 0.7
    search = GridSearchCV(
        small(preset="auto", steps=100), {"depth": [1, 2], "settings": [None, {"train.ema": 0.9}]}, cv=folds, scoring=labelled_accuracy_scorer
    ).fit(X, y)
    assert set(search.best_params_) == {"depth", "settings"}
    assert search.score(X, wine.target) > 0.7


def test_plain_folds_are_warned_about():
    wine = load_wine()
    X, y = StandardScaler().fit_transform(wine.data), few_labels(wine.target, 10)
    with pytest.warns(UnlabelledScoreWarning, match="LabelledStratifiedKFold"):
        cross_val_score(small(), X, y, cv=2)


def test_accuracy_of_labelled_rows():
    assert labelled_accuracy(["a", None, "b"], ["a", "a", "a"]) == 0.5
    assert labelled_accuracy([0.0, np.nan, 1.0], [0, 1, 1]) == 1.0
    with pytest.raises(ValueError, match="nothing to score"):
        labelled_accuracy([-1], [0])


def test_metadata_routing():
    import sklearn

    iris = load_iris()
    y = few_labels(iris.target, 8)
    with sklearn.config_context(enable_metadata_routing=True):
        model = small().set_score_request(sample_weight=True)
        weights = np.ones(150)
        search = GridSearchCV(model, {"depth": [1, 2]}, cv=LabelledStratifiedKFold(2))
        search.fit(iris.data, y, sample_weight=weights)
    assert search.best_score_ > 0.3
