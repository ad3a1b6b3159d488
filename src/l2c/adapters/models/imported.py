"""A model named on the command line, as package.module:object. Nothing is unpickled."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from l2c.errors import InputError, nearest


def import_model(name: str) -> Any:
    """Return the object that `package.module:object` names; modules beside the caller are found too.

    >>> import_model("model.pkl")
    Traceback (most recent call last):
    l2c.errors.InputError: --model 'model.pkl': a pickle is never loaded, for it can run any code; ...
    """
    if name.endswith((".pkl", ".pickle", ".joblib", ".dill")):
        raise InputError(
            f"--model {name!r}: a pickle is never loaded, for it can run any code; "
            "name a Python object instead, as package.module:object"
        )
    module_name, colon, path = name.partition(":")
    if not colon or not module_name or not path:
        raise InputError(f"--model {name!r}: expected package.module:object")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise InputError(f"--model {name!r}: {error}") from error
    except Exception as error:
        raise InputError(f"--model {name!r}: importing it raised {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise InputError(f"--model {name!r}: there is no {part!r} in it{nearest(part, dir(found))}")
        found = getattr(found, part)
    return found
