"""Warnings of the package."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


class FlowGMMWarning(UserWarning):
    """Something about rows or columns that the user should look at."""


class UnlabelledScoreWarning(FlowGMMWarning):
    """Unlabelled rows among those to score: cross-validation with plain folds does that."""


def warn_all(messages: Iterable[str], stacklevel: int = 4) -> None:
    """Raises each message as a Python warning."""
    for message in messages:
        warnings.warn(message, FlowGMMWarning, stacklevel=stacklevel)
