"""A fitted explainer as a folder: readable text, arrays without code, and a hash for every file.

::

    bundle/
      manifest.json          what it is, the hash of each file, the model's fingerprint; sealed by its own hash
      schema.toml            the features, as a person reads them
      layout.json            the levels: cut points and representatives
      arrays.safetensors     the networks, the input's scale, the tables of the reference law
      secret.safetensors     the secret key, and under it the hashes of the training rows; for its owner's eyes

It holds no training row and no pickle. Bundles of earlier versions have no secret.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from l2c.adapters.models.mark import ModelMark
from l2c.adapters.seals import seal, sha256, unseal
from l2c.adapters.settings import dump_schema, parse_schema
from l2c.core.explanation import Release
from l2c.core.layout import Layout
from l2c.engine import reference
from l2c.engine.dial import Dial
from l2c.engine.encode import Encoder
from l2c.engine.foresight import arrays_of, foresight_of
from l2c.engine.networks import from_arrays, to_arrays
from l2c.engine.propose import Counterer
from l2c.engine.recipe import Recipe
from l2c.errors import L2CError, StoredFileError
from l2c.release.secret import Secret

KIND = "l2c bundle"
MANIFEST = "manifest.json"
FILES = ("schema.toml", "layout.json", "arrays.safetensors")
SECRET = "secret.safetensors"


@dataclass(frozen=True, slots=True, eq=False)
class Bundle:
    """All that an explainer needs beside the model itself.

    Parameters
    ----------
    secret
        The key and the hashes that keep answers private; None in bundles of earlier versions.
    release
        What the explainer was fitted for: with `intervals` nothing in it depends on more than public intervals.
    """

    counterer: Counterer
    mark: ModelMark
    notes: Mapping[str, Any]
    secret: Secret | None = None
    release: Release = "values"


def write_bundle(bundle: Bundle, folder: Path) -> None:
    """Write a bundle, whole or not at all; an earlier bundle in its place is replaced, nothing else is."""
    if folder.exists() and not _is_replaceable(folder):
        raise StoredFileError(f"{folder} exists and is no bundle; choose another folder")
    contents = _contents(bundle)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh, old = (folder.with_name(f".{folder.name}-{secrets.token_hex(8)}") for _ in range(2))
    try:
        fresh.mkdir()
        for name, content in contents.items():
            (fresh / name).touch(mode=0o600 if name == SECRET else 0o666)
            (fresh / name).write_bytes(content)
        _swap(folder, fresh, old)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def digest_of(bundle: Bundle) -> str:
    """Return a hash by which a bundle is recognised, saved or not."""
    return sha256(_contents(bundle)[MANIFEST])


def _is_replaceable(folder: Path) -> bool:
    """Return whether a folder is empty, or holds a bundle and nothing else."""
    try:
        names = {path.name for path in folder.iterdir()}
        kind = json.loads((folder / MANIFEST).read_bytes())["kind"] if names else KIND
    except (OSError, ValueError, TypeError, KeyError):
        return False
    return bool(kind == KIND) and names <= {MANIFEST, SECRET, *FILES}


def _swap(folder: Path, fresh: Path, old: Path) -> None:
    """Put a fresh folder in the place of another, which is kept aside until that is done."""
    if not folder.exists():
        fresh.replace(folder)
        return
    folder.replace(old)
    try:
        fresh.replace(folder)
    except BaseException:
        old.replace(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def read_bundle(folder: Path) -> Bundle:
    """Return the bundle in a folder, or raise if it is damaged, foreign or of another version."""
    manifest = unseal(KIND, _read(folder / MANIFEST), str(folder / MANIFEST))
    contents = {name: _read(folder / name) for name in {*FILES, *(manifest["files"].keys() & {SECRET})}}
    for name, content in contents.items():
        if sha256(content) != manifest["files"].get(name):
            raise StoredFileError(f"{folder / name} was altered: its content does not match the manifest")
    try:
        return _assembled(manifest, contents)
    except (KeyError, TypeError, ValueError, L2CError) as error:
        raise StoredFileError(f"{folder} cannot be read: {error}") from error


def _contents(bundle: Bundle) -> dict[str, bytes]:
    counterer = bundle.counterer
    arrays = {
        **to_arrays("generator", counterer.generator),
        **to_arrays("selector", counterer.selector),
        **arrays_of(counterer.foresight),
        "encoder.mean": counterer.encoder.mean,
        "encoder.scale": counterer.encoder.scale,
        "selection": np.array([counterer.balance, counterer.dial.half, counterer.dial.full]),
    }
    for index, law in enumerate(counterer.laws):
        arrays |= reference.to_arrays(f"law.{index}", law)
    contents = {
        "schema.toml": dump_schema(counterer.layout.schema).encode(),
        "layout.json": json.dumps(counterer.layout.to_dict(), indent=1).encode(),
        "arrays.safetensors": save_arrays(arrays),
    }
    if bundle.secret is not None:
        key = np.frombuffer(bundle.secret.key, dtype=np.uint8)
        contents[SECRET] = save_arrays({"key": key, "hashes": bundle.secret.hashes})
    manifest = {
        "files": {name: sha256(content) for name, content in contents.items()},
        "model": bundle.mark.to_dict(),
        "recipe": {name: getattr(counterer.recipe, name) for name in Recipe.__dataclass_fields__},
        "notes": dict(bundle.notes),
        "release": bundle.release,
    }
    return contents | {MANIFEST: seal(KIND, manifest).encode()}


def _assembled(manifest: Mapping[str, Any], contents: Mapping[str, bytes]) -> Bundle:
    schema = parse_schema(contents["schema.toml"].decode())
    layout = Layout.from_dict(schema, json.loads(contents["layout.json"]))
    arrays: dict[str, np.ndarray] = load_arrays(contents["arrays.safetensors"])
    mark = ModelMark.from_dict(layout, manifest["model"])
    recipe = Recipe(**manifest["recipe"])
    encoder = Encoder(layout, recipe.inputs, arrays["encoder.mean"], arrays["encoder.scale"])
    networks = from_arrays("generator", arrays), from_arrays("selector", arrays)
    balance, half, full = arrays["selection"].tolist()
    laws = tuple(reference.from_arrays(f"law.{index}", arrays) for index in range(len(mark.classes)))
    foresight = foresight_of(arrays, encoder)
    counterer = Counterer(layout, recipe, encoder, *networks, laws, balance, Dial(half, full), foresight)
    return Bundle(counterer, mark, manifest["notes"], _secret(contents.get(SECRET)), manifest.get("release", "values"))


def _secret(content: bytes | None) -> Secret | None:
    if content is None:
        return None
    arrays = load_arrays(content)
    return Secret(arrays["key"].tobytes(), arrays["hashes"])


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoredFileError(f"{path} cannot be read ({error.strerror}); is its folder a whole bundle?") from error
