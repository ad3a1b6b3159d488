"""The publishers' files, byte for byte, that lie xz-compressed in `l2c/adapters/data`."""

from __future__ import annotations

import hashlib
import lzma
from importlib.resources import files
from io import BytesIO

from l2c.errors import StoredFileError

FOLDER = files("l2c.adapters") / "data"

SHA256 = {
    "german.data": "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    "german_psu.csv": "aa0c4bf9a0417cc06c43e2f52bf2d0d8c5cb46c7008637f0b4fd89d6134592cd",
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "Admission_Predict_Ver1.1.csv": "4d46ee6b89402ed92c37120672cef85379876ccb72ecb80f58120d7202645dc9",
    "student-por.csv": "a7594a11d7771c0efe1a740824e0e833da9c4cad07c39a9766a874575563fb3f",
}
"""The SHA-256 of each file as its publisher has it, before compression."""


def published(name: str) -> BytesIO:
    """Return a publisher's file, checked against its SHA-256."""
    try:
        content = lzma.decompress((FOLDER / f"{name}.xz").read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise StoredFileError(f"the embedded file {name}.xz cannot be read ({error}); install l2c again") from error
    if hashlib.sha256(content).hexdigest() != SHA256[name]:
        raise StoredFileError(f"the embedded file {name}.xz is not what was published; install l2c again")
    return BytesIO(content)
