"""What `import l2c` gives: names that are true, described, light to import, and without side effects."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import l2c
from l2c import errors

PACKAGE = Path(l2c.__file__).parent
DESIGNED = {
    "Schema": {"infer", "edit", "to_dict", "from_dict", "names", "features", "rules", "limits", "target", "sentences"},
    "L2C": {"fit", "paper"},
    "Explainer": {"explain", "explain_stream", "curve", "save", "schema", "layout", "classes", "training"},
    "Explanations": {
        "anonymise",
        "audit",
        "to_frame",
        "representatives",
        "outcomes",
        "scores",
        "write",
        "schema",
        "features",
        "_repr_html_",
        "__len__",
    },
    "Outcome": {"status", "sentence", "found", "tries", "reason"},
    "Reason": {"proven", "relaxations", "to_dict", "from_dict"},
    "Relaxation": {"limit", "feature", "value", "sentence"},
    "Implies": {"cause", "effect", "how", "sentence"},
    "Limits": {
        "lock",
        "permit",
        "forbid",
        "where",
        "max_changes",
        "min_sparsity",
        "max_cost",
        "sentences",
        "to_dict",
        "from_dict",
    },
    "Gate": {"k", "l", "t", "population", "k_map", "scope", "count", "generalise", "sentence", "to_dict"},
    "load": set(),
    "read": set(),
    "recheck": set(),
    "Recheck": {
        "holds",
        "people",
        "affected",
        "all_hold",
        "sentence",
        "to_frame",
        "lost",
        "by_person",
        "to_dict",
        "write",
    },
    "Streamed": {"folder", "rows", "counterfactuals", "outcomes", "parts", "parts_before", "read"},
    "datasets": {"load", "names"},
}
ARGUMENTS = {
    "Schema.infer": [
        "frame", "target", "immutable", "rises", "falls", "rules", "quasi", "sensitive", "ordinal", "bins", "costs",
        "limits",
    ],
    "L2C.fit": [
        "self", "frame", "model", "schema", "threshold", "desired", "seed", "dev", "release", "key", "progress",
    ],
    "Explainer.explain": [
        "self", "frame", "n", "seed", "desired", "desired_proba", "lock", "permit", "forbid", "where", "max_changes",
        "min_sparsity", "max_cost", "limits", "robust", "gate", "plausibility", "select", "pool", "tries", "seconds",
        "reasons", "release", "no_copies", "progress",
    ],
    "Explainer.explain_stream": ["self", "source", "out", "n", "chunk", "progress", "asked"],
    "Explainer.curve": ["self", "frame", "reference", "n", "places", "seed", "pool"],
    "Explanations.scores": ["self", "reference", "held_out"],
    "Explanations.audit": ["self", "population", "population_prediction", "training", "at_risk"],
    "Explanations.write": ["self", "path"],
    "Explainer.save": ["self", "folder"],
    "load": ["folder", "model"],
    "read": ["path", "model"],
    "recheck": ["found", "model", "threshold"],
}  # fmt: skip


def after_import(expression):
    """Return what an expression is worth in a fresh interpreter that has imported nothing but l2c."""
    code = f"import json, sys; before = set(sys.modules); import l2c; print(json.dumps({expression}))"
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


# Names


def test_every_name_of_all_exists_once_and_in_the_order_that_ruff_keeps():
    assert [name for name in l2c.__all__ if not hasattr(l2c, name)] == []
    assert len(set(l2c.__all__)) == len(l2c.__all__)
    constants, classes, others = (
        sorted(name for name in l2c.__all__ if belongs(name))
        for belongs in (str.isupper, lambda name: name[0].isupper() and not name.isupper(), str.islower)
    )
    assert l2c.__all__ == [*constants, *classes, *others]


def test_all_leaves_nothing_out_that_the_package_shows():
    shown = {name for name in vars(l2c) if not name.startswith("_")}
    layers = {"adapters", "app", "compat", "core", "engine", "evaluate", "release", "baselines", "bench"}
    assert shown - layers - {"version"} == set(l2c.__all__)


@pytest.mark.parametrize("name", DESIGNED)
def test_a_name_of_the_design_is_there_with_its_members(name):
    assert name in l2c.__all__
    found = getattr(l2c, name)
    members = set(dir(found)) | set(getattr(found, "__dataclass_fields__", ()))
    assert members >= DESIGNED[name]


@pytest.mark.parametrize("path", ARGUMENTS)
def test_a_function_of_the_design_takes_these_arguments(path):
    function = l2c
    for name in path.split("."):
        function = getattr(function, name)
    assert list(inspect.signature(function).parameters) == ARGUMENTS[path]


def test_settings_are_given_by_name():
    positional = {
        path: [
            name
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and name != "self"
        ]
        for path, function in {
            "fit": l2c.L2C.fit,
            "explain": l2c.Explainer.explain,
            "infer": l2c.Schema.infer,
            "load": l2c.load,
            "read": l2c.read,
        }.items()
    }
    assert positional == {
        "fit": ["frame", "model", "schema"],
        "explain": ["frame", "n"],
        "infer": ["frame"],
        "load": ["folder"],
        "read": ["path"],
    }
    assert [p.kind.name for p in inspect.signature(l2c.L2C).parameters.values() if p.kind.name != "KEYWORD_ONLY"] == []


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert l2c.__version__ == version("l2c")


# Words


def test_every_public_thing_and_its_public_methods_have_a_docstring():
    silent = []
    for name in l2c.__all__:
        thing = getattr(l2c, name)
        if not (thing.__doc__ or "").strip():
            silent.append(name)
        if inspect.isclass(thing):
            silent += [
                f"{name}.{member}"
                for member, value in vars(thing).items()
                if not member.startswith("_")
                and (inspect.isfunction(value) or isinstance(value, classmethod | staticmethod))
                and not inspect.getdoc(value)
            ]
    assert silent == []


def test_every_public_function_and_class_of_every_module_is_described():
    silent = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        if tree.body and not ast.get_docstring(tree):
            silent.append(str(path.relative_to(PACKAGE)))
        for node in tree.body:
            named = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            # A line or two that say what they do need no more words.
            if named and not ast.get_docstring(node) and (isinstance(node, ast.ClassDef) or len(node.body) > 2):
                silent.append(f"{path.relative_to(PACKAGE)}: {node.name}")
    assert silent == []


def test_every_error_stands_in_the_tree_of_its_module():
    classes = [thing for thing in vars(errors).values() if inspect.isclass(thing) and issubclass(thing, Exception)]
    tree = errors.__doc__
    for kind in classes:
        assert kind.__name__ in tree
        assert issubclass(kind, errors.L2CError)
    lines = [line.replace("│", " ") for line in tree.splitlines() if "── " in line or line.strip() == "L2CError"]
    depth = {line.split("── ")[-1].split()[0]: len(line) - len(line.lstrip(" ├└─")) for line in lines}
    for kind in classes:
        parent = kind.__mro__[1].__name__
        assert depth[kind.__name__] > depth.get(parent, -1)


# Importing


def test_importing_is_light():
    heavy = ["torch", "sklearn", "polars", "typer", "matplotlib", "scipy", "xgboost", "hypothesis"]
    assert after_import(f"[name for name in {heavy} if name in sys.modules]") == []


def test_importing_changes_nothing_of_the_process():
    code = (
        "import json, logging, os, random, sys, warnings\n"
        "import numpy as np, pandas as pd, pyarrow\n"
        "def state():\n"
        "    return [str(warnings.filters), str(np.geterr()), str(np.get_printoptions()), str(random.getstate()),\n"
        "            str(np.random.get_state()), str(logging.getLogger().handlers), logging.getLogger().level,\n"
        "            sorted(os.environ.items()), os.getcwd(), sys.path, sys.getrecursionlimit(),\n"
        "            pd.get_option('display.max_rows'), pd.get_option('display.width')]\n"
        "import narwhals, rich.table\n"  # others may do as they like
        "before = json.dumps(state())\n"
        "import l2c\n"
        "print(json.dumps(state()) == before)\n"
    )
    ended = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert (ended.stdout, ended.stderr) == ("True\n", "")


def calls_in(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_no_module_prints_logs_warns_or_keeps_global_state():
    banned = {
        "print", "logging.basicConfig", "warnings.filterwarnings", "warnings.simplefilter", "np.seterr",
        "np.random.seed", "random.seed", "torch.manual_seed", "torch.set_default_dtype", "pd.set_option", "exec",
        "eval", "pickle.load", "pickle.loads", "torch.load", "joblib.load",
    }  # fmt: skip
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        found += [f"{path.name}: {call}" for call in calls_in(tree) if call in banned]
        found += [f"{path.name}: global" for node in ast.walk(tree) if isinstance(node, ast.Global)]
    assert found == []
