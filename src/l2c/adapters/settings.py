"""A schema as a TOML file that people read and edit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import tomli_w

from l2c.adapters.frames.files import replacing
from l2c.core.feature import Feature
from l2c.core.schema import Schema
from l2c.errors import SchemaError

_WIDTH = 100
"""A list that fits in a line of this width is written in one."""

_LIST = re.compile(r"^( *)(.+ = )?\[\n((?:\1    .+,\n)+)\1\](,?)$", re.MULTILINE)
"""A list as tomli_w writes it, each item on its own line; lists inside it are already in one."""


def dump_schema(schema: Schema) -> str:
    """Return a schema as TOML: the target and the rules, then a table for each feature.

    >>> print(dump_schema(Schema((Feature(name="job", kind="binary", levels=("clerk", "nurse")),), "paid")))
    target = "paid"
    <BLANKLINE>
    [[features]]
    name = "job"
    kind = "binary"
    levels = ["clerk", "nurse"]
    <BLANKLINE>
    """
    head = schema.to_dict()
    del head["features"]
    tables = [_toml(head)] if head else []
    tables += [table for feature in schema.features for table in _feature_tables(feature)]
    return "\n".join(tables)


def parse_schema(text: str) -> Schema:
    """Return the schema that a TOML text describes, or raise with every problem found in it.

    >>> parse_schema("target = ")
    Traceback (most recent call last):
    l2c.errors.SchemaError: the schema is not valid TOML: Invalid value (at end of document)
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"the schema is not valid TOML: {error}") from None
    return Schema.from_dict(data)


def read_schema(path: str | Path) -> Schema:
    """Return the schema in a TOML file; every problem names the file."""
    try:
        return parse_schema(Path(path).read_text("utf-8"))
    except SchemaError as error:
        raise SchemaError(f"{path}: {problem}" for problem in error.problems) from None
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{path}: the file cannot be read: {error}") from None


def write_schema(schema: Schema, path: str | Path) -> None:
    """Write a schema to a TOML file, whole or not at all."""
    with replacing(Path(path)) as draft:
        draft.write_text(dump_schema(schema), "utf-8", newline="\n")


def _feature_tables(feature: Feature) -> Iterator[str]:
    data: dict[str, Any] = feature.to_dict()
    binning = data.pop("binning", None)
    yield f"[[features]]\n{_toml(data)}"
    if binning is not None:
        yield f"[features.binning]\n{_toml(binning)}"


def _toml(data: Mapping[str, Any]) -> str:
    """Return plain data as TOML, with short lists in one line: tomli_w gives every item its own."""
    before, text = "", tomli_w.dumps(data)
    while before != text:  # from the inner lists to the outer ones
        before, text = text, _LIST.sub(_one_line, text)
    return text


def _one_line(found: re.Match[str]) -> str:
    indent, key, items, comma = found.groups(default="")
    inside = " ".join(line.strip() for line in items.split("\n")).rstrip(", ")
    line = f"{indent}{key}[{inside}]{comma}"
    return line if len(line) <= _WIDTH else found[0]
