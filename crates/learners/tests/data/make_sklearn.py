"""What scikit-learn answers to small problems, for tests/sklearn.rs.

    python crates/semisup/tests/data/make_sklearn.py

writes sklearn.json next to this file: for each case the training rows x, their labels y (-1 where there is
none, over classes 0..n_classes), new rows t, and scikit-learn's probabilities for t (`probs`) and, where it has
such, for x (`training`). Made with scikit-learn 1.9.1; seeds are fixed, and numbers are rounded to five digits
before use, so that the file holds exactly what scikit-learn saw.
"""

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier


def blobs(n_classes, dim, spread, seed, n=120, n_new=40):
    """Gaussian classes of different widths that overlap."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, dim)) * 2
    y = np.arange(n + n_new) % n_classes
    x = centres[y] + rng.normal(size=(n + n_new, dim)) * spread * (1 + y[:, None] / n_classes)
    return np.round(x[:n], 5), y[:n], np.round(x[n:], 5)


def moons(seed, n=120, n_new=40):
    x, y = make_moons(n + n_new, noise=0.12, random_state=seed)
    return np.round(x[:n], 5), y[:n], np.round(x[n:], 5)


def hide(y, per_class, seed):
    """-1 but for `per_class` rows of each class."""
    rng = np.random.default_rng(seed)
    keep = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:per_class] for k in np.unique(y)])
    hidden = np.full_like(y, -1)
    hidden[keep] = y[keep]
    return hidden


def logistic(c):
    """By Newton's method: the default, L-BFGS, stops up to 3e-6 away from the one minimum both have."""
    return LogisticRegression(C=c, solver="newton-cholesky", tol=1e-14, max_iter=1000)


cases = []


def case(name, settings, x, y, t, probs, training=None):
    listed = {"name": name, "settings": settings, "n_classes": int(y.max()) + 1}
    listed |= {"x": x.tolist(), "y": y.tolist(), "t": t.tolist(), "probs": probs.tolist()}
    cases.append(listed | {"training": None if training is None else training.tolist()})


for k, unit, data in [(1, False, blobs(3, 2, 1.0, 0)), (6, False, blobs(4, 5, 1.5, 1)), (5, True, blobs(3, 8, 2.0, 2))]:
    x, y, t = data
    to = normalize if unit else lambda rows: rows
    model = KNeighborsClassifier(k, algorithm="brute").fit(to(x), y)
    case("neighbours", {"k": k, "unit": unit}, x, y, t, model.predict_proba(to(t)))

for c, data in [(1.0, blobs(3, 4, 1.5, 3)), (1.0, blobs(5, 2, 0.7, 4)), (10.0, blobs(3, 6, 1.0, 5))]:
    x, y, t = data
    model = logistic(c).fit(x, y)
    case("logistic", {"c": c}, x, y, t, model.predict_proba(t), model.predict_proba(x))

# With two classes scikit-learn penalises one vector of weights, the difference of our two: its C is twice ours.
x, y, t = blobs(2, 3, 1.5, 6)
model = logistic(2.0).fit(x, y)
case("logistic", {"c": 1.0}, x, y, t, model.predict_proba(t), model.predict_proba(x))

for kernel, alpha, data, seed in [
    ({"gamma": 20.0}, 0.2, moons(7), 7),
    ({"gamma": 2.0}, 0.9, blobs(4, 3, 0.8, 8), 8),
    ({"n_neighbors": 7}, 0.2, moons(9), 9),
    ({"n_neighbors": 5}, 0.9, blobs(3, 4, 1.0, 10), 10),
    ({"n_neighbors": 10}, 0.99, moons(11), 11),
]:
    x, y, t = data
    hidden = hide(y, 5, seed)
    name = "rbf" if "gamma" in kernel else "knn"
    model = LabelSpreading(kernel=name, alpha=alpha, max_iter=100_000, tol=1e-14, **kernel).fit(x, hidden)
    settings = {"alpha": alpha} | kernel
    case(f"spreading {name}", settings, x, hidden, t, model.predict_proba(t), model.label_distributions_)

for threshold, data, seed in [(0.9, blobs(3, 3, 1.0, 12), 12), (0.75, blobs(4, 5, 1.0, 13), 13), (0.8, blobs(3, 2, 1.0, 50), 50)]:
    x, y, t = data
    hidden = hide(y, 5, seed)
    base = logistic(1.0)
    model = SelfTrainingClassifier(base, threshold=threshold).fit(x, hidden)
    print("self-training:", model.termination_condition_, model.n_iter_, "labels", (model.transduction_ >= 0).sum())
    case("self-training", {"threshold": threshold}, x, hidden, t, model.predict_proba(t), model.predict_proba(x))

path = Path(__file__).with_name("sklearn.json")
text = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
path.write_text(f'{{"sklearn":"{sklearn.__version__}","cases":[\n{text}\n]}}\n')
print(f"{path.name}: {len(cases)} cases, {path.stat().st_size // 1000} kB, scikit-learn {sklearn.__version__}")
