"""What may leave, as a caller asks for it: values or intervals, and no copies of training rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from l2c.core.explanation import Release
from l2c.errors import nearest


@dataclass(frozen=True, slots=True)
class Privacy:
    """What may leave.

    Parameters
    ----------
    release
        Whether numbers leave as values or as intervals over public edges.
    no_copies
        Whether nothing may leave that equals a training row by level; None is what the release makes of it.
    """

    release: Release = "values"
    no_copies: bool | None = None

    @property
    def intervals(self) -> bool:
        return self.release == "intervals"

    @property
    def without_copies(self) -> bool:
        """Whether copies of training rows are held back."""
        return self.intervals if self.no_copies is None else self.no_copies

    def problems(
        self, *, remembers: bool, fitted_for: Release, seed: int | None, seconds: float | None
    ) -> Iterator[str]:
        """Yield what speaks against it, a sentence each.

        Parameters
        ----------
        remembers
            Whether the bundle has a secret key, and the hashes of its training rows.
        fitted_for
            The release that the explainer was fitted for.
        """
        known = get_args(Release)
        if self.release not in known:
            yield f"release must be {' or '.join(map(repr, known))}, not {self.release!r}{nearest(self.release, known)}"
        asked: object = self.no_copies
        if not isinstance(asked, bool | None):
            yield f"no_copies must be True, False or None, not {self.no_copies!r}"
        elif self.without_copies and not remembers:
            yield (
                "no_copies: this bundle was made by a version of L2C that kept no hashes of its training rows; "
                "fit the explainer again"
            )
        if not self.intervals:
            return
        if fitted_for != "intervals":
            yield (
                "release='intervals': the explainer learned from exact numbers; fit it with release='intervals', "
                "so that nothing in it depends on more than the intervals of public edges"
            )
        if seed is not None:
            yield (
                "seed: in an interval release the bundle's secret key decides the draws, so that the same question "
                "always gets the same answer; leave it out"
            )
        if seconds is not None:
            yield "seconds: in an interval release the clock may not change an answer; use tries instead"

    def to_dict(self) -> dict[str, Any]:
        """Return what was asked for, without what is at its default."""
        intervals = {"release": self.release} if self.intervals else {}
        return intervals | ({"no_copies": True} if self.without_copies else {})


OPEN = Privacy()
