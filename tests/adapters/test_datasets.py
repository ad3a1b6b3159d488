"""The embedded data sets: the publishers' bytes, the paper's rows, the paper's description of them."""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from l2c.adapters import datasets
from l2c.adapters.datasets import Dataset, embedded
from l2c.core.binning import Edges, EqualFrequency, ZeroOrPositive
from l2c.core.feature import Feature
from l2c.core.rules import Implies
from l2c.errors import InputError, StoredFileError

PAPER_SETS = ("german", "adult", "admission", "student")


@pytest.fixture(scope="module")
def loaded() -> dict[str, Dataset]:
    return {name: datasets.load(name) for name in datasets.names()}


def digest(frame: pd.DataFrame) -> str:
    return hashlib.sha256(frame.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def with_role(dataset: Dataset, role: str) -> set[str]:
    return {feature.name for feature in dataset.schema.features if feature.role == role}


def moving(dataset: Dataset, moves: str) -> set[str]:
    return {feature.name for feature in dataset.schema.features if feature.moves == moves}


def level_counts(feature: Feature, column: pd.Series) -> list[int]:
    """Return the number of rows in each level, cut as section 5.3 of the paper says."""
    match feature.binning:
        case EqualFrequency(at_most=at_most):
            cut = pd.qcut(column, at_most, duplicates="drop")
        case ZeroOrPositive():
            cut = column > 0
        case Edges(cuts=cuts):
            cut = pd.cut(column, [-np.inf, *cuts, np.inf])
        case other:
            raise AssertionError(f"the paper does not use {other}")
    return [int(count) for count in cut.value_counts(sort=False).sort_index()]


def width(dataset: Dataset) -> int:
    return sum(
        len(level_counts(feature, dataset.frame[feature.name])) if feature.numeric else len(feature.levels)
        for feature in dataset.schema.features
    )


class TestTheFiles:
    @pytest.mark.parametrize(
        ("name", "sha256"),
        [
            ("german.data", "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871"),
            ("german_psu.csv", "aa0c4bf9a0417cc06c43e2f52bf2d0d8c5cb46c7008637f0b4fd89d6134592cd"),
            ("adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
            ("adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"),
            (
                "Admission_Predict_Ver1.1.csv",
                "4d46ee6b89402ed92c37120672cef85379876ccb72ecb80f58120d7202645dc9",
            ),
            ("student-por.csv", "a7594a11d7771c0efe1a740824e0e833da9c4cad07c39a9766a874575563fb3f"),
        ],
    )
    def test_hold_the_publishers_bytes(self, name: str, sha256: str) -> None:
        assert hashlib.sha256(embedded.published(name).read()).hexdigest() == sha256

    def test_take_less_than_a_megabyte_and_a_half_and_none_is_a_stray(self) -> None:
        sizes = {file.name: len(file.read_bytes()) for file in (files("l2c.adapters") / "data").iterdir()}
        assert set(sizes) == {f"{name}.xz" for name in embedded.SHA256}
        assert sum(sizes.values()) < 1_500_000

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (None, "cannot be read"),
            (b"no xz at all", "cannot be read"),
            (lzma.compress(b"other rows"), "is not what was published"),
        ],
        ids=["missing", "damaged", "swapped"],
    )
    def test_that_are_missing_damaged_or_swapped_are_refused(
        self, content: bytes | None, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if content is not None:
            (tmp_path / "student-por.csv.xz").write_bytes(content)
        monkeypatch.setattr(embedded, "FOLDER", tmp_path)
        with pytest.raises(StoredFileError, match=rf"student-por\.csv\.xz {sentence}.*; install l2c again"):
            datasets.load("student")


class TestLoading:
    def test_an_unknown_name_suggests_the_nearest(self) -> None:
        with pytest.raises(InputError) as caught:
            datasets.load("adlut")
        assert str(caught.value) == "there is no data set 'adlut'; did you mean 'adult'?"

    def test_what_a_caller_does_to_a_frame_stays_with_the_caller(self) -> None:
        first = datasets.load("admission")
        first.frame.loc[0, "gre_score"] = 0
        assert first.train.loc[0, "gre_score"] == 337
        assert datasets.load("admission").frame.loc[0, "gre_score"] == 337

    def test_every_data_set_goes_by_its_name_and_says_where_it_is_from(self, loaded: dict[str, Dataset]) -> None:
        for name, dataset in loaded.items():
            assert dataset.name == name
            assert all((dataset.title, dataset.citation, dataset.licence, dataset.source))

    def test_a_data_set_prints_in_a_line_without_its_rows(self, loaded: dict[str, Dataset]) -> None:
        assert repr(loaded["student"]) == (
            "Dataset(name='student', title='Student Performance', target='passed', desirable='yes', "
            "licence='CC BY 4.0')"
        )


class TestRows:
    @pytest.mark.parametrize(
        ("name", "fit", "dev", "test"),
        [
            ("german", 640, 160, 200),
            ("adult", 28942, 7235, 9045),
            ("admission", 320, 80, 100),
            ("student", 339, 84, 226),
        ],
    )
    def test_there_are_as_many_as_in_the_paper(
        self, name: str, fit: int, dev: int, test: int, loaded: dict[str, Dataset]
    ) -> None:
        dataset = loaded[name]
        assert tuple(len(part) for part in dataset.dev_split(seed=0)) == (fit, dev)
        assert (len(dataset.train), len(dataset.test)) == (fit + dev, test)

    @pytest.mark.parametrize(
        ("name", "desirable", "counts"),
        [
            ("german", "good", {"good": 700, "bad": 300}),
            ("adult", ">50K", {"<=50K": 34014, ">50K": 11208}),
            ("admission", "higher chance", {"higher chance": 300, "lower chance": 200}),
            ("student", "yes", {"yes": 348, "no": 301}),
            ("german_psu", "good", {"good": 700, "bad": 300}),
        ],
    )
    def test_the_classes_are_as_many_as_published_and_the_good_one_is_desirable(
        self, name: str, desirable: str, counts: dict[str, int], loaded: dict[str, Dataset]
    ) -> None:
        dataset = loaded[name]
        assert dataset.frame[dataset.target].value_counts().to_dict() == counts
        assert dataset.desirable == desirable

    @pytest.mark.parametrize(
        ("name", "train", "test"),
        [
            (
                "german",
                "7582a035793730acc2b345dd667f49eb924427edb4fee75bef0ceb01b8503408",
                "78d0b08c35b3346979aa08be65f9bd597e422af7a76d0201e7dbc1e198c93fd4",
            ),
            (
                "admission",
                "f6af97b9b0671562102271184968817348b0191c682b0c0ae78933145e2a02f1",
                "c543454959705116db7d51e486efce9661347f13d1c6f2cefa6e0e5e046c0e5d",
            ),
            (
                "student",
                "ae5e514a6e2db1c0b23f846f7ee2f170dd606fc36597091f73a5ee05fb7c8f45",
                "1859232f7a55420e6cd1680146862fc6aafb6d90e38c201c82ee3238f6015a88",
            ),
        ],
    )
    def test_the_split_is_that_of_the_authors_release_cell_for_cell(
        self, name: str, train: str, test: str, loaded: dict[str, Dataset]
    ) -> None:
        # The digests are of the release's own train and test files, put into our words.
        assert (digest(loaded[name].train), digest(loaded[name].test)) == (train, test)

    def test_the_split_of_adult_does_not_drift(self, loaded: dict[str, Dataset]) -> None:
        assert digest(loaded["adult"].train) == "fec4315e29d0ec8eaf2f0d524e217a038ea7630df010b27cc87bdf5fd46684fe"
        assert digest(loaded["adult"].test) == "65ce16e9e54872252186d623c043138786bd24463f66859dbacd5e18bab7986c"

    @pytest.mark.parametrize("name", PAPER_SETS)
    def test_train_and_test_together_are_all_rows(self, name: str, loaded: dict[str, Dataset]) -> None:
        dataset = loaded[name]
        columns = list(dataset.frame.columns)
        parts = pd.concat([dataset.train, dataset.test]).sort_values(columns, ignore_index=True)
        pd.testing.assert_frame_equal(parts, dataset.frame.sort_values(columns, ignore_index=True))

    def test_german_codes_are_read_into_words(self, loaded: dict[str, Dataset]) -> None:
        # A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1
        assert loaded["german"].frame.iloc[0].to_dict() == {
            "checking_account": "under 0 DM",
            "duration": 6,
            "credit_history": "critical, or credits elsewhere",
            "purpose": "radio or television",
            "credit_amount": 1169,
            "savings_account": "unknown or none",
            "employment_since": "7 years or more",
            "installment_rate": "under 20 %",
            "personal_status": "male",
            "other_debtors": "none",
            "residence_since": "7 years or more",
            "property": "real estate",
            "age": 67,
            "other_installment_plans": "none",
            "housing": "own",
            "existing_credits": "2 or 3",
            "job": "skilled or official",
            "liable_people": "0 to 2",
            "telephone": "yes",
            "foreign_worker": "yes",
            "risk": "good",
        }

    def test_only_the_code_a92_is_a_woman(self, loaded: dict[str, Dataset]) -> None:
        assert loaded["german"].frame["personal_status"].value_counts().to_dict() == {"male": 690, "female": 310}

    def test_adult_drops_unknown_values_the_weight_and_the_years_of_education(self, loaded: dict[str, Dataset]) -> None:
        frame = loaded["adult"].frame
        assert frame.shape == (45222, 13)
        assert not frame.isin(["?"]).any(axis=None)
        assert not frame["income"].str.endswith(".").any()

    def test_students_pass_above_the_mean_of_all(self, loaded: dict[str, Dataset]) -> None:
        raw = pd.read_csv(embedded.published("student-por.csv"), sep=";")
        passes = loaded["student"].frame["passed"] == "yes"
        assert raw.loc[passes, "G3"].min() == 12
        assert raw.loc[~passes, "G3"].max() == 11

    def test_applicants_with_a_chance_of_seventy_percent_are_among_the_higher(self, loaded: dict[str, Dataset]) -> None:
        raw = pd.read_csv(embedded.published("Admission_Predict_Ver1.1.csv"))["Chance of Admit "]
        higher = loaded["admission"].frame["admitted"] == "higher chance"
        assert (raw[higher].min(), raw[~higher].max()) == (0.70, 0.69)

    @pytest.mark.parametrize("name", datasets.names())
    def test_every_part_has_plain_columns_and_an_index_from_zero(self, name: str, loaded: dict[str, Dataset]) -> None:
        dataset = loaded[name]
        for part in (dataset.frame, dataset.train, dataset.test, *dataset.dev_split(seed=1)):
            assert tuple(part.columns) == (*dataset.schema.names, dataset.target)
            assert part.index.equals(pd.RangeIndex(len(part)))
            assert not part.isna().any(axis=None)
            pd.testing.assert_series_equal(part.dtypes, dataset.frame.dtypes)

    @pytest.mark.parametrize("name", datasets.names())
    def test_numbers_are_numbers_and_words_are_strings(self, name: str, loaded: dict[str, Dataset]) -> None:
        dataset = loaded[name]
        kinds = {column: dtype.kind for column, dtype in dataset.frame.dtypes.items()}
        for feature in dataset.schema.features:
            value = feature.levels[0] if feature.levels else (0 if feature.integer else 0.0)
            assert kinds[feature.name] == {int: "i", float: "f", str: "O"}[type(value)], feature.name
        assert all(isinstance(label, str) for label in dataset.frame[dataset.target])

    def test_scikit_learn_takes_the_frames_as_they_are(self, loaded: dict[str, Dataset]) -> None:
        preprocessing = pytest.importorskip("sklearn.preprocessing")
        german = loaded["german"]
        words = german.train.select_dtypes(exclude="number").drop(columns="risk")
        hot = preprocessing.OneHotEncoder().fit_transform(words)
        assert hot.shape == (800, 66)


class TestDevSplit:
    def test_is_the_same_for_the_same_seed_and_another_for_another(self, loaded: dict[str, Dataset]) -> None:
        student = loaded["student"]
        pd.testing.assert_frame_equal(student.dev_split(seed=3)[1], student.dev_split(seed=3)[1])
        assert not student.dev_split(seed=3)[1].equals(student.dev_split(seed=4)[1])

    def test_deals_every_training_row_once_and_keeps_their_order(self, loaded: dict[str, Dataset]) -> None:
        german = loaded["german"]
        numbered = replace(german, train=german.train.assign(credit_amount=range(800)))
        fit, dev = (list(part["credit_amount"]) for part in numbered.dev_split(seed=0))
        assert fit == sorted(fit)
        assert dev == sorted(dev)
        assert sorted(fit + dev) == list(range(800))
        assert set(dev) == set(np.random.default_rng(0).permutation(800)[:160])


class TestSchema:
    @pytest.mark.parametrize(
        ("name", "features", "levels"),
        [("german", 20, 78), ("adult", 12, 109), ("admission", 7, 34), ("student", 14, 48)],
    )
    def test_has_the_papers_width(self, name: str, features: int, levels: int, loaded: dict[str, Dataset]) -> None:
        assert len(loaded[name].schema.features) == features
        assert width(loaded[name]) == levels

    @pytest.mark.parametrize(
        ("name", "feature", "counts"),
        [
            ("german", "duration", [359, 187, 224, 230]),
            ("german", "credit_amount", [250, 250, 250, 250]),
            ("german", "age", [291, 225, 249, 235]),
            ("adult", "age", [14260, 17727, 10387, 2848]),
            ("adult", "capital_gain", [41432, 3790]),
            ("adult", "capital_loss", [43082, 2140]),
            ("adult", "hours_per_week", [3602, 27843, 13777]),
            ("admission", "gre_score", [189, 148, 163]),
            ("admission", "toefl_score", [176, 175, 149]),
            ("admission", "gpa", [170, 163, 167]),
            ("student", "age", [289, 179, 181]),
            ("student", "absences", [466, 183]),
            ("student", "first_grade", [252, 245, 152]),
            ("student", "second_grade", [228, 269, 152]),
        ],
    )
    def test_bins_hold_as_many_rows_as_the_papers(
        self, name: str, feature: str, counts: list[int], loaded: dict[str, Dataset]
    ) -> None:
        dataset = loaded[name]
        assert level_counts(dataset.schema[feature], dataset.frame[feature]) == counts

    @pytest.mark.parametrize("name", PAPER_SETS)
    def test_levels_are_exactly_the_values_of_all_rows(self, name: str, loaded: dict[str, Dataset]) -> None:
        dataset = loaded[name]
        for feature in dataset.schema.features:
            if not feature.numeric:
                assert set(feature.levels) == set(dataset.frame[feature.name]), feature.name

    def test_adult_knows_the_country_that_only_its_test_rows_show(self, loaded: dict[str, Dataset]) -> None:
        adult = loaded["adult"]
        unseen = set(adult.schema["native_country"].levels) - set(adult.train["native_country"])
        assert unseen == {"Holand-Netherlands"}

    def test_education_rises_as_the_publisher_counts_it(self, loaded: dict[str, Dataset]) -> None:
        raw = pd.read_csv(embedded.published("adult.data"), header=None, skipinitialspace=True)
        by_years = raw.groupby(4)[3].unique().explode()
        assert loaded["adult"].schema["education"].levels == tuple(by_years)

    @pytest.mark.parametrize(
        ("name", "never", "rises"),
        [
            (
                "german",
                {"foreign_worker", "liable_people", "personal_status", "purpose"},
                {"age", "employment_since", "residence_since", "duration"},
            ),
            ("adult", {"race", "sex", "native_country", "marital_status"}, {"age", "education"}),
            ("admission", {"university_rating"}, {"research"}),
            ("student", {"mother_education", "father_education", "family_support", "first_grade"}, {"age"}),
        ],
    )
    def test_moves_only_what_the_paper_lets_move(
        self, name: str, never: set[str], rises: set[str], loaded: dict[str, Dataset]
    ) -> None:
        assert moving(loaded[name], "never") == never
        assert moving(loaded[name], "rises") == rises
        assert not moving(loaded[name], "falls")

    @pytest.mark.parametrize(
        ("name", "quasi", "sensitive"),
        [
            (
                "german",
                {
                    "age", "job", "foreign_worker", "personal_status", "employment_since", "residence_since",
                    "property", "housing",
                },
                {"credit_amount", "savings_account"},
            ),
            (
                "adult",
                {"age", "sex", "race", "relationship", "marital_status"},
                {"capital_gain", "capital_loss"},
            ),
            ("admission", set(), set()),
            ("student", set(), set()),
        ],
    )  # fmt: skip
    def test_roles_are_the_papers(
        self, name: str, quasi: set[str], sensitive: set[str], loaded: dict[str, Dataset]
    ) -> None:
        assert with_role(loaded[name], "quasi") == quasi
        assert with_role(loaded[name], "sensitive") == sensitive

    def test_rules_are_the_papers(self, loaded: dict[str, Dataset]) -> None:
        assert {name: loaded[name].schema.rules for name in PAPER_SETS} == {
            "german": (Implies("age", "residence_since"),),
            "adult": (Implies("education", "age"),),
            "admission": (),
            "student": (),
        }

    def test_amounts_that_may_be_unknown_claim_no_order(self, loaded: dict[str, Dataset]) -> None:
        schema = loaded["german"].schema
        unknown = [feature.name for feature in schema.features if "unknown or none" in feature.levels]
        assert unknown == ["savings_account", "property"]
        assert not any(schema[name].ordered for name in [*unknown, "checking_account"])

    def test_instalment_rates_rise_though_their_codes_fall(self, loaded: dict[str, Dataset]) -> None:
        rate = loaded["german"].schema["installment_rate"]
        assert rate.levels == ("under 20 %", "20 to 25 %", "25 to 35 %", "35 % or more")

    @pytest.mark.parametrize("name", datasets.names())
    def test_every_feature_has_a_label_for_people(self, name: str, loaded: dict[str, Dataset]) -> None:
        assert all(feature.label for feature in loaded[name].schema.features)
        assert loaded["german"].schema["credit_amount"].title == "Credit amount (DM)"


class TestDomainSchema:
    @pytest.mark.parametrize("name", datasets.names())
    def test_differs_only_in_cuts_that_name_their_source(self, name: str, loaded: dict[str, Dataset]) -> None:
        dataset = loaded[name]
        back = dataset.domain_schema
        for feature in dataset.schema.features:
            cut = dataset.domain_schema[feature.name].binning
            if feature.numeric:
                assert isinstance(cut, Edges)
                assert cut.source
            back = back.edit(feature.name, binning=feature.binning)
        assert back == dataset.schema

    @pytest.mark.parametrize("name", datasets.names())
    def test_leaves_no_bin_without_training_rows(self, name: str, loaded: dict[str, Dataset]) -> None:
        dataset = loaded[name]
        for feature in dataset.domain_schema.features:
            if feature.numeric:
                assert min(level_counts(feature, dataset.train[feature.name])) > 0, feature.name

    def test_a_grade_of_ten_passes_and_full_time_begins_at_35_hours(self, loaded: dict[str, Dataset]) -> None:
        grades, hours = (
            loaded[name].domain_schema[feature].binning
            for name, feature in (("student", "second_grade"), ("adult", "hours_per_week"))
        )
        assert isinstance(grades, Edges)
        assert isinstance(hours, Edges)
        assert np.searchsorted(grades.cuts, [9, 10]).tolist() == [0, 1]
        assert np.searchsorted(hours.cuts, [34, 35]).tolist() == [0, 1]


class TestThePennStateVersion:
    def test_has_no_split(self, loaded: dict[str, Dataset]) -> None:
        psu = loaded["german_psu"]
        pd.testing.assert_frame_equal(psu.train, psu.frame)
        assert psu.test.shape == (0, 21)

    def test_can_be_compared_with_german_column_by_column(self, loaded: dict[str, Dataset]) -> None:
        german, psu = loaded["german"], loaded["german_psu"]
        pd.testing.assert_series_equal(psu.frame.dtypes, german.frame.dtypes)
        assert psu.schema == german.schema
        for feature in german.schema.features:
            if not feature.numeric:
                assert set(psu.frame[feature.name]) <= set(feature.levels), feature.name

    def test_shares_all_but_a_few_people_with_german(self, loaded: dict[str, Dataset]) -> None:
        german, psu = loaded["german"], loaded["german_psu"]
        quasi = sorted(with_role(german, "quasi"))
        features = list(german.schema.names)

        def shared(columns: list[str]) -> int:
            return len(psu.frame[columns].merge(german.frame[columns].drop_duplicates()))

        assert shared(features) == 947
        assert shared(quasi) == 984
        assert len(german.frame[quasi].drop_duplicates()) == len(psu.frame[quasi].drop_duplicates()) == 890


class TestThePaper:
    def test_rows_are_as_printed(self, loaded: dict[str, Dataset]) -> None:
        columns = [
            "sparsity", "diversity", "harmonic_mean", "validity", "coverage", "unary", "time_s", "min_sparsity",
            "blackbox", "test_accuracy",
        ]  # fmt: skip
        printed = pd.DataFrame([loaded[name].paper for name in PAPER_SETS], index=list(PAPER_SETS))
        expected = pd.DataFrame(
            [
                [61.35, 37.31, 46.39, 100.0, 100.0, 99.06, 18, 20.00, "Logistic Regression", 67.00],
                [45.70, 28.11, 34.80, 100.0, 100.0, 97.62, 444, 30.77, "Neural Network", 85.53],
                [42.23, 37.90, 39.94, 100.0, 100.0, 100.0, 4, 14.29, "Neural Network", 90.60],
                [55.32, 29.54, 38.51, 100.0, 100.0, 100.0, 6, 38.57, "Logistic Regression", 94.69],
            ],
            columns=columns,
            index=list(PAPER_SETS),
        )
        pd.testing.assert_frame_equal(printed, expected)
        assert loaded["german_psu"].paper is None
