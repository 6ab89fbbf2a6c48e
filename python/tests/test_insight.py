"""Calibration, prediction sets, labels to ask for, pages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_moons

from flowgmm import Page

from .conftest import few_labels, small


@pytest.fixture(scope="module")
def split():
    X, y = make_moons(900, noise=0.2, random_state=1)
    return X, y


@pytest.fixture(scope="module")
def model(split):
    X, truth = split
    return small(preset="auto", steps=300).fit(X[:300], few_labels(truth[:300], 10))


def test_calibration_lowers_the_loss_and_keeps_classes(model, split):
    X, truth = split
    held = X[300:600], truth[300:600]
    before = model.predict(X)
    model.calibrate(*held)
    assert model.calibration_["after"]["nll"] <= model.calibration_["before"]["nll"] + 1e-12
    assert (model.predict(X) == before).all()


def test_prediction_sets_cover_the_truth(model, split):
    X, truth = split
    model.calibrate(X[300:600], truth[300:600])
    sets = model.predict_set(X[600:], alpha=0.1)
    assert sets.dtype == bool and sets.shape == (300, 2)
    covered = sets[np.arange(300), truth[600:]].mean()
    # 300 calibration and 300 test rows: a standard deviation of 2.4%.
    assert 0.82 < covered < 0.98
    assert model.predict_set(X[600:], alpha=0.3).sum() <= sets.sum()
    with pytest.raises(ValueError, match="alpha"):
        model.predict_set(X, alpha=0)
    with pytest.raises(ValueError, match="calibrate"):
        small().fit(X[:300], few_labels(truth[:300])).predict_set(X)


def test_rows_to_label_next_are_distinct_and_far_from_labelled_ones(model, split):
    X, _ = split
    rows = model.label_next(X[600:], 7)
    assert len(set(rows.tolist())) == 7 and rows.max() < 300
    known = X[600:][rows]
    again = model.label_next(X[600:], 7, X_labelled=known)
    assert not set(again.tolist()) & set(rows.tolist())


def test_explanations_are_numbers_and_a_page(model, split, tmp_path):
    X, truth = split
    page = model.explain(X[600:], few_labels(truth[600:], 60), out_of_distribution=X + 20)
    assert isinstance(page, Page)
    assert page["out_of_distribution"]["best_auroc"] > 0.9
    assert len(page["trust"]) == page["rows"] == 300
    assert "Trust cards" in page.html and page._repr_html_().startswith("<iframe")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert "trust" in repr(page)


def test_reports_say_whether_unlabelled_rows_help(model, split):
    X, truth = split
    page = model.report(X[600:], truth[600:], name="moons")
    assert "Does the unlabelled data help?" in page.html
    assert page["overview"]["n_unlabelled"] == 280
    import pickle

    with pytest.raises(ValueError, match="fit again"):
        pickle.loads(pickle.dumps(model)).report()


def test_notebooks_show_the_model_card(model):
    assert model.card()["classes"] == ["0", "1"]
    page = model._repr_mimebundle_()["text/html"]
    assert "Model card" in page and "20 labelled, 280 unlabelled" in page
    assert "Model card" not in small()._repr_mimebundle_()["text/html"]
