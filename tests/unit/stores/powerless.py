"""Run as a script: give up every privilege for good, then run a command; root is then a user like others."""

import ctypes
import os
import sys

_VERSION_3 = 0x2008_0522


def give_up_privileges() -> None:
    """Drop all capabilities of this process, so that the rights of files hold for root too."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, nothing = (ctypes.c_uint32 * 2)(_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    if libc.capset(header, nothing):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    give_up_privileges()
    from recollect.surfaces.cli import main

    main(sys.argv[1:])
