"""The array vocabulary, written once.

Axes: `rows` are people, `draws` are proposals for one person, `features` are the N features, `width` is the
flat one-hot axis D = Σ c_i, `classes` are the model's classes.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int16, UInt64

Label = str | int | float | bool
"""A class label or a level's value, as the user's data holds it."""

Cells = Float64[np.ndarray, "*batch features"]
"""A table inside L2C: numeric features as numbers, the others as the index of their level, missing as NaN."""

Levels = Int16[np.ndarray, "*batch features"]
"""A table by levels: every cell is the index of its level on that feature's axis."""

Probabilities = Float64[np.ndarray, "rows classes"]
"""A model's answers, one column per class."""

Allowed = Bool[np.ndarray, "rows width"]
"""Which levels may be proposed to each row, on the flat one-hot axis."""

Mask = Bool[np.ndarray, "*batch"]
Keys = UInt64[np.ndarray, " rows"]
