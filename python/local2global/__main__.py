"""The command line: `python -m local2global`, which is also installed as the script `l2g`.

It is the program of the Rust crate `l2g-cli`, in this process: the same arguments, the same
output, the same exit codes.
"""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Run the command line with the arguments of this process, and give its exit code."""
    # The command line hears Ctrl-C by itself; Python would raise it a second time at the end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.main(["l2g", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
