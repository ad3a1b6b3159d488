"""What made a file: kept in every bundle and found file."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Return the versions of L2C and of what its numbers rest on."""
    return {name: _version(name) for name in ("l2c", "numpy")} | {"python": platform.python_version()}


@cache
def _version(name: str) -> str:
    return version(name)
