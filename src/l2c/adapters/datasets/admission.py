"""Graduate Admission: applicants to a Master's programme, and whether their chance is 70 % or more."""

from __future__ import annotations

import pandas as pd

from l2c.adapters.datasets.codebook import Codebook, decoded, levels
from l2c.adapters.datasets.dataset import Dataset, PaperRow, with_cuts
from l2c.adapters.datasets.embedded import published
from l2c.core.binning import Edges, EqualFrequency
from l2c.core.feature import Feature
from l2c.core.schema import Schema

TRAIN_ROWS = 400
HIGHER_CHANCE = 0.7

WORDS: Codebook = {
    "research": {0: "no", 1: "yes"},
    "admitted": {0: "lower chance", 1: "higher chance"},
}
HALF_POINTS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)


def _score(name: str, label: str, unit: str, *, integer: bool) -> Feature:
    return Feature(name=name, kind="numeric", integer=integer, label=label, unit=unit, binning=EqualFrequency(3))


SCHEMA = Schema(
    (
        _score("gre_score", "GRE score", "of 340", integer=True),
        _score("toefl_score", "TOEFL score", "of 120", integer=True),
        Feature(
            name="university_rating",
            kind="ordinal",
            levels=(1, 2, 3, 4, 5),
            label="University rating",
            unit="of 5",
            moves="never",
        ),
        Feature(
            name="statement_of_purpose",
            kind="ordinal",
            levels=HALF_POINTS,
            label="Statement of purpose",
            unit="of 5",
        ),
        Feature(
            name="letter_of_recommendation",
            kind="ordinal",
            levels=HALF_POINTS,
            label="Letter of recommendation",
            unit="of 5",
        ),
        _score("gpa", "Undergraduate GPA", "of 10", integer=False),
        Feature(
            name="research",
            kind="binary",
            levels=levels(WORDS["research"]),
            label="Research experience",
            moves="rises",
        ),
    ),
    target="admitted",
)

# Bins are closed on the right: a level that begins at 300 is cut at 299, one that begins at 8.00 at 7.99.
DOMAIN_SCHEMA = with_cuts(
    SCHEMA,
    {
        "gre_score": Edges(
            (299, 319),
            "ETS, GRE Guide to the Use of Scores: two sections from 130 to 170; cut where their mean reaches "
            "150, the middle of the scale, and 160",
        ),
        "toefl_score": Edges((94, 113), "ETS, TOEFL iBT scores and CEFR levels: B2 below 95, C1 from 95, C2 from 114"),
        "gpa": Edges(
            (7.99, 8.99),
            "University Grants Commission (India), Choice Based Credit System, 10-point scale: "
            "8 is very good, 9 is excellent",
        ),
    },
)


def load_admission() -> Dataset:
    """Return Graduate Admission, its first 400 rows to train."""
    frame = _rows()
    return Dataset(
        name="admission",
        title="Graduate Admission",
        frame=frame,
        train=frame[:TRAIN_ROWS].copy(),
        test=frame[TRAIN_ROWS:].reset_index(drop=True),
        schema=SCHEMA,
        domain_schema=DOMAIN_SCHEMA,
        target="admitted",
        desirable="higher chance",
        citation="Acharya, M. S., Armaan, A. and Antony, A. S. (2019). A Comparison of Regression Models for "
        "Prediction of Graduate Admissions. IEEE International Conference on Computational Intelligence in Data "
        "Science.",
        licence="CC0 1.0 (as stated on Kaggle)",
        source="Kaggle, Graduate Admission 2, Admission_Predict_Ver1.1.csv; "
        "bytes from the Python package shap-bootstrap 0.0.13",
        paper=PaperRow(
            sparsity=42.23,
            diversity=37.90,
            harmonic_mean=39.94,
            validity=100.0,
            coverage=100.0,
            unary=100.0,
            time_s=4,
            min_sparsity=14.29,
            blackbox="Neural Network",
            test_accuracy=90.60,
        ),
    )


def _rows() -> pd.DataFrame:
    columns = ["serial", *SCHEMA.names, "chance"]
    codes = pd.read_csv(published("Admission_Predict_Ver1.1.csv"), header=0, names=columns)
    codes["admitted"] = (codes["chance"] >= HIGHER_CHANCE).astype("int64")
    return decoded(codes.drop(columns=["serial", "chance"]), WORDS)
