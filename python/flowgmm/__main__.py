"""The ``flowgmm`` command."""

from __future__ import annotations

import sys

from ._native import command


def main() -> int:
    """Runs the command with the arguments of this process."""
    return command(["flowgmm", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
