"""Small tables of loans, with models that are worked out cell by cell: the same bits in any batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from l2c import L2C, Explainer, Feature, Limits, Schema
from l2c.core.tree_twin import TreeTwin
from l2c.core.twin import LayerTwin
from l2c.core.types import Cells, Label, Probabilities

SCHEMA = Schema(
    (
        Feature(name="age", kind="numeric", integer=True, moves="rises"),
        Feature(name="hours", kind="numeric", low=0, high=80, cost_up=0.1),
        Feature(name="savings", kind="numeric", cost=0.5),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse", "cook", "pilot"), level_costs=(0, 1, 1, 4)),
        Feature(name="school", kind="ordinal", levels=("low", "middle", "high"), cost=3.0),
        Feature(name="owner", kind="binary", levels=(False, True), moves="never"),
    )
)


def applicants(count: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, count),
            "hours": (2 * rng.normal(34, 9, count)).round() / 2,
            "savings": rng.gamma(2.0, 20.0, count).round(1),
            "job": rng.choice(["clerk", "nurse", "cook", "pilot"], count, p=[0.4, 0.3, 0.2, 0.1]),
            "school": rng.choice(["low", "middle", "high"], count),
            "owner": rng.random(count) < 0.3,
        }
    )


def score(frame: pd.DataFrame) -> np.ndarray:
    """Return how much speaks for a loan: a sum over the columns."""
    job = frame["job"].map({"clerk": 0.0, "nurse": 0.8, "cook": 0.3, "pilot": 2.0}).to_numpy(float)
    school = frame["school"].map({"low": 0.0, "middle": 0.7, "high": 1.4}).to_numpy(float)
    numbers = (frame["age"] - 40) / 30 + (frame["hours"] - 36) / 12 + frame["savings"] / 50
    return numbers.to_numpy(float) + job + school + frame["owner"].to_numpy(float) - 3.2


def granted(frame: pd.DataFrame) -> np.ndarray:
    """Return the probability of a loan."""
    return 1 / (1 + np.exp(-score(frame)))


granted.classes = ("refused", "granted")


def boosted(rows: pd.DataFrame) -> Pipeline:
    """Return boosted trees, behind an encoder of texts, that have learned who is granted a loan."""
    encoder = make_column_transformer((OrdinalEncoder(), ["job", "school"]), remainder="passthrough")
    trees = HistGradientBoostingClassifier(max_iter=25, max_depth=3, min_samples_leaf=5, random_state=0)
    return make_pipeline(encoder, trees).fit(rows, np.where(score(rows) > 0, "granted", "denied"))


def graded(frame: pd.DataFrame) -> np.ndarray:
    """Return the probabilities of three classes, by the score cut twice."""
    total = score(frame)
    odds = np.stack([-1.5 * total, np.full(len(total), 0.8), 1.5 * total], axis=1)
    mass = np.exp(odds - odds.max(axis=1, keepdims=True))
    return mass / mass.sum(axis=1, keepdims=True)


graded.classes = ("none", "small", "large")


@cache
def desk() -> Explainer:
    """Return an explainer of loans."""
    return L2C(epochs=2, hidden=8, select="first").fit(applicants(), granted, SCHEMA)


@cache
def graded_desk() -> Explainer:
    """Return an explainer of loans of three classes."""
    return L2C(select="first").fit(applicants(), graded, SCHEMA)


def refused(count: int, seed: int = 1) -> pd.DataFrame:
    """Return applicants who get no loan."""
    rows = applicants(20 * count, seed)
    return rows[granted(rows) < 0.4].head(count).reset_index(drop=True)


def worst(count: int, seed: int = 1) -> pd.DataFrame:
    """Return the applicants who are farthest from a loan, of two hundred."""
    rows = applicants(200, seed)
    return rows.iloc[np.argsort(score(rows), kind="stable")[:count]].reset_index(drop=True)


def standing(explainer: Explainer, limits: Limits) -> Explainer:
    """Return an explainer whose schema has other standing limits."""
    layout = replace(explainer.layout, schema=replace(explainer.schema, limits=limits))
    counterer = replace(explainer.bundle.counterer, layout=layout)
    return replace(explainer, bundle=replace(explainer.bundle, counterer=counterer))


# Models that are seen into, and twins of theirs that are wrong


@cache
def seen(*, trees: bool = False) -> Explainer:
    """Return an explainer of a model that can be seen into, with sets chosen from a pool; all changes cost the same."""
    plain = {"cost": 1.0, "cost_up": 0.0, "cost_down": 0.0, "level_costs": ()}
    features = tuple(replace(feature, **plain) for feature in desk().schema.features)
    model = boosted(applicants(300)) if trees else granted
    found = L2C(epochs=2, hidden=8, beta=0.2, model_rows=2000).fit(applicants(), model, Schema(features))
    assert isinstance(found._twin, TreeTwin if trees else LayerTwin)
    return found


@dataclass
class Contrary:
    """The model of an explainer, but of young cooks it says the contrary of what its twin says."""

    explainer: Explainer

    @property
    def classes(self) -> tuple[Label, ...]:
        return self.explainer.blackbox.classes

    def proba(self, cells: Cells) -> Probabilities:
        told, own = self.explainer.blackbox.proba(cells), self.explainer.schema
        young_cooks = (cells[:, own.index("age")] < 30) & (cells[:, own.index("job")] == 2)
        return np.where(young_cooks[:, None], told[:, ::-1], told)


def gloomy(explainer: Explainer) -> Explainer:
    """Return an explainer whose twin is taken for right about the rows, and rules out all that they may become."""
    twin = explainer._twin
    assert isinstance(twin, LayerTwin)

    class Gloomy(LayerTwin):
        def agrees(self, foreseen, _):
            return np.ones(len(foreseen), dtype=bool)

    told = {name: getattr(twin, name) for name in LayerTwin.__dataclass_fields__}
    return replace(explainer, _twin=Gloomy(**told | {"bias": twin.bias - [0, 100]}))


# A wide table, with far more combinations than can be tried one and all

WIDE = Schema(tuple(Feature(name=f"x{i}", kind="numeric") for i in range(14)))


def wide_rows(count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.normal(0, 1, count) for name in WIDE.names})


def weighed(frame: pd.DataFrame) -> np.ndarray:
    """Return the probability of a sum over the columns, of which the first ones weigh most."""
    total = np.full(len(frame), -6.0)
    for i, name in enumerate(WIDE.names):
        total = total + frame[name].to_numpy(float) * 2.0 / (1 + 0.3 * i)
    return 1 / (1 + np.exp(-total))


def twisted(frame: pd.DataFrame) -> np.ndarray:
    """Return the same with a twist, so that no sum and no tree is seen in it."""
    return weighed(frame) * (0.75 + 0.25 * np.tanh(frame["x0"] * frame["x1"]).to_numpy(float))


@cache
def wide_desk(*, seen: bool) -> Explainer:
    """Return an explainer of the wide table, for a model that can be seen into or not."""
    return L2C(epochs=0, select="first").fit(wide_rows(200, 0), weighed if seen else twisted, WIDE)
