"""A bar while a fit runs: in a terminal, or in a notebook."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

WIDTH = 24


class Progress(Protocol):
    """What shows how far the work is."""

    def __call__(self, phase: str, done: int, total: int | None, loss: float | None) -> None: ...

    def close(self) -> None: ...


def progress(verbose: int) -> Progress | None:
    """A bar, unless nobody would see it."""
    if not verbose:
        return None
    if _in_notebook():
        return NotebookBar()
    if sys.stderr is not None and sys.stderr.isatty():
        return TerminalBar()
    return None


def describe(phase: str, done: int, total: int | None, loss: float | None) -> str:
    """One line: what is done, how much of it, and the loss."""
    share = "" if not total else f" {min(100, 100 * done // total):3d}%"
    return f"{phase}{share}" + ("" if loss is None else f"  loss {loss:.3f}")


class TerminalBar:
    """A line on standard error that is written over."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._width = 0

    def __call__(self, phase: str, done: int, total: int | None, loss: float | None) -> None:
        filled = 0 if not total else min(WIDTH, WIDTH * done // total)
        seconds = time.monotonic() - self._began
        text = f"{seconds:5.0f}s [{'=' * filled}{' ' * (WIDTH - filled)}] {describe(phase, done, total, loss)}"
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)

    def close(self) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()


class NotebookBar:
    """A bar below a notebook's cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, phase: str, done: int, total: int | None, loss: float | None) -> None:
        from IPython import display

        html: Any = display.HTML
        show: Any = display.display
        value = "" if not total else f' value="{done}" max="{total}"'
        page = html(f"<progress{value}></progress> {describe(phase, done, total, loss)}")
        if self._handle is None:
            self._handle = show(page, display_id=True)
        else:
            self._handle.update(page)

    def close(self) -> None:
        if self._handle is not None:
            from IPython import display

            html: Any = display.HTML
            self._handle.update(html(""))


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
