"""A model named on the command line is imported, never unpickled, and a mistake is told in a sentence."""

from __future__ import annotations

import sys

import pytest

from l2c.adapters.models.imported import import_model
from l2c.errors import InputError

SHOP = """
class Shelf:
    best = "the best model"

credit_model = "a model"
shelf = Shelf()
number = 5
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Work in an empty folder, and forget its modules afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    (tmp_path / "l2c_test_shop.py").write_text(SHOP)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("l2c_test_"):
            del sys.modules[name]


def refusal(name: str) -> str:
    with pytest.raises(InputError) as caught:
        import_model(name)
    return str(caught.value)


def test_an_object_of_a_module_beside_the_caller_is_found():
    assert import_model("l2c_test_shop:credit_model") == "a model"


def test_an_attribute_of_an_object_is_found():
    assert import_model("l2c_test_shop:shelf.best") == "the best model"


def test_a_module_inside_a_package_is_found(tmp_path):
    (tmp_path / "l2c_test_bank").mkdir()
    (tmp_path / "l2c_test_bank" / "models.py").write_text("scorer = 'scored'")
    assert import_model("l2c_test_bank.models:scorer") == "scored"


def test_an_installed_module_is_found():
    assert import_model("json:dumps.__name__") == "dumps"


def test_naming_models_twice_adds_the_folder_once(tmp_path):
    import_model("l2c_test_shop:credit_model")
    import_model("l2c_test_shop:number")
    assert sys.path.count(str(tmp_path)) == 1


@pytest.mark.parametrize("name", ["model.pkl", "model.pickle", "folder/model.joblib", "model.dill"])
def test_a_pickle_is_never_loaded(name):
    assert refusal(name) == (
        f"--model '{name}': a pickle is never loaded, for it can run any code; "
        "name a Python object instead, as package.module:object"
    )


@pytest.mark.parametrize("name", ["", "model", "model.py", ":model", "l2c_test_shop:"])
def test_a_name_of_another_form_says_which_form_is_expected(name):
    assert refusal(name) == f"--model '{name}': expected package.module:object"


def test_a_module_that_is_not_there_is_named():
    assert refusal("l2c_test_nowhere:model") == "--model 'l2c_test_nowhere:model': No module named 'l2c_test_nowhere'"


def test_a_module_that_lacks_a_dependency_names_it(tmp_path):
    (tmp_path / "l2c_test_needy.py").write_text("import l2c_test_absent")
    assert refusal("l2c_test_needy:model") == "--model 'l2c_test_needy:model': No module named 'l2c_test_absent'"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("model = open('no.csv')", "FileNotFoundError: [Errno 2] No such file or directory: 'no.csv'"),
        ("def model(:", "SyntaxError: invalid syntax (l2c_test_broken.py, line 1)"),
    ],
)
def test_a_module_that_fails_while_it_is_imported_tells_how(tmp_path, code, told):
    (tmp_path / "l2c_test_broken.py").write_text(code)
    assert refusal("l2c_test_broken:model") == f"--model 'l2c_test_broken:model': importing it raised {told}"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("credit_modle", "there is no 'credit_modle' in it; did you mean 'credit_model'?"),
        ("zzz", "there is no 'zzz' in it"),
        ("shelf.bset", "there is no 'bset' in it; did you mean 'best'?"),
        ("number.model", "there is no 'model' in it"),
    ],
)
def test_an_object_that_is_not_there_is_named_with_the_nearest_one(name, told):
    assert refusal(f"l2c_test_shop:{name}") == f"--model 'l2c_test_shop:{name}': {told}"
