"""The audit at the door: frames and files in; tables, JSON and a page out."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import l2c
from l2c import Edges, Feature, MinimalEntropy, Schema
from l2c.app.audit import anonymise_frame, audit_file, audit_frame, audit_released
from l2c.app.audit_report import AuditReport
from l2c.core.layout import Layout, categorical_axis
from l2c.errors import DataError, InputError
from tables import numeric_axis

SCHEMA = Schema(
    (
        Feature(
            name="age", kind="numeric", integer=True, role="quasi", label="Age", unit="years", binning=Edges((30, 45))
        ),
        Feature(name="job", kind="categorical", levels=("clerk", "nurse"), role="quasi"),
        Feature(name="debt", kind="ordinal", levels=("low", "middle", "high"), role="sensitive", missing=True),
        Feature(name="owner", kind="binary", levels=("no", "yes")),
    ),
    target="paid",
)
FOUND = pd.DataFrame(
    {
        "row": [0, 0, 0, 1, 1],
        "rank": [1, 2, 3, 1, 2],
        "age": [22, 28, 22, 22, 50],
        "job": ["clerk", "clerk", "nurse", "clerk", "clerk"],
        "debt": ["low", "middle", "low", "low", None],
        "owner": ["no", "no", "no", "yes", "yes"],
        "prediction": ["good"] * 5,
    }
)
POPULATION = pd.DataFrame({"age": [22, 29, 70], "job": ["clerk", "clerk", "nurse"], "name": ["Ann", "Bob", "Cy"]})


def numbers(report: AuditReport) -> tuple[object, ...]:
    release = report.figures.levels.release
    return report.figures.people, release.classes, release.by_samples.k, release.by_people and release.by_people.k


# Tables of counterfactuals


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_any_kind_of_frame_is_audited_alike(kind):
    report = audit_frame(kind(FOUND), SCHEMA, population=kind(POPULATION), training=kind(FOUND[list(SCHEMA.names)]))
    assert numbers(report) == (2, 3, 1, 1)
    assert (
        report.to_dict()
        == audit_frame(FOUND, SCHEMA, population=POPULATION, training=FOUND[list(SCHEMA.names)]).to_dict()
    )


def test_whose_set_it_is_may_stand_in_a_column_of_any_name_and_type():
    people = FOUND.rename(columns={"row": "who"}).replace({"who": {0: "ann", 1: "bob"}})
    assert audit_frame(people, SCHEMA).figures.people is None
    assert audit_frame(people, SCHEMA, row="who").to_dict() == audit_frame(FOUND, SCHEMA).to_dict()


def test_without_a_prediction_it_is_no_quasi_identifier():
    mixed = FOUND.assign(prediction=["good", "bad", "good", "good", "good"])
    assert numbers(audit_frame(mixed, SCHEMA))[1] == 4
    assert numbers(audit_frame(mixed.drop(columns="prediction"), SCHEMA))[1] == 3
    renamed = mixed.rename(columns={"prediction": "paid"})
    assert numbers(audit_frame(renamed, SCHEMA, prediction="paid"))[1] == 4


def test_a_missing_prediction_is_a_class_of_its_own():
    unsure = FOUND.assign(prediction=["good", None, "good", "good", "good"])
    report = audit_frame(unsure, SCHEMA)
    assert numbers(report)[1] == 4
    assert "missing" in [one.prediction for one in report.figures.at_risk]


def test_a_feature_may_be_called_row():
    schema = Schema((Feature(name="row", kind="binary", levels=("a", "b"), role="quasi"),))
    frame = pd.DataFrame({"row": ["a", "a", "b"], "row_": [0, 1, 1]})
    assert numbers(audit_frame(frame, schema)) == (2, 2, 1, 1)


def test_another_tool_may_propose_half_a_year():
    halves = FOUND.assign(age=[22.5, 28, 22.5, 22.5, 50])
    assert numbers(audit_frame(halves, SCHEMA)) == (2, 3, 1, 1)
    quantiles = SCHEMA.edit("age", binning=l2c.EqualFrequency(2))
    assert numbers(audit_frame(halves, quantiles)) == (2, 3, 1, 1)


def test_bins_come_from_the_training_rows_where_there_are_any():
    quantiles = SCHEMA.edit("age", binning=l2c.EqualFrequency(2))
    rows = FOUND[[*SCHEMA.names]].assign(age=[30, 30, 45, 60, 60])
    alone = [
        audit_frame(FOUND, quantiles, training=training).figures.levels.release.by_samples.one.samples
        for training in (None, rows)
    ]
    assert alone == [1 / 5, 2 / 5]


def test_known_bins_are_kept():
    layout = Layout(SCHEMA, (numeric_axis((24.0,), low=None, high=None), *map(categorical_axis, SCHEMA.features[1:])))
    assert [one.values["age"] for one in audit_frame(FOUND, layout).figures.at_risk] == [
        "up to 24",
        "up to 24",
        "over 24",
    ]


def test_bins_that_are_learned_from_a_model_are_not_guessed():
    learned = SCHEMA.edit("age", binning=MinimalEntropy())
    with pytest.raises(InputError, match="feature 'age': its bins are learned from a model's answers, which a table "):
        audit_frame(FOUND, learned)


@pytest.mark.parametrize(
    ("frame", "settings", "sentence"),
    [
        (FOUND, {"row": "rows"}, "there is no column 'rows'; did you mean 'row'?"),
        (FOUND, {"prediction": "predict"}, "there is no column 'predict'; did you mean 'prediction'?"),
        (FOUND.drop(columns="age"), {}, "column 'age' is missing, but the schema declares it"),
        (FOUND.assign(job="cook"), {}, "column 'job', row 0: 'cook' is not a known level"),
        (
            FOUND.assign(row=[0, 0, None, 1, 1]),
            {},
            "column 'row', row 2: missing; say whose counterfactual each row is",
        ),
        (
            FOUND.assign(rank=range(5), status=None),
            {},
            "the rows whose 'rank' is 0 are no counterfactuals but the people",
        ),
        (FOUND, {"population": POPULATION.drop(columns="job")}, "population: column 'job' is missing"),
        (FOUND, {"population": POPULATION.assign(age="old")}, "population: column 'age', row 0: 'old' is not a number"),
        (FOUND, {"population": POPULATION.assign(job=3)}, "population: no row can be read"),
        (FOUND, {"training": POPULATION}, "training: column 'debt' is missing"),
        (
            FOUND,
            {"population": POPULATION, "population_prediction": "risk"},
            "population: there is no column 'risk'",
        ),
        (FOUND, {"population_prediction": ["good"]}, "there are predictions for a population, but no population"),
        (
            FOUND,
            {"population": POPULATION, "population_prediction": ["good"]},
            "there are 1 predictions for 3 rows of the population",
        ),
        (
            FOUND,
            {"population": POPULATION, "population_prediction": [1, 0, 1]},
            "the counterfactuals' predictions are such as 'good' and the population's such as 1: a text and a number",
        ),
        (
            FOUND.drop(columns="prediction"),
            {"population": POPULATION, "population_prediction": ["good"] * 3},
            "the population has predictions, but the counterfactuals have none: name their column with prediction=",
        ),
        (FOUND.assign(row=[0, "a", 1, 1, 1]), {}, "column 'row' holds values of mixed or unknown types (object)"),
        (7, {}, "expected a data frame (pandas, polars or Arrow), got int"),
    ],
)
def test_what_cannot_be_audited_is_told_in_a_sentence(frame, settings, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        audit_frame(frame, SCHEMA, **settings)


def test_nothing_to_link_by_is_told():
    with pytest.raises(InputError, match="no feature has the role 'quasi'"):
        audit_frame(FOUND, SCHEMA.edit("age", role="plain").edit("job", role="plain"))


# The population


def test_a_population_needs_the_quasi_identifiers_alone_and_may_have_more():
    linked = audit_frame(FOUND, SCHEMA, population=POPULATION).figures
    assert linked.levels.release.population.one.samples == 0.0
    assert linked.levels.release.population.matched.samples == 3 / 5
    assert (linked.levels.release.population.k, linked.values.release.population.k) == (2, 1)
    assert (linked.population, linked.population_labelled, linked.population_skipped) == (3, False, 0)


def test_predictions_of_the_population_may_be_a_column_or_a_list():
    labels = ["good", "bad", "bad"]
    as_list = audit_frame(FOUND, SCHEMA, population=POPULATION, population_prediction=labels)
    as_column = audit_frame(FOUND, SCHEMA, population=POPULATION.assign(says=labels), population_prediction="says")
    as_array = audit_frame(FOUND, SCHEMA, population=POPULATION, population_prediction=np.array(labels))
    assert as_list.to_dict() == as_column.to_dict() == as_array.to_dict()
    assert as_list.figures.population_labelled
    assert as_list.figures.levels.release.population.one.samples == 3 / 5


def test_rows_that_no_counterfactual_can_match_are_left_out_and_counted():
    strange = POPULATION.assign(job=["clerk", "pilot", None], age=[22, 22, 22.5])
    found = audit_frame(FOUND, SCHEMA, population=strange, population_prediction=["good"] * 3).figures
    assert (found.population, found.population_skipped) == (2, 1)
    assert found.levels.release.population.k == 1


def test_a_population_without_a_match_is_not_applicable():
    old = POPULATION.assign(age=40)
    figures = audit_frame(FOUND, SCHEMA, population=old).figures.levels.release.population
    assert (figures.k, figures.one.samples, figures.matched.samples) == (None, None, 0.0)
    assert "n/a" in str(audit_frame(FOUND, SCHEMA, population=old))


# Releases of L2C


def test_a_release_is_audited_as_its_own_table_is(found):
    own = audit_released(found.released)
    table = audit_frame(found.to_frame(), found.released.layout)
    assert own.to_dict() == table.to_dict()
    assert own.figures.samples == 400
    assert own.figures.labelled


def test_the_attackers_file_finds_people(found, german, model):
    psu = l2c.datasets.load("german_psu").frame
    labels = model.predict(psu[list(german.schema.names)])
    linked = audit_released(found.released, population=psu, population_prediction=labels, training=german.train)
    loose = audit_released(found.released, population=psu)
    assert linked.figures.population == 1000
    with_label, without = (one.figures.levels.release.population.matched.samples for one in (linked, loose))
    assert 0 < with_label <= without
    assert linked.figures.copies.count <= 400


def test_a_class_that_the_model_does_not_know_is_refused(found):
    psu = l2c.datasets.load("german_psu").frame
    with pytest.raises(
        InputError, match=r"the population's prediction 'goood' is no class of the model; .*mean 'good'"
    ):
        audit_released(found.released, population=psu, population_prediction=["goood"] * len(psu))


# Files


@pytest.fixture
def here(tmp_path):
    FOUND.to_csv(tmp_path / "found.csv", index=False)
    POPULATION.assign(says="good").to_csv(tmp_path / "people.csv", index=False)
    FOUND[[*SCHEMA.names]].to_csv(tmp_path / "train.csv", index=False)
    l2c.write_schema(SCHEMA, tmp_path / "schema.toml")
    return tmp_path


def test_any_csv_file_is_audited_with_a_schema(here):
    report = audit_file(
        here / "found.csv",
        schema=here / "schema.toml",
        population=here / "people.csv",
        population_prediction="says",
        training=here / "train.csv",
    )
    expected = audit_frame(
        FOUND, SCHEMA, population=POPULATION, population_prediction=["good"] * 3, training=FOUND[[*SCHEMA.names]]
    )
    assert report.to_dict() == expected.to_dict()


def test_a_found_file_needs_no_schema(found, german, tmp_path):
    found.write(tmp_path / "found.parquet")
    german.train.to_csv(tmp_path / "train.csv", index=False)
    report = audit_file(tmp_path / "found.parquet", training=tmp_path / "train.csv", at_risk=2)
    assert report.to_dict() == audit_released(found.released, training=german.train, at_risk=2).to_dict()
    with pytest.raises(InputError, match="a found file says both itself"):
        audit_file(tmp_path / "found.parquet", row="row")


def test_a_found_file_that_is_read_as_any_table_is_refused(found, german, tmp_path):
    found.write(tmp_path / "found.parquet")
    l2c.write_schema(german.schema, tmp_path / "schema.toml")
    with pytest.raises(DataError, match="the rows whose 'rank' is 0 are no counterfactuals but the people themselves"):
        audit_file(tmp_path / "found.parquet", schema=tmp_path / "schema.toml")


def test_a_csv_file_without_a_schema_is_refused(here):
    with pytest.raises(InputError, match=r"found.csv' is no found file: give the schema of its columns"):
        audit_file(here / "found.csv")


# Verdicts


def test_a_policy_is_checked_by_its_text():
    report = audit_frame(FOUND, SCHEMA, population=POPULATION)
    assert report.violations("k=1,k_map=2") == []
    assert report.violations("k=2,scope=release,count=people") == [
        "k=2: the smallest class of the release has 1 person"
    ]


# For people


REPORT = audit_frame(FOUND, SCHEMA, population=POPULATION, training=FOUND[[*SCHEMA.names]][:2], at_risk=2)

PRINTED = """\
By level: numbers are intervals

                                             in each set   in the release   people in the release
 ─────────────────────────────────────────────────────────────────────────────────────────────────
  Can a person be singled out?
    smallest class (k)                                 1                1                       1
    1-anonymity, of classes                      75.00 %          66.67 %                 66.67 %
    1-anonymity, of members                      66.67 %          40.00 %                100.00 %
    highest risk: prosecutor                    100.00 %         100.00 %                100.00 %
    expected share: marketer                     83.33 %          60.00 %                100.00 %

  Can a person's 'debt' be inferred?
    fewest values (l)                                  1                1                       –
    1-diversity, of classes                      75.00 %          66.67 %                       –
    1-diversity, of members                      66.67 %          40.00 %                100.00 %
    largest distance (t)                           0.500            0.800                       –

  Can a person be found in the population?
    fewest matches (k-map)                             2                2                       –
    matched, of members                          58.33 %          60.00 %                100.00 %
    1-map, of members                             0.00 %           0.00 %                  0.00 %
    1-map, of the matched                         0.00 %           0.00 %                  0.00 %
    highest risk: journalist                     50.00 %          50.00 %                       –
    expected share: marketer                     29.17 %          30.00 %                 50.00 %

  Do training rows come back?
    equal by level, of members                         –          40.00 %                 50.00 %
"""

RISKS = """\
The smallest classes of the release

                                                                                           values of
  quasi-identifiers                                     samples   people   population           debt
 ────────────────────────────────────────────────────────────────────────────────────────────────────
  Age (years): up to 30; job: nurse; prediction: good         1        1            0              1
  Age (years): over 45; job: clerk; prediction: good          1        1            0              1
"""


def tidy(text):
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


def test_the_tables_of_a_terminal_read_so():
    text = tidy(str(REPORT))
    assert text.startswith(PRINTED)
    assert "By value: numbers are exact" in text
    assert text.endswith(RISKS)


def test_square_brackets_in_words_are_not_markup():
    words = SCHEMA.edit("job", levels=("[red]clerk[/red]", "[b]"), label="[bold]job")
    frame = FOUND.assign(job=["[b]"] * 5)
    assert "[bold]job: [b]" in str(audit_frame(frame, words))


def test_without_people_or_sets_a_dash_stands_in_their_place():
    text = str(audit_frame(FOUND.drop(columns="row"), SCHEMA))
    assert re.search(r"smallest class \(k\) +– +1 +–", text)


def test_json_holds_every_figure(tmp_path):
    REPORT.write(tmp_path / "audit.json")
    assert json.loads((tmp_path / "audit.json").read_text()) == REPORT.to_dict()
    with pytest.raises(InputError, match=r"the name of a report must end in .json or .html"):
        REPORT.write(tmp_path / "audit.pdf")


class Links(HTMLParser):
    """Everything that a page asks the world for, and whether its tags close."""

    VOID = ("meta",)

    def __init__(self):
        super().__init__()
        self.asked, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.asked += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parsed(page):
    links = Links()
    links.feed(page)
    links.close()
    return links


def test_the_page_needs_nothing_from_outside(tmp_path):
    REPORT.write(tmp_path / "audit.html", "k=5,l=2")
    page = (tmp_path / "audit.html").read_text("utf-8")
    links = parsed(page)
    assert (links.asked, links.open) == ([], [])
    assert "url(" not in page
    assert "@import" not in page
    assert "<script" not in page


def test_the_page_says_in_sentences_what_was_found():
    text = " ".join(parsed(REPORT.page()).text)
    for sentence in (
        "5 counterfactuals for 2 people, linked by Age (years), job, the predicted class.",
        "In a set, 75.00 % of the classes have a single member; the smallest has 1.",
        "In the whole release, 100.00 % of the people have a counterfactual that they share with nobody.",
        "In a set, 75.00 % of the classes have a single value of 'debt'.",
        "Linked without the predicted class, 0.00 % of the counterfactuals match exactly one row of the population",
        "2 counterfactuals (40.00 %) equal a training row by level.",
    ):
        assert sentence in text
    assert "policy" not in text


def test_the_page_gives_the_verdict_on_a_policy():
    kept, broken = REPORT.page("k=1"), REPORT.page("k=5,l=2")
    assert "The policy holds.</b> Required: k=1." in kept
    assert "The policy does not hold.</b> Required: k=5,l=2.<ul><li>k=5: the smallest class of a set has 1" in broken


def test_the_page_of_a_bare_table_says_what_it_can():
    bare = audit_frame(
        FOUND.drop(columns=["row", "prediction"]), SCHEMA, population=POPULATION.assign(age=40), at_risk=0
    )
    text = " ".join(parsed(bare.page()).text)
    assert "5 counterfactuals, linked by Age (years), job." in text
    assert "In the table, 40.00 % of the counterfactuals are alone in their class." in text
    assert "none matches the population of 3 rows: that proves nothing about another population." in text
    assert "smallest classes" not in text


def test_rows_of_the_population_that_were_left_out_are_told_on_the_page():
    strange = POPULATION.assign(job=["clerk", "pilot", "nurse"])
    page = audit_frame(FOUND, SCHEMA, population=strange).page()
    assert "1 more rows of the population hold a value that no counterfactual can have" in page


def test_words_cannot_break_out_of_the_page():
    evil = SCHEMA.edit("job", levels=("<script>alert(1)</script>", "b"), label="<img src=x>")
    page = audit_frame(FOUND.assign(job=evil["job"].levels[0]), evil).page("k=1")
    assert parsed(page).asked == []
    assert "<script" not in page


def test_the_page_holds_no_value_but_quasi_identifiers():
    odd = FOUND.assign(debt=["high"] * 5, age=[23, 23, 24, 23, 61], owner="yes")
    text = " ".join(parsed(audit_frame(odd, SCHEMA).page()).text)
    assert not re.search(r"\bhigh\b|\byes\b|\b24\b", text)


def test_a_notebook_shows_the_page():
    assert REPORT._repr_html_() in REPORT.page()


def test_an_empty_release_has_a_report_too(found):
    nothing = {
        name: getattr(found.released, name)[:0] for name in ("row", "rank", "levels", "cells", "chance", "valid")
    }
    fields = {name: getattr(found.released, name) for name in type(found.released).__dataclass_fields__}
    long = {name: fields[name][:0] for name in ("predicted",)}
    report = audit_released(type(found.released)(**(fields | nothing | long)))
    assert report.violations("k=5,l=2,t=0.1") == []
    assert "n/a" in str(report)
    assert "0 counterfactuals for 0 people" in report.page()


@pytest.mark.parametrize(
    ("at_risk", "words"), [("x", "must be a whole number, not 'x'"), (-1, "must be at least 0, not -1")]
)
def test_how_many_classes_are_listed_is_a_number(at_risk, words):
    with pytest.raises(InputError, match=f"^at_risk {words}$"):
        audit_frame(FOUND, SCHEMA, at_risk=at_risk)


def test_what_describes_no_table_is_refused():
    for call in (audit_frame, anonymise_frame):
        with pytest.raises(InputError, match=r"^expected an l2c.Schema or the layout of an explainer, not 5$"):
            call(FOUND, 5)


def test_a_requirement_is_a_text_or_one():
    with pytest.raises(InputError, match=r"^'5': expected name=value, such as k=5$"):
        REPORT.violations(5)
