"""Sealed data: read back equal, or refused with the reason."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from l2c.adapters import seals
from l2c.adapters.seals import seal, sha256, unseal
from l2c.errors import StoredFileError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OWN = ("kind", "format", "sha256")
DATA = st.dictionaries(st.text().filter(lambda key: key not in OWN), JSON, max_size=4)

SMALL = {"epsilon": 4.5e-05, "words": ["für", "mehr", "ℓ2"], "none": None, "deep": {"edge": 0.1, "yes": True}}


def refusal(text: bytes | str) -> str:
    with pytest.raises(StoredFileError) as caught:
        unseal("note", text, "note.json")
    return str(caught.value)


@given(DATA)
def test_what_was_sealed_is_read_back_with_its_kind_and_format(data):
    expected = {"kind": "note", "format": 1, **data}
    for text in (seal("note", data), seal("note", data).encode()):
        assert unseal("note", text, "note.json") == expected


def test_the_hash_is_of_the_content_with_its_keys_in_order():
    sealed = json.loads(seal("note", SMALL))
    content = {key: value for key, value in sealed.items() if key != "sha256"}
    assert sealed["sha256"] == hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def test_sha256_is_the_standard_one():
    assert sha256(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_every_single_flipped_bit_is_refused():
    text = seal("note", SMALL).encode()
    for position in range(len(text)):
        for bit in range(8):
            damaged = bytearray(text)
            damaged[position] ^= 1 << bit
            assert refusal(bytes(damaged))


def test_every_truncation_is_refused():
    text = seal("note", SMALL)
    for length in range(len(text)):
        assert refusal(text[:length])


@pytest.mark.parametrize("text", ["", "{", "PAR1", b"\x80\x04\x95", b"\xff\xfe"])
def test_what_is_not_json_is_told_as_damaged(text):
    assert refusal(text) == "note.json is damaged: it is not JSON"


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}", '{"kind": "letter"}', seal("letter", SMALL)])
def test_json_of_another_kind_is_told_as_foreign(text):
    assert refusal(text) == "note.json is no note"


def test_an_edited_value_is_told_as_altered():
    edited = seal("note", SMALL).replace("0.1", "0.2")
    assert refusal(edited) == "note.json was altered: its content does not match its hash"


def test_a_removed_hash_is_told_as_altered():
    content = json.loads(seal("note", SMALL))
    del content["sha256"]
    assert refusal(json.dumps(content, indent=1)) == "note.json was altered: its content does not match its hash"


def test_a_newer_format_says_which_one_is_read(monkeypatch):
    monkeypatch.setattr(seals, "FORMAT_VERSION", 2)
    newer = seal("note", SMALL)
    monkeypatch.undo()
    assert refusal(newer) == "note.json has format 2; this version of L2C reads format 1"
