"""Compiled loops run as the Python that they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from l2c.core.compiled import Compiled


@contextmanager
def uncompiled(*modules: ModuleType) -> Iterator[None]:
    """Let the loops of some modules run uncompiled."""
    before = {module: {k: v for k, v in vars(module).items() if isinstance(v, Compiled)} for module in modules}
    for module, loops in before.items():
        vars(module).update({name: loop.plain for name, loop in loops.items()})
    try:
        yield
    finally:
        for module, loops in before.items():
            vars(module).update(loops)
