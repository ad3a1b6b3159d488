"""What made a file: kept in every bundle and found file."""

from __future__ import annotations

import platform
from importlib.metadata import version


def versions() -> dict[str, str]:
    """Return the versions of L2C and of what its numbers rest on."""
    return {"l2c": version("l2c"), "numpy": version("numpy"), "python": platform.python_version()}
