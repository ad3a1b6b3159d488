"""A model for the command line: a logistic regression on German Credit, trained when it is imported.

l2c fit --model examples.credit_model:model ...
"""

from __future__ import annotations

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import l2c

data = l2c.datasets.load("german")
model = make_pipeline(
    make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    ),
    LogisticRegression(max_iter=1000),
).fit(data.train.drop(columns="risk"), data.train["risk"])
