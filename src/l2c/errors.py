"""Everything L2C raises, as one tree.

::

    L2CError
    ├── InputError              what the caller gave cannot be used; lists every problem at once
    │   ├── SchemaError         the description of the features contradicts itself or the data
    │   └── DataError           the rows do not fit the schema
    ├── ModelError              the model broke a promise that a classifier makes
    ├── StoredFileError         a bundle or found file is damaged, foreign, or of another version
    │   └── OtherModelError     the file is sound but was made with another model
    └── MissingExtraError       an optional dependency is not installed

Not finding a counterfactual is none of these: it is an `Outcome`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class L2CError(Exception):
    """The root of every error that L2C raises on purpose."""


class InputError(L2CError, ValueError):
    """What the caller gave cannot be used; `problems` lists all that is wrong, a sentence each."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__(
            self.problems[0]
            if len(self.problems) == 1
            else f"{len(self.problems)} problems:\n" + "\n".join(f"  - {problem}" for problem in self.problems)
        )


class SchemaError(InputError):
    """The description of the features contradicts itself or the data."""


class DataError(InputError):
    """The rows do not fit the schema."""


class ModelError(L2CError):
    """The model broke a promise that a classifier makes."""


class StoredFileError(L2CError):
    """A bundle or found file is damaged, foreign, or of another version."""


class OtherModelError(StoredFileError):
    """The file is sound but was made with another model."""


class MissingExtraError(L2CError, ImportError):
    """An optional dependency is not installed; the message is the command that installs it."""

    def __init__(self, purpose: str, package: str, extra: str) -> None:
        super().__init__(f'{purpose} needs {package}: pip install "l2c[{extra}]"')


def nearest(name: object, known: Iterable[object]) -> str:
    """Return `; did you mean ...?` for the known name closest to a mistyped one, or nothing.

    >>> nearest("agee", ["age", "job"])
    "; did you mean 'age'?"
    >>> nearest("zzz", ["age", "job"])
    ''
    """
    texts = {str(item): item for item in known}
    close = difflib.get_close_matches(str(name), texts, n=1)
    return f"; did you mean {texts[close[0]]!r}?" if close else ""
