"""The front door: a configuration whose `fit` learns an explainer."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from l2c.adapters import frames
from l2c.adapters.bundles import Bundle
from l2c.adapters.models.deciding import decided, described
from l2c.adapters.models.mark import ModelMark
from l2c.adapters.models.range_model import RangeModel
from l2c.adapters.models.torch_model import TorchModel
from l2c.adapters.models.twins import twin_of
from l2c.adapters.models.watch import probe_steadiness
from l2c.app.answered import Counted
from l2c.app.explainer import Explainer
from l2c.app.fitting import fit_method, split_rows
from l2c.app.people import generalised
from l2c.app.pooling import acceptance_seen
from l2c.app.progress import Progress
from l2c.app.versions import versions
from l2c.core.explanation import Release
from l2c.core.given_numbers import whole_number_problems
from l2c.core.memory import keep_memory
from l2c.core.number_range import NumberRange
from l2c.core.schema import Schema
from l2c.engine.discretise import public_layout
from l2c.engine.recipe import PAPER, Recipe
from l2c.errors import InputError
from l2c.release.secret import SECRET_BYTES, Secret

EXAMPLES = 8
"""Rows on which a model is tried before anything else is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class L2C(Recipe):
    """Learning to Counter: a configuration, whose `fit` returns an explainer.

    See `Recipe` for the settings; `L2C()` needs none, and `L2C.paper()` is the paper's.

    Examples
    --------
    >>> L2C(selector="constant", selection=0.5).selection
    0.5
    """

    @classmethod
    def paper(cls, **changes: Any) -> L2C:
        """Return the preset of the paper's text, with some settings changed if given."""
        settings = {name: getattr(PAPER, name) for name in Recipe.__dataclass_fields__}
        return cls(**(settings | changes))

    def fit(
        self,
        frame: Any,
        model: object,
        schema: Schema,
        *,
        threshold: float | None = None,
        desired: tuple[float | None, float | None] | None = None,
        seed: int = 0,
        dev: Any = None,
        release: Release = "values",
        key: bytes | None = None,
        progress: Progress | None = None,
    ) -> Explainer:
        """Return an explainer for a model, learned from training rows.

        Parameters
        ----------
        frame
            The training rows; a target column is ignored.
        model
            A fitted scikit-learn estimator or pipeline, a model of XGBoost, LightGBM or CatBoost, a `TorchModel`, an
            `OnnxModel`, an `HttpModel`, or a function from a frame to probabilities or labels.
        schema
            What the features are and how they may move.
        threshold
            For a model of two classes: it decides for the second if its probability is above this, and for the first
            if it is below; a counterfactual is never on it. By default the likelier class is decided, as at 0.5.
        desired
            For a model that predicts a number, and only then: the range (low, high) that it should come to lie in,
            both ends included; None is an open end. A class that is desired of a classifier is told to `explain`.
        seed
            Decides every random choice: the dev split, the networks, the training noise.
        dev
            Rows that choose the checkpoint; by default a fifth of the training rows, which then are not learned
            from.
        release
            With `intervals`, the explainer may speak in intervals over public edges: every row is replaced by what
            stands for its intervals before anything is learned from it, so that no exact number of anyone has a part
            in what is learned. Every number then needs edges that the schema gives.
        key
            The secret of the bundle, 32 bytes; by default the operating system draws it. It decides the draws of
            interval releases, and hides the hashes of the training rows that copies are told by.
        progress
            Called after each epoch with the epochs done and the most there can be; while a model without a gradient
            is asked for its answers, with the rows asked and the most there will be.
        """
        problems = list(whole_number_problems(("seed", seed, 0)))
        problems += _schema_problems(schema)
        if release not in get_args(Release):
            problems.append(f"release must be 'values' or 'intervals', not {release!r}")
        if key is not None and not (isinstance(key, bytes) and len(key) == SECRET_BYTES):
            problems.append(f"key must be {SECRET_BYTES} bytes, such as secrets.token_bytes({SECRET_BYTES})")
        if problems:
            raise InputError(problems)
        keep_memory()
        seed = int(seed)
        cells = frames.strict(frames.read(frame, schema))
        rows = cells if dev is None else frames.strict(frames.read(dev, schema))
        public = public_layout(schema) if release == "intervals" else None
        if public is not None:
            cells, rows = generalised(public, cells), generalised(public, rows)
        # A value that may be missing is missing somewhere, if not here: models are asked about such rows, too.
        gaps = [feature.name for feature in schema.features if feature.missing]
        shape = frames.shape_of(frame, schema).with_room_for_gaps(gaps)
        wanted = None if desired is None else NumberRange.of(desired)
        blackbox = decided(model, shape, cells[:EXAMPLES], threshold=threshold, wanted=wanted)
        fit, held_out = split_rows(cells, seed) if dev is None else (cells, rows)
        if isinstance(blackbox, RangeModel):
            blackbox = blackbox.in_units_of(fit)
        probe_steadiness(blackbox, cells[:EXAMPLES])
        recipe = Recipe(**{name: getattr(self, name) for name in Recipe.__dataclass_fields__})
        asked = Counted(blackbox)
        counterer, training = fit_method(recipe, schema, asked, fit, held_out, seed, progress, public)
        twin = twin_of(blackbox if isinstance(blackbox, TorchModel) else asked, counterer.layout, model)
        acceptance = acceptance_seen(counterer, asked, held_out, twin, seed)
        notes: dict[str, object] = {
            "training": training,
            "seed": seed,
            "fit_rows": len(fit),
            "dev_rows": len(held_out),
            "model_rows": asked.rows,
            "twin": twin is not None,
            "acceptance": acceptance,
            **described(blackbox),
            **versions(),
        }
        mark = ModelMark.of(blackbox, shape, counterer.layout)
        levels = counterer.layout.levels(np.concatenate([fit, held_out]))
        secret = Secret.of(levels, secrets.token_bytes(SECRET_BYTES) if key is None else key)
        bundle = Bundle(counterer, mark, notes, secret, release)
        return Explainer(bundle, blackbox, model, shape.build(fit), _twin=twin)


def _schema_problems(schema: object) -> list[str]:
    if isinstance(schema, Schema):
        return []
    return [
        f"schema must be an l2c.Schema, not a {type(schema).__name__}: make one with l2c.Schema.infer(frame), or read "
        "one with l2c.read_schema(path)"
    ]
