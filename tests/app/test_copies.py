"""`no_copies`: nothing leaves that equals a training row by level, whoever asks, and sets are still full."""

from __future__ import annotations

import json
import shutil
from bisect import bisect_left
from functools import cache

import numpy as np
import pandas as pd
import pytest

import l2c
from l2c import L2C
from l2c.adapters.seals import seal
from l2c.app.answered import Answered, other_class
from l2c.app.pooling import pools_from
from l2c.errors import InputError
from l2c.release.budget import Budget
from l2c.release.exhaust import every_proposal
from loans import SCHEMA, applicants, granted, refused

TRAIN = applicants(150, seed=4)


@cache
def desk() -> l2c.Explainer:
    """Return an explainer of loans over few levels, so that copies are common."""
    few = SCHEMA
    for name in ("age", "hours", "savings"):
        few = few.edit(name, binning=l2c.EqualFrequency(2))
    return L2C(select="first", model_rows=0).fit(TRAIN, granted, few)


def combinations(rows: pd.DataFrame) -> list[tuple[object, ...]]:
    """Return each row with its numbers as places among the cut points, worked out cell by cell."""
    layout = desk().layout
    cuts = dict(zip(layout.schema.names, (axis.cuts for axis in layout.axes), strict=True))
    numeric = {"age", "hours", "savings"}
    return [
        tuple(bisect_left(cuts[name], row[name]) if name in numeric else row[name] for name in layout.schema.names)
        for row in rows.to_dict("records")
    ]


def copied(found: l2c.Explanations) -> int:
    known = set(combinations(TRAIN))
    return sum(one in known for one in combinations(found.features()))


@pytest.mark.parametrize("select", ["first", "balanced"])
def test_copies_are_common_and_then_there_are_none(select):
    rows = refused(15)
    free, kept = (desk().explain(rows, 5, no_copies=no, select=select, pool=20) for no in (False, True))
    assert copied(free) > len(free) / 10
    assert copied(kept) == 0
    assert [outcome.status for outcome in kept.outcomes] == ["found"] * 15
    assert free.notes.get("no_copies") is None
    assert kept.notes["no_copies"] is True


def test_values_leave_with_copies_unless_told_otherwise():
    rows = refused(5)
    default, free = desk().explain(rows, 5), desk().explain(rows, 5, no_copies=False)
    assert default.to_frame().equals(free.to_frame())


def test_everything_that_is_left_is_found_and_no_count_is_told():
    row = refused(1)
    free, kept = (desk().explain(row, 500, lock=["age", "hours"], no_copies=no, reasons=False) for no in (False, True))
    left = set(combinations(free.features())) - set(combinations(TRAIN))
    assert 0 < len(left) < len(free)
    assert set(combinations(kept.features())) == left
    assert kept.outcomes[0].status == "partial"
    assert kept.outcomes[0].sentence.endswith("; there are no others within the limits that may be released")


def test_where_only_copies_are_left_it_is_said_without_counting():
    train = applicants(40)
    explainer = L2C(select="first", model_rows=0).fit(train, granted, SCHEMA)
    row = train[granted(train) < 0.4][:1]
    lock = ["age", "hours", "savings", "school", "owner"]
    # The training rows are all that the person can become.
    every = pd.concat([row.assign(job=job) for job in ("clerk", "nurse", "cook", "pilot")], ignore_index=True)
    known = L2C(select="first", model_rows=0).fit(pd.concat([train, every]), granted, SCHEMA)
    asked = {"lock": lock, "reasons": False, "no_copies": True}
    assert known.explain(row, 3, **asked).outcomes[0].sentence == (
        "all combinations within the limits that may be released were tried; none changes the outcome"
    )
    assert explainer.explain(row, 3, **asked).outcomes[0].tries > 0


def test_dev_rows_count_as_training_rows_too():
    explainer = L2C(select="first", model_rows=0).fit(TRAIN[:100], granted, desk().schema, dev=TRAIN[100:])
    levels = explainer.layout.levels(l2c.adapters.frames.read(TRAIN, SCHEMA).cells)
    assert explainer.bundle.secret.copies(levels).all()


def test_a_bundle_knows_copies_and_holds_no_row(tmp_path):
    desk().save(tmp_path / "bundle")
    again = l2c.load(tmp_path / "bundle", model=granted)
    rows = refused(5)
    one, two = (explainer.explain(rows, 6, no_copies=True).to_frame() for explainer in (desk(), again))
    assert one.equals(two)
    assert (tmp_path / "bundle" / "secret.safetensors").stat().st_mode & 0o077 == 0
    distinct = len(set(combinations(TRAIN)))
    assert len(again.bundle.secret.hashes) == distinct


def test_a_bundle_of_an_earlier_version_still_explains_but_knows_no_copies(tmp_path):
    desk().save(tmp_path / "new")
    old = shutil.copytree(tmp_path / "new", tmp_path / "old")
    (old / "secret.safetensors").unlink()
    manifest = json.loads((old / "manifest.json").read_text())
    del manifest["files"]["secret.safetensors"], manifest["release"], manifest["sha256"]
    (old / "manifest.json").write_text(
        seal(manifest["kind"], {key: manifest[key] for key in manifest if key not in ("kind", "format")})
    )
    explainer = l2c.load(old, model=granted)
    assert explainer.explain(refused(3), 4).to_frame().equals(desk().explain(refused(3), 4).to_frame())
    with pytest.raises(InputError) as refusal:
        explainer.explain(refused(3), 4, no_copies=True)
    assert refusal.value.problems == (
        "no_copies: this bundle was made by a version of L2C that kept no hashes of its training rows; fit the "
        "explainer again",
    )


def test_a_witness_of_the_solver_may_not_be_a_copy():
    row = l2c.adapters.frames.read(refused(1), SCHEMA).cells
    layout, counterer, blackbox = desk().layout, desk().bundle.counterer, desk().blackbox
    question = other_class(layout, Answered.by(blackbox, row), counterer.recipe.decode)
    every = every_proposal(layout, question.room, 0, question.levels[0])
    for banned, found in ((None, True), (lambda levels: np.ones(len(levels), dtype=bool), False)):
        pools = pools_from(
            counterer, blackbox, question, pool=9, enough=9, dial=0.0, seed=0, budget=Budget(0), banned=banned
        )
        for levels in every:
            pools.searches[0].offer(0, levels)
        assert (pools.searches[0].valid[0] > 0) == found
