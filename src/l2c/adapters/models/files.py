"""A model by its name: a file that a library wrote, an address, or a Python object. Nothing is unpickled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from l2c.adapters.models.http_model import HttpModel
from l2c.adapters.models.imported import import_model
from l2c.adapters.models.onnx_model import OnnxModel
from l2c.errors import InputError, L2CError, MissingExtraError, nearest

PICKLES = (".pkl", ".pickle", ".joblib", ".dill")
LIGHTGBM_STARTS = b"tree\n"


def open_model(name: str) -> object:
    """Return the model that a name stands for.

    `package.module:object` is imported; `.onnx` is an ONNX model, `.json` and `.ubj` are XGBoost's, `.txt` is
    LightGBM's, `.cbm` is CatBoost's; `http://` and `https://` are an `HttpModel`.

    >>> open_model("credit.bin")
    Traceback (most recent call last):
    l2c.errors.InputError: --model 'credit.bin': expected package.module:object, a URL, or a file that ends in
    .onnx, .json, .ubj, .txt or .cbm
    """
    if name.startswith(("http://", "https://")):
        return HttpModel(name)
    suffix = Path(name).suffix.lower()
    if suffix in READERS:
        return _read(name, READERS[suffix])
    if suffix in PICKLES or ":" in name:
        return import_model(name)
    raise InputError(
        f"--model {name!r}: expected package.module:object, a URL, or a file that ends in "
        ".onnx, .json, .ubj, .txt or .cbm"
    )


def _read(name: str, reader: Callable[[str], object]) -> object:
    path = Path(name)
    if not path.is_file():
        beside = sorted(other.name for other in path.parent.glob("*")) if path.parent.is_dir() else []
        raise InputError(f"--model {name!r}: there is no such file{nearest(path.name, beside)}")
    try:
        return reader(name)
    except MissingExtraError:
        raise
    except L2CError as error:
        raise InputError(f"--model {name!r}: {error}") from error
    except Exception as error:
        told = str(error).partition("\n")[0]
        raise InputError(f"--model {name!r}: it cannot be read: {type(error).__name__}: {told}") from error


def _xgboost(path: str) -> Any:
    try:
        from xgboost import Booster
    except ImportError as error:
        raise MissingExtraError("an XGBoost model", "xgboost", "xgboost") from error
    return Booster(model_file=path)


def _lightgbm(path: str) -> Any:
    try:
        from lightgbm import Booster
    except ImportError as error:
        raise MissingExtraError("a LightGBM model", "lightgbm", "lightgbm") from error
    with Path(path).open("rb") as file:
        # LightGBM would print about a file of another kind before it raises.
        if file.read(len(LIGHTGBM_STARTS)) != LIGHTGBM_STARTS:
            raise InputError("it is a text, but not a LightGBM model")
    return Booster(model_file=path)


def _catboost(path: str) -> Any:
    try:
        from catboost import CatBoost
    except ImportError as error:
        raise MissingExtraError("a CatBoost model", "catboost", "catboost") from error
    return CatBoost().load_model(path)


READERS: dict[str, Callable[[str], object]] = {
    ".onnx": OnnxModel,
    ".json": _xgboost,
    ".ubj": _xgboost,
    ".txt": _lightgbm,
    ".cbm": _catboost,
}
