"""What the estimator promises of itself: methods, shapes, files, seeds."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from flowgmm import FlowGMMClassifier

from .conftest import few_labels, small, usual


def test_default_settings_learn_moons(moons):
    X, y, truth = moons
    model = FlowGMMClassifier(verbose=0).fit(X, y)
    assert model.score(X, truth) > 0.9  # 0.913 to 0.917 with four seeds
    assert {decision.what for decision in model.decisions_} >= {"prediction"}
    assert model.history_[-1]["step"] == model.settings_["train"]["steps"]


def test_probabilities_classes_and_densities_agree(fitted, moons):
    X, _, _ = moons
    p = fitted.predict_proba(X)
    assert p.shape == (300, 2) and np.allclose(p.sum(axis=1), 1)
    assert (fitted.classes_[p.argmax(axis=1)] == fitted.predict(X)).all()
    assert np.allclose(np.log(p), fitted.predict_log_proba(X))
    assert ((fitted.decision_function(X) > 0) == (fitted.predict(X) == 1)).all()
    assert np.isfinite(fitted.score_samples(X)).all()
    assert fitted.score_samples(X + 50).max() < fitted.score_samples(X).min()
    assert fitted.typicality(X + 50).max() < 0.05
    assert (fitted.boundary_distance(X) >= 0).all()


def test_the_flow_inverts(fitted, moons):
    X, _, _ = moons
    z = fitted.transform(X)
    assert z.shape == (300, 2)
    assert list(fitted.get_feature_names_out()) == ["z1", "z2"]
    assert np.abs(fitted.inverse_transform(z) - X).max() < 1e-4
    h = fitted.transform(X, layer=1)
    assert np.abs(fitted.inverse_transform(h, layer=1) - X).max() < 1e-4
    with pytest.raises(ValueError, match="layer"):
        fitted.transform(X, layer=99)


def test_samples_are_of_the_class_and_of_the_seed(fitted, moons):
    X, y = fitted.sample(40, class_=1, random_state=3)
    assert X.shape == (40, 2) and set(y) == {1}
    assert (fitted.predict(X) == 1).mean() > 0.8
    assert (fitted.sample(40, class_=1, random_state=3)[0] == X).all()
    assert not (fitted.sample(40, class_=1, random_state=4)[0] == X).all()
    cold, _ = fitted.sample(200, class_=0, temperature=0.1)
    warm, _ = fitted.sample(200, class_=0)
    assert fitted.score_samples(cold).mean() > fitted.score_samples(warm).mean()
    with pytest.raises(ValueError, match="no class '7'"):
        fitted.sample(1, class_=7)
    with pytest.raises(ValueError, match="temperature"):
        fitted.sample(1, temperature=-1)


def test_string_classes_and_other_marks_of_unlabelled_rows(moons):
    X, y, truth = moons
    names = np.array(["lower", "upper"])
    as_text = np.where(y < 0, None, names[np.maximum(y, 0)])
    as_nan = np.where(y < 0, np.nan, y.astype(float))
    marked = np.where(y < 0, "?", names[np.maximum(y, 0)])
    by_number = small().fit(X, y)
    by_text = small().fit(X, as_text)
    assert by_text.classes_.tolist() == ["lower", "upper"]
    assert (by_text.predict_proba(X) == by_number.predict_proba(X)).all()
    assert (small().fit(X, as_nan).predict_proba(X) == by_number.predict_proba(X)).all()
    assert small().fit(X, as_nan).classes_.tolist() == [0.0, 1.0]
    other = small(unlabeled_label="?").fit(X, marked)
    assert (other.predict(X) == by_text.predict(X)).all()
    minus = small(unlabeled_label=None).fit(X, 2 * truth - 1)
    assert minus.classes_.tolist() == [-1, 1]


def test_classes_keep_scikit_learns_order_whatever_the_library_calls_them(moons):
    X, y, _ = moons
    tens = np.where(y < 0, -1, np.where(y == 0, 10, 9))
    model = small(preset="auto", steps=100).fit(X, tens)
    assert model.classes_.tolist() == [9, 10]
    assert (model.classes_[model.predict_proba(X).argmax(axis=1)] == model.predict(X)).all()
    known = y >= 0
    assert (model.predict(X[known]) == tens[known]).mean() > 0.8


def test_the_seed_decides_and_threads_do_not(moons):
    X, y, _ = moons
    first = usual(random_state=7, n_jobs=2).fit(X, y).predict_proba(X)
    assert (usual(random_state=7, n_jobs=1).fit(X, y).predict_proba(X) == first).all()
    assert not (usual(random_state=8).fit(X, y).predict_proba(X) == first).all()
    drawn = small(random_state=np.random.RandomState(7)).fit(X, y)
    again = small(random_state=np.random.RandomState(7)).fit(X, y)
    assert (drawn.predict_proba(X) == again.predict_proba(X)).all()


def test_files_pickles_and_joblib_keep_the_predictions(fitted, moons, tmp_path):
    X, _, _ = moons
    p = fitted.predict_proba(X)
    fitted.save(tmp_path / "m.flow")
    loaded = FlowGMMClassifier.load(tmp_path / "m.flow")
    assert (loaded.predict_proba(X) == p).all()
    assert loaded.classes_.tolist() == [0, 1] and loaded.n_features_in_ == 2
    assert (pickle.loads(pickle.dumps(fitted)).predict_proba(X) == p).all()
    joblib.dump(fitted, tmp_path / "m.joblib")
    assert (joblib.load(tmp_path / "m.joblib").predict_proba(X) == p).all()
    results = joblib.Parallel(n_jobs=2)(joblib.delayed(fitted.predict_proba)(X) for _ in range(2))
    assert all((result == p).all() for result in results)
    with pytest.raises(FileNotFoundError):
        FlowGMMClassifier.load(tmp_path / "absent.flow")
    (tmp_path / "damaged.flow").write_bytes(b"no model")
    with pytest.raises(ValueError, match="not a usable model file"):
        FlowGMMClassifier.load(tmp_path / "damaged.flow")


def test_parameters_are_checked_and_cloned(moons):
    X, y, _ = moons
    model = small(preset="auto", settings={"train.ema": 0.9}, random_state=3)
    assert clone(model).get_params() == model.get_params()
    assert model.fit(X, y).settings_["train"]["ema"] == 0.9
    wrong = [
        ({"preset": "best"}, "preset"),
        ({"steps": 0}, "steps"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"memory": "12"}, "memory"),
        ({"columns": {"x0": "colour"}}, "colour"),
        ({"text": "body"}, "encoder"),
        ({"settings": {"train.stepz": 3}}, "stepz"),
        ({"settings": {"train.dropout": 2}}, "train.dropout"),
        ({"random_state": "seven"}, "seed"),
    ]
    for parameters, word in wrong:
        with pytest.raises(ValueError, match=word):
            small(**parameters).fit(X, y)
    with pytest.raises(TypeError):
        FlowGMMClassifier(stepz=3)


def test_the_papers_preset_predicts_by_bayes_rule(moons):
    X, y, _ = moons
    model = FlowGMMClassifier(preset="paper", steps=50, verbose=0).fit(X, y)
    assert model.settings_["forest"] is None
    assert model.settings_["architecture"]["depth"] == 5  # of rows in the plane


def test_an_unfitted_estimator_says_so(moons):
    for call in ["predict", "predict_proba", "transform", "score_samples", "label_next", "explain"]:
        with pytest.raises(NotFittedError):
            getattr(small(), call)(moons[0])


def test_images_are_rows_too():
    digits = load_digits()
    images = (digits.images * 15).astype(np.uint8)[:300]
    y = few_labels(digits.target[:300], 4)
    model = small(preset="auto", steps=20, depth=None, hidden=None).fit(images, y)
    assert model.predict_proba(images).shape == (300, 10)
    new, classes = model.sample(4, class_=3)
    assert new.shape == (4, 8, 8) and set(classes) == {3}
    z = model.transform(images[:5])
    assert np.abs(model.inverse_transform(z) - images[:5]).max() < 1
    with pytest.raises(ValueError, match="pixel values"):
        small().fit(images.astype(float) - 300, y)
