"""How a call of a kernel that can be resumed has ended."""

from __future__ import annotations

DONE, FULL, PAUSED, STUCK = range(4)
