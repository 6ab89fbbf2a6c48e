"""Findings that show themselves as a page."""

from __future__ import annotations

import html
import os
from typing import Any


class Page:
    """What ``explain`` and ``report`` found: numbers in ``findings``, a page in a notebook, and ``save`` for a browser."""

    def __init__(self, title: str, findings: dict[str, Any], page: str) -> None:
        self.title = title
        self.findings = findings
        self.html = page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to one HTML file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html)

    def __getitem__(self, key: str) -> Any:
        return self.findings[key]

    def __repr__(self) -> str:
        return f"<{self.title}: {', '.join(self.findings)}; save(path) writes the page>"

    def _repr_html_(self) -> str:
        # A frame of its own: the page's styles stay out of the notebook.
        return f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="600" style="border:0"></iframe>'
