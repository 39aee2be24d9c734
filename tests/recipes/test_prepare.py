"""What a recipe does before it imports Keras."""

import platform
import subprocess
import sys

import pytest

from tests.conftest import ROOT

# How many pages a process needs anew for buffers that it frees: the first
# ones, and then, with memory that is kept, none.
FAULTS = """
import resource
import sys
sys.path.insert(0, "recipes")
import prepare
import numpy as np
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def use():
    before = faults()
    np.ones(2**25, "uint8")
    return faults() - before
use()
assert prepare.keep_memory()
print(use() + use())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_is_kept():
    result = subprocess.run(
        [sys.executable, "-c", FAULTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    # 32 MB are 8,192 pages.
    assert int(result.stdout) < 64
