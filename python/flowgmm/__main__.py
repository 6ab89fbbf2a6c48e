"""The ``flowgmm`` command."""

from __future__ import annotations

import signal
import sys

from ._native import command


def main() -> int:
    """Runs the command with the arguments of this process."""
    # Python only notes a signal, and would look at it after the command. Until the command listens itself, Ctrl-C ends it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["flowgmm", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
