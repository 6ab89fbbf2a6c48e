"""What scikit-learn answers to small supervised problems, for tests/supervised.rs.

    python crates/learners/tests/data/make_supervised.py

writes supervised.json next to this file: for each case the training rows x, their classes y, new rows t, and
scikit-learn's answer for t. Trees draw the order in which they try columns, so ties between columns are broken at random:
whole trees have one column, and cases of boosting are searched until several random states agree. Forests are random;
their answer is the mean of so many trees that it can be compared with another mean. Made with scikit-learn 1.9.1; rows are
rounded to four digits before use, so that the file holds exactly what scikit-learn saw.
"""

import json
from pathlib import Path

import numpy as np
import sklearn
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

FOREST = 5000

cases = []


def blobs(n_classes, dim, spread, seed, n=60, n_new=30, digits=4):
    """Gaussian classes of different widths that overlap."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n_classes, dim)) * 1.5
    y = np.arange(n + n_new) % n_classes
    x = centres[y] + rng.normal(size=(n + n_new, dim)) * spread * (1 + y[:, None] / n_classes)
    x = np.round(x, digits)
    return x[:n], y[:n], x[n:]


def case(name, x, y, t, answer, **more):
    listed = {"name": name, "n_classes": int(y.max()) + 1, "x": x.tolist(), "y": y.tolist(), "t": t.tolist()}
    cases.append(listed | {"answer": np.round(answer, 8).tolist()} | more)


# One digit makes rows of different classes equal, so that some leaves are mixed.
for n_classes, digits, seed in [(2, 4, 0), (3, 1, 1), (4, 1, 2)]:
    x, y, t = blobs(n_classes, 1, 1.0, seed, n=90, digits=digits)
    weights = np.round(np.random.default_rng(seed).uniform(0, 3, len(y)))
    trees = DecisionTreeClassifier(random_state=0)
    case("tree", x, y, t, trees.fit(x, y).predict_proba(t))
    case("tree", x, y, t, trees.fit(x, y, sample_weight=weights).predict_proba(t), weights=weights.tolist())

for n_classes, dim, seed in [(2, 6, 3), (3, 9, 4)]:
    x, y, t = blobs(n_classes, dim, 2.0, seed)
    x[:, 0], t[:, 0] = np.round(x[:, 0]) % 2, np.round(t[:, 0]) % 2  # as a one-hot column
    for name, forest in [("extra trees", ExtraTreesClassifier), ("random forest", RandomForestClassifier)]:
        case(name, x, y, t, forest(FOREST, random_state=0).fit(x, y).predict_proba(t), n_trees=FOREST)

for n_classes, dim, rounds in [(2, 3, 100), (3, 1, 40), (4, 1, 30)]:
    for seed in range(1000):
        x, y, t = blobs(n_classes, dim, 1.6, seed, n=80)
        answers = [
            GradientBoostingClassifier(n_estimators=rounds, random_state=state).fit(x, y).predict_proba(t)
            for state in range(6)
        ]
        if max(np.abs(answer - answers[0]).max() for answer in answers) < 1e-9:
            print("boosting:", n_classes, "classes, seed", seed)
            case("boosting", x, y, t, answers[0], rounds=rounds)
            break
    else:
        raise SystemExit("no case of boosting without ties")

for n_classes, dim, seed in [(2, 3, 5), (3, 4, 6), (4, 2, 7)]:
    x, y, t = blobs(n_classes, dim, 1.5, seed)
    values = SVC(tol=1e-9, decision_function_shape="ovo").fit(x, y).decision_function(t)
    # Of two classes scikit-learn counts the second as positive, of more the first of a pair.
    case("svc", x, y, t, -values[:, None] if n_classes == 2 else values)

for n_classes, dim, seed in [(2, 4, 8), (3, 5, 9), (5, 3, 10)]:
    x, y, t = blobs(n_classes, dim, 1.5, seed)
    x, t = np.round((x - x.mean(0)) / x.std(0), 4), np.round((t - x.mean(0)) / x.std(0), 4)
    model = LogisticRegression(solver="newton-cholesky", tol=1e-14, max_iter=1000).fit(x, y)
    default = LogisticRegression().fit(x, y)
    print("default solver is off by", np.abs(default.coef_ - model.coef_).max())
    coefficients = np.hstack([model.coef_, model.intercept_[:, None]])
    case("logistic", x, y, t, model.predict_proba(t), coefficients=np.round(coefficients, 8).tolist())

path = Path(__file__).with_name("supervised.json")
text = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
path.write_text(f'{{"sklearn":"{sklearn.__version__}","cases":[\n{text}\n]}}\n')
print(f"{path.name}: {len(cases)} cases, {path.stat().st_size // 1000} kB, scikit-learn {sklearn.__version__}")
