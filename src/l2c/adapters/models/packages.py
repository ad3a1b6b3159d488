"""Where a model comes from, told without importing anything."""

from __future__ import annotations


def packages_of(model: object) -> set[str]:
    """Return the modules and packages that the model's class and its bases come from."""
    modules = {kind.__module__ for kind in type(model).__mro__}
    return modules | {module.partition(".")[0] for module in modules}
