"""Cross-validation where most rows have no label.

``cross_val_score`` with -1 among ``y`` counts -1 as a class: unlabelled rows are scored as mistakes, and folds are cut by them.
``LabelledStratifiedKFold`` cuts folds over the labelled rows alone, and puts the unlabelled ones into every training part.

>>> import numpy as np
>>> from flowgmm import LabelledStratifiedKFold
>>> y = np.array([0, 0, 1, 1, -1, -1])
>>> for train, test in LabelledStratifiedKFold(n_splits=2).split(np.zeros((6, 1)), y):
...     print(train, test)
[1 3 4 5] [0 2]
[0 2 4 5] [1 3]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from ._labels import as_array, class_name, is_unlabelled


class LabelledStratifiedKFold:
    """Stratified folds over the labelled rows; unlabelled rows are in every training part and in no test part.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds; at most the number of labelled rows of the rarest class.
    shuffle : bool, default=False
        Whether the labelled rows of each class are shuffled first.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.
    unlabeled_label : default=-1
        The label that means unlabelled, besides None and NaN; None if there is no such label.
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        unlabeled_label: Any = -1,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled_label = unlabeled_label

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """The rows of each training part and of each test part."""
        vector = as_array(y)
        unlabelled = is_unlabelled(vector, self.unlabeled_label)
        known, others = np.flatnonzero(~unlabelled), np.flatnonzero(unlabelled)
        if len(known) == 0:
            raise ValueError("no row has a label: there is nothing to score by")
        names = np.asarray([class_name(value) for value in vector[known]])
        folds = StratifiedKFold(
            self.n_splits, shuffle=self.shuffle, random_state=self.random_state if self.shuffle else None
        )
        for train, test in folds.split(np.zeros((len(known), 1)), names):
            yield np.sort(np.concatenate([known[train], others])), known[test]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of folds."""
        return self.n_splits

    def __repr__(self) -> str:
        return (
            f"LabelledStratifiedKFold(n_splits={self.n_splits}, shuffle={self.shuffle}, "
            f"random_state={self.random_state}, unlabeled_label={self.unlabeled_label!r})"
        )


def labelled_accuracy(y_true: Any, y_pred: Any, *, unlabeled_label: Any = -1) -> float:
    """The share of right predictions among the rows that have a label.

    >>> labelled_accuracy([0, 1, -1, 1], [0, 1, 1, 0])
    0.6666666666666666
    """
    vector = as_array(y_true)
    known = ~is_unlabelled(vector, unlabeled_label)
    if not known.any():
        raise ValueError("no row has a label: there is nothing to score by")
    predicted = as_array(y_pred)[known]
    right = [class_name(a) == class_name(b) for a, b in zip(vector[known], predicted)]
    return float(np.mean(right))


def labelled_accuracy_scorer(estimator: Any, X: Any, y: Any) -> float:
    """``labelled_accuracy`` as the ``scoring`` of ``cross_val_score`` and ``GridSearchCV``, for any classifier."""
    unlabeled_label = getattr(estimator, "unlabeled_label", -1)
    return labelled_accuracy(y, estimator.predict(X), unlabeled_label=unlabeled_label)
