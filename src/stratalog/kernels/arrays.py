"""Arrays in huge pages: what is touched for the first time costs a fault per page.

NumPy asks for huge pages where an array is large, but begins it anywhere, and the system has them
only at multiples of their size: an array of a few pages would get one or none.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from stratalog.kernels.sizes import sized

PAGE = 1 << 21  # bytes of a huge page
MIN_HUGE_BYTES = sized(1 << 20, 1 << 10)  # bytes of an array for which one is worth having
HUGE = getattr(mmap, "MADV_HUGEPAGE", None)  # what Linux calls them


def zeros(size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array of zeros, which takes no memory before it is written to."""
    nbytes = size * np.dtype(dtype).itemsize
    if nbytes < MIN_HUGE_BYTES or HUGE is None:
        return np.zeros(size, dtype)
    try:
        memory = mmap.mmap(-1, nbytes + 2 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(HUGE)
    except OSError:  # too many maps, no huge pages, or too little memory: then NumPy says so
        return np.zeros(size, dtype)
    whole = np.frombuffer(memory, np.uint8)
    begin = -whole.ctypes.data % PAGE
    return whole[begin : begin + nbytes].view(dtype)
