"""Holds LiteRT to the instructions of a kernel, as `DUSPAR_KERNEL` holds ours.

Else a processor with AVX-512 would show sparse operators that do without
beside LiteRT's that use it, which no user has. XNNPACK asks what the processor
can do once, and keeps the answer, which is changed here before the first file
is opened. LiteRT has no option for that, so the answer is looked for by its
name in LiteRT's library (`nm`, of binutils).
"""

import ctypes
import importlib
import importlib.util
import os
import pathlib
import subprocess

LIBRARY = "libpywrap_litert_common.so"
QUESTION = "xnn_init_hardware_config"
# XNNPACK's bits, from SSE to AVX2; those above are AVX-512's and VNNI's.
AVX2 = 0xFF
MASKS = {"avx2": AVX2, "portable": 0x3}


def _library():
    """The path of LiteRT's library, and where it lies in memory."""
    importlib.import_module("ai_edge_litert.interpreter")
    folder = importlib.util.find_spec("ai_edge_litert")
    path = pathlib.Path(folder.submodule_search_locations[0]) / LIBRARY
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(f"/{LIBRARY}"):
            first, offset = line.split("-")[0], line.split()[2]
            return path, int(first, 16) - int(offset, 16)
    raise OSError(f"{LIBRARY} is not loaded")


def _flags():
    """What XNNPACK believes of the processor, as a number to change."""
    path, base = _library()
    names = subprocess.run(
        ["nm", "--defined-only", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for line in names.splitlines():
        if line.endswith(f" {QUESTION}"):
            ask = ctypes.CFUNCTYPE(ctypes.c_void_p)(
                base + int(line.split()[0], 16)
            )
            # Behind the number of the processor's design.
            flags = (ctypes.c_uint64 * 2).from_address(ask())
            if flags[1] & AVX2 == AVX2 and flags[1] >> 32 == 0:
                return flags
            raise OSError("XNNPACK keeps its answer elsewhere")
    raise OSError(f"{LIBRARY} does not name {QUESTION}")


def hold(kernel):
    """Takes instructions from LiteRT that a kernel of ours does not use.

    Args:
        kernel: String such as `"avx2"`, or `None` to change nothing.

    Returns:
        Whether LiteRT is held to it.
    """
    if kernel not in MASKS:
        return False
    _flags()[1] &= MASKS[kernel]
    return True


def hold_if_possible(log):
    """Holds LiteRT to `DUSPAR_KERNEL`; returns whether that could be done.

    Args:
        log: Function that takes a line of text.
    """
    try:
        return hold(os.environ.get("DUSPAR_KERNEL"))
    except (OSError, subprocess.CalledProcessError) as e:
        log(f"LiteRT uses all instructions that there are ({e})")
        return False
