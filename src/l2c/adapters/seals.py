"""Plain data that tells when it was altered: JSON with the hash of its own content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from l2c.errors import StoredFileError

FORMAT_VERSION = 1


def sha256(content: bytes) -> str:
    """Return the SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def seal(kind: str, data: Mapping[str, Any]) -> str:
    """Return data as JSON with its kind, its format version and its hash."""
    return _text({"kind": kind, "format": FORMAT_VERSION, **data})


def unseal(kind: str, text: bytes | str, where: str) -> dict[str, Any]:
    """Return sealed data, or raise if it is foreign, of another version, or altered."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise StoredFileError(f"{where} is damaged: it is not JSON") from error
    if not isinstance(data, dict) or data.get("kind") != kind:
        raise StoredFileError(f"{where} is no {kind}")
    if data.get("format") != FORMAT_VERSION:
        raise StoredFileError(
            f"{where} has format {data.get('format')!r}; this version of L2C reads format {FORMAT_VERSION}"
        )
    data.pop("sha256", None)
    if _text(data).encode() != (text.encode() if isinstance(text, str) else text):
        raise StoredFileError(f"{where} was altered: its content does not match its hash")
    return data


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps({**data, "sha256": sha256(json.dumps(data, sort_keys=True).encode())}, indent=1)
