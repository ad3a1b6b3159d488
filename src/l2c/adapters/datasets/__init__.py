"""The data sets of the paper, embedded: the publishers' bytes, read into words and described.

`load("german").train` is a frame for any classifier; `.schema` is the paper's description of it.
"""

from __future__ import annotations

from collections.abc import Callable

from l2c.adapters.datasets.admission import load_admission
from l2c.adapters.datasets.adult import load_adult
from l2c.adapters.datasets.dataset import Dataset, PaperRow
from l2c.adapters.datasets.german import load_german, load_german_psu
from l2c.adapters.datasets.student import load_student
from l2c.errors import InputError, nearest

__all__ = ["Dataset", "PaperRow", "load", "names"]

_LOADERS: dict[str, Callable[[], Dataset]] = {
    "german": load_german,
    "adult": load_adult,
    "admission": load_admission,
    "student": load_student,
    "german_psu": load_german_psu,
}


def names() -> tuple[str, ...]:
    """Return the names that `load` knows.

    >>> names()
    ('german', 'adult', 'admission', 'student', 'german_psu')
    """
    return tuple(_LOADERS)


def load(name: str) -> Dataset:
    """Return an embedded data set; every call reads it afresh, so its frames may be changed freely.

    Raises
    ------
    InputError
        If there is no data set of that name.
    StoredFileError
        If the embedded file is damaged.

    Examples
    --------
    >>> student = load("student")
    >>> len(student.train), len(student.test), student.desirable
    (423, 226, 'yes')
    >>> load("germn")
    Traceback (most recent call last):
    l2c.errors.InputError: there is no data set 'germn'; did you mean 'german'?
    """
    if name not in _LOADERS:
        raise InputError(f"there is no data set {name!r}{nearest(name, _LOADERS)}")
    return _LOADERS[name]()
