"""L2C: diverse, valid, sparse, actionable and plausible counterfactual explanations.

schema = l2c.Schema.infer(df_train, target="risk", immutable=["sex"], rises=["age"])
explainer = l2c.L2C().fit(df_train, model, schema)
found = explainer.explain(df_rows, n=10)
found.to_frame()
"""

from importlib.metadata import version

from l2c import errors
from l2c.adapters import datasets
from l2c.adapters.models import HttpModel, OnnxModel, TorchModel
from l2c.adapters.models.discretised import DiscretisedModel, LevelInput, discretised
from l2c.adapters.models.one_hot_input import OneHotInput
from l2c.adapters.private_edges import PrivateEdges, private_edges
from l2c.adapters.settings import read_schema, write_schema
from l2c.app.audit import Anonymised, anonymise_frame, audit_frame
from l2c.app.audit_report import AuditReport
from l2c.app.explainer import Explainer, load
from l2c.app.explanations import Explanations, read
from l2c.app.gate import Gate
from l2c.app.l2c import L2C
from l2c.app.recheck import Recheck, recheck
from l2c.app.streams import Streamed
from l2c.core.binning import Edges, EqualFrequency, MinimalEntropy, Tree, ZeroOrPositive
from l2c.core.explanation import Outcome, Reason, Relaxation
from l2c.core.feature import Feature
from l2c.core.limits import Limits
from l2c.core.rules import Implies
from l2c.core.schema import Schema

__version__ = version("l2c")

__all__ = [
    "L2C",
    "Anonymised",
    "AuditReport",
    "DiscretisedModel",
    "Edges",
    "EqualFrequency",
    "Explainer",
    "Explanations",
    "Feature",
    "Gate",
    "HttpModel",
    "Implies",
    "LevelInput",
    "Limits",
    "MinimalEntropy",
    "OneHotInput",
    "OnnxModel",
    "Outcome",
    "PrivateEdges",
    "Reason",
    "Recheck",
    "Relaxation",
    "Schema",
    "Streamed",
    "TorchModel",
    "Tree",
    "ZeroOrPositive",
    "anonymise_frame",
    "audit_frame",
    "datasets",
    "discretised",
    "errors",
    "load",
    "private_edges",
    "read",
    "read_schema",
    "recheck",
    "write_schema",
]
