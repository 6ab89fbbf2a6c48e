"""scikit-learn's label spreading on 20,000 unlabelled rows of covtype, beside experiments/spreading.toml.

    python experiments/spreading_sklearn.py DATA > experiments/results/spreading/sklearn.json

50 labels of each class, standardised columns, 7 neighbours, alpha 0.99, seed 2000. Seconds are those of fitting and of
predicting 2,000 test rows; memory is the process's peak, in which the table counts.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

rows, labels, test = 20_000, 50, 2_000
table = np.loadtxt(Path(sys.argv[1]) / "tabular/covtype.data.gz", delimiter=",", max_rows=240_000, dtype=np.float32)
rng = np.random.default_rng(2000)
table = table[rng.permutation(len(table))]
x, y = table[:, :-1].astype(np.float64), table[:, -1].astype(int)
chosen = np.concatenate([np.flatnonzero(y == k)[:labels] for k in np.unique(y)])
others = np.setdiff1d(np.arange(len(y)), chosen)
train = np.concatenate([chosen, others[:rows]])
held = others[rows : rows + test]
known = np.where(np.arange(len(train)) < len(chosen), y[train], -1)
scale = StandardScaler().fit(x[train])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
began = time.perf_counter()
model = LabelSpreading(kernel="knn", n_neighbors=7, alpha=0.99, max_iter=1000).fit(scale.transform(x[train]), known)
accuracy = float((model.predict(scale.transform(x[held])) == y[held]).mean())
print(json.dumps({
    "learner": "scikit-learn LabelSpreading(knn)", "version": sklearn.__version__, "unlabelled": rows,
    "labels_per_class": labels, "test_rows": test, "accuracy": accuracy,
    "seconds": round(time.perf_counter() - began, 1), "peak_bytes": peak(),
}))
