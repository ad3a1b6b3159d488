"""A threshold other than one half holds wherever a decision is made; everything is judged again from scratch."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import l2c
from l2c.adapters.frames import read, strict
from l2c.app import service
from l2c.engine.reference import fit_reference, to_arrays
from l2c.errors import InputError, OtherModelError
from l2c.evaluate.plausibility import Reference
from l2c.evaluate.scorecard import scorecard

QUICK = l2c.L2C(epochs=3, select="first", model_rows=2000)


def names_of(german):
    return list(german.schema.names)


def tenths(frame):
    """Return the probability of the second class: a whole number of tenths, so that many stand on a threshold."""
    poor = (frame["checking_account"] == "no account").to_numpy()
    odds = 2.0 - frame["duration"].to_numpy() / 12 + 1.5 * poor - frame["credit_amount"].to_numpy() / 6000
    return np.round(10 / (1 + np.exp(-odds))) / 10


tenths.classes = ("bad", "good")


@pytest.mark.parametrize("threshold", [0.3, 0.7])
def test_every_counterfactual_is_on_its_side_of_the_threshold_and_none_is_on_it(german, threshold):
    explainer = QUICK.fit(german.train, tenths, german.schema, threshold=threshold)
    rows = german.test[:40]
    found = explainer.explain(rows, 8)
    now, then = tenths(rows), tenths(found.to_frame())
    long = found.to_frame()
    second = np.array([label == tenths.classes[1] for label in long["prediction"]])
    assert len(long) > 200
    assert (now == threshold).any(), "no row stands on the threshold, so the test says nothing of ties"
    assert (then[second] > threshold).all()
    assert (then[~second] < threshold).all()
    # Each person gets the class that they do not have; who stands on the threshold has the first.
    has_second = now[long["row"].to_numpy()] > threshold
    assert (second == ~has_second).all()
    assert found.released.current.tolist() == (now > threshold).astype(int).tolist()


def test_the_probability_that_is_told_is_the_models_own(german):
    found = QUICK.fit(german.train, tenths, german.schema, threshold=0.3).explain(german.test[:20], 5)
    long = found.to_frame()
    own = tenths(long)
    second = (long["prediction"] == tenths.classes[1]).to_numpy()
    np.testing.assert_allclose(long["probability"], np.where(second, own, 1 - own), atol=1e-12)


def test_at_one_half_the_answers_are_those_without_a_threshold(german, model):
    plain = QUICK.fit(german.train, model, german.schema).explain(german.test[:20], 5).to_frame()
    half = QUICK.fit(german.train, model, german.schema, threshold=0.5).explain(german.test[:20], 5).to_frame()
    assert half.equals(plain)


def test_who_is_beyond_the_threshold_has_the_class_already(german, model):
    explainer = QUICK.fit(german.train, model, german.schema, threshold=0.3)
    good = list(model.classes_).index("good")
    rows = german.test[:60]
    proba = model.predict_proba(rows[names_of(german)])[:, good]
    found = explainer.explain(rows, 2, desired="good")
    assert good == 1
    assert [outcome.status == "already" for outcome in found.outcomes] == (proba > 0.3).tolist()


def test_it_is_kept_in_the_bundle_and_in_the_found_file(german, model, tmp_path):
    explainer = QUICK.fit(german.train, model, german.schema, threshold=0.3)
    assert explainer.bundle.notes["threshold"] == 0.3
    explainer.save(tmp_path / "bundle")
    again = l2c.load(tmp_path / "bundle", model=model)
    rows = german.test[:20]
    found = again.explain(rows, 5)
    assert found.to_frame().equals(explainer.explain(rows, 5).to_frame())
    found.write(tmp_path / "found.parquet")
    stored = l2c.read(tmp_path / "found.parquet", model=model)
    assert (stored.mark.threshold, stored.released.goal.threshold) == (0.3, 0.3)
    assert stored.notes["threshold"] == 0.3
    assert stored.scores(german.train).to_dict() == found.scores(german.train).to_dict()


def test_the_laws_and_the_reference_know_the_classes_as_they_are_decided(german, model):
    explainer = QUICK.fit(german.train, model, german.schema, threshold=0.3, dev=german.test)
    cells = strict(read(german.train, german.schema))
    second = model.predict_proba(german.train[names_of(german)])[:, 1] > 0.3
    levels = explainer.layout.levels(cells)
    for law, members in zip(explainer.bundle.counterer.laws, (~second, second), strict=True):
        expected = to_arrays("law", fit_reference(explainer.layout, levels[members]))
        found = to_arrays("law", law)
        assert all(np.array_equal(found[name], array) for name, array in expected.items())
    found, held_out = explainer.explain(german.test[:20], 5), german.test[100:]
    apart = model.predict_proba(held_out[names_of(german)])[:, 1] > 0.3
    reference = Reference(cells, second.astype(int), strict(read(held_out, german.schema)), apart.astype(int))
    assert found.scores(german.train, held_out) == scorecard(found.released, reference)


def test_learning_with_gradients_aims_beyond_the_threshold(german):
    inputs = l2c.OneHotInput.fit(german.train, german.schema)
    module = torch.nn.Linear(inputs.width, 1)
    with torch.no_grad():
        module.weight.copy_(torch.sin(torch.arange(inputs.width))[None] / 2)
        module.bias.copy_(-(torch.from_numpy(inputs.transform(german.train)) @ module.weight.T).median())
    model = l2c.TorchModel(module, inputs, classes=("bad", "good"))
    method = l2c.L2C(epochs=15, select="first", beta=0.1)
    found = method.fit(german.train, model, german.schema, threshold=0.8).explain(german.test[:30], 5, desired="good")
    long = found.to_frame()
    chance = torch.sigmoid(module(torch.from_numpy(inputs.transform(long[names_of(german)]))))[:, 0].detach().numpy()
    assert (chance > 0.8).all()
    plain = method.fit(german.train, model, german.schema).explain(german.test[:30], 5, desired="good")
    shift = chance.mean() - plain.to_frame()["probability"].mean()
    assert model.threshold is None
    assert shift > 0


def test_what_cannot_be_a_threshold_is_told(german, model):
    with pytest.raises(InputError, match="threshold is a probability above 0 and below 1, not 30"):
        QUICK.fit(german.train, model, german.schema, threshold=30)


def test_a_range_of_probability_stands_instead_of_the_threshold(german, model):
    explainer = QUICK.fit(german.train, model, german.schema, threshold=0.3)
    long = explainer.explain(german.test[:20], 4, desired="good", desired_proba=(0.1, 0.2)).to_frame()
    proba = model.predict_proba(long[names_of(german)])[:, 1]
    assert len(long)
    assert ((proba >= 0.1) & (proba <= 0.2)).all()
    assert set(long["prediction"]) == {"bad"}


def test_a_margin_is_beside_the_threshold(german, model):
    explainer = QUICK.fit(german.train, model, german.schema, threshold=0.3)
    long = explainer.explain(german.test[:30], 4, robust=0.2).to_frame()
    proba = model.predict_proba(long[names_of(german)])[:, 1]
    good = (long["prediction"] == "good").to_numpy()
    assert good.any()
    assert (proba[good] >= 0.5 - 1e-9).all()
    assert (proba[~good] <= 0.1 + 1e-9).all()
    with pytest.raises(InputError, match=r"^robust=0.3 leaves no room beside the threshold 0.3$"):
        explainer.explain(german.test[:2], 1, robust=0.3)


def test_recheck_decides_by_the_same_threshold_or_by_another(german, model):
    found = QUICK.fit(german.train, model, german.schema, threshold=0.3).explain(german.test[:20], 5)
    assert l2c.recheck(found, model=model).all_hold
    stricter = l2c.recheck(found, model=model, threshold=0.6)
    long = found.to_frame()
    proba = model.predict_proba(long[names_of(german)])[:, 1]
    expected = np.where(long["prediction"] == "good", proba > 0.6, proba < 0.6)
    assert stricter.holds.tolist() == expected.tolist()
    assert not stricter.all_hold


def test_on_the_command_line_it_is_given_when_fitting(german, tmp_path, monkeypatch):
    service.export_dataset("german", tmp_path)
    (tmp_path / "threshold_credit.py").write_text(
        "import numpy as np\n"
        "def model(frame):\n"
        "    return 1 / (1 + np.exp(frame['duration'].to_numpy() / 10 - 2))\n"
        "model.classes = ('bad', 'good')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    few = german.train[:60]
    few.to_csv("few.csv", index=False)
    explainer = service.fit_bundle(
        Path("few.csv"), Path("german_schema.toml"), "threshold_credit:model", Path("bundle"), preset="default", seed=0,
        threshold=0.3, progress=None,
    )  # fmt: skip
    assert explainer.bundle.mark.threshold == 0.3
    from threshold_credit import model

    assert l2c.load("bundle", model=model).blackbox.threshold == 0.3
    with pytest.raises(OtherModelError):
        l2c.load("bundle", model=lambda frame: np.full(len(frame), 0.4))
