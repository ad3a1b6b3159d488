"""What a stream was begun with: by it the next run knows whether it is asked for the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from l2c.adapters.bundles import Bundle, digest_of
from l2c.adapters.models.deciding import described
from l2c.adapters.seals import sha256
from l2c.app.call import Call
from l2c.core.fingerprint import fingerprint, same_model
from l2c.core.types import Probabilities

FOLLOWING = ("pool", "tries")
"""What follows from n and the like, unless it was said itself."""

SHORT = 30
"""The longest text that is repeated when a request is not the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Begun:
    """By what a stream knows whether a part was made for the same request.

    Parameters
    ----------
    told
        What decides the answer, each as a text that is the same however it was said.
    versions
        The answers, to rows that belong to nobody, of other versions of the model that must agree.
    """

    told: Mapping[str, str]
    versions: tuple[Probabilities, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"request": dict(self.told), "versions": [answers.tolist() for answers in self.versions]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Begun:
        """Return what `to_dict` wrote."""
        return cls(data["request"], tuple(np.array(answers) for answers in data["versions"]))

    def differs(self, other: Begun) -> list[str]:
        """Return the names of what is not the same."""
        names = [name for name in sorted({*self.told, *other.told}) if self.told.get(name) != other.told.get(name)]
        if len(self.versions) == len(other.versions) and not all(map(same_model, self.versions, other.versions)):
            names.append("robust")
        return [name for name in names if name not in FOLLOWING] or names

    def recalled(self, names: Iterable[str]) -> str:
        """Return what was asked for by these names, in brackets, where it is short enough to be repeated."""
        said = [f"{name} was {self.told[name]}" for name in names if 0 < len(self.told.get(name, "")) <= SHORT]
        return f" ({', '.join(said)})" if said else ""


def begun_with(call: Call, bundle: Bundle, chunk: int) -> Begun:
    """Return by what a call of an explainer is known again."""
    request, policy = call.request, call.policy
    told: dict[str, Any] = {
        **request.to_dict(),
        **described(call.answerer.aimed),
        "n": request.n,
        "chunk": chunk,
        "pool": (request.pool, request.patience),
        "reasons": request.reasons,
        "desired": request.wish.desired and sorted(request.wish.desired),
        "desired_proba": request.wish.proba,
        "explainer": digest_of(bundle),
    }
    told.pop("limits", None)
    told |= request.wish.limits.in_one_form(call.answerer.schema.features)
    if policy is not None and policy.crowd is not None:
        levels, label = policy.crowd.levels, policy.crowd.label
        content = repr(levels.shape).encode() + levels.tobytes() + (b"" if label is None else label.tobytes())
        # A small population could be guessed by a plain hash.
        told["population"] = sha256(content) if bundle.secret is None else bundle.secret.mark(content)
    texts = {name: json.dumps(_alike(value), sort_keys=True) for name, value in told.items() if value is not None}
    return Begun(texts, tuple(fingerprint(version, call.answerer.layout) for version in call.answerer.also))


def _alike(value: Any) -> Any:
    """Return plain data in which numbers that are equal read alike, whole or not."""
    if isinstance(value, Mapping):
        return {name: _alike(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_alike(part) for part in value]
    plain = value.item() if isinstance(value, np.generic) else value
    return int(plain) if isinstance(plain, float) and plain.is_integer() else plain
