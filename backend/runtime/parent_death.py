"""Run a program that ends when its parent does: `python parent_death.py PARENT_PID PROGRAM [ARGUMENT…]`.

The kernel sends this process SIGTERM as soon as its parent is gone, even if that was killed (prctl PR_SET_PDEATHSIG,
Linux only), and the setting outlives the exec into PROGRAM. This runs as a script with `python -I -S`: it imports no
other module of the server and costs a few milliseconds.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for the signal, then become PROGRAM."""
    parent, program = int(sys.argv[1]), sys.argv[2]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the request
        sys.exit(0)
    os.execv(program, sys.argv[2:])


if __name__ == "__main__":
    main()
