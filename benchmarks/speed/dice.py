"""DiCE's random method on the same rows and model, frames in and out: CPU seconds for an input.

dice-ml is asked in an environment of its own (it wants other versions than ours), named by L2C_DICE_PYTHON, in the same
run; it is given the same scikit-learn pipeline, fitted there anew on the same rows.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from measuring import Asked, CannotRunError, taken
from models import case

PYTHON = "L2C_DICE_PYTHON"
ROWS, N = 20, 100

RUN = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd, dice_ml
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
folder, numbers, frozen, n = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
fit, rows = pd.read_csv(folder + "/fit.csv"), pd.read_csv(folder + "/rows.csv")
texts = [name for name in rows.columns if name not in numbers]
fit[texts], rows[texts] = fit[texts].astype(str), rows[texts].astype(str)
steps = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), texts))
model = make_pipeline(steps, LogisticRegression(max_iter=1000)).fit(fit[rows.columns], fit["target"])
data = dice_ml.Data(dataframe=fit, continuous_features=numbers, outcome_name="target")
dice = dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")
vary = [name for name in rows.columns if name not in frozen]
ask = lambda some: dice.generate_counterfactuals(some, total_CFs=n, desired_class="opposite", features_to_vary=vary,
                                                 random_seed=0, verbose=False)
ask(rows[:1])
start = time.process_time()
found = ask(rows)
cpu = time.process_time() - start
print(json.dumps([cpu, sum(len(one.final_cfs_df) for one in found.cf_examples_list if one.final_cfs_df is not None)]))
"""


def run(asked: Asked) -> list[dict[str, Any]]:
    if PYTHON not in os.environ:
        raise CannotRunError(f"set {PYTHON} to the Python of an environment that has dice-ml, pandas and scikit-learn")
    known = case("german", "linear pipeline")
    rows, target = known.rows[:ROWS], known.data.target
    with tempfile.TemporaryDirectory() as folder:
        fit, _ = known.data.dev_split(0)
        told = (fit[target] == known.data.desirable).astype(int)
        fit.drop(columns=target).assign(target=told).to_csv(Path(folder) / "fit.csv", index=False)
        rows.drop(columns=target).to_csv(Path(folder) / "rows.csv", index=False)
        features = known.explainer.schema.features
        numbers = [feature.name for feature in features if feature.numeric]
        frozen = [feature.name for feature in features if feature.moves == "never"]
        words = [os.environ[PYTHON], "-c", RUN, folder, json.dumps(numbers), json.dumps(frozen), str(N)]
        answer = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    dice_cpu, dice_found = json.loads(answer.splitlines()[-1])
    results = []
    for kind in ("linear pipeline", "paper"):
        explainer, all_rows = case("german", kind).explainer, known.rows
        for select, some in (("first", rows), ("first", all_rows), ("balanced", all_rows)):
            ask = lambda: explainer.explain(some, N, select=select, plausibility=0.0).to_frame()  # noqa: B023, E731
            ours = taken(ask, asked.repeats).cpu / len(some)
            results.append({
                "part": "dice", "model": kind, "select": select, "rows": len(some), "n": N,
                "cpu_ms_an_input": 1e3 * ours,
                "dice_cpu_ms_an_input": 1e3 * dice_cpu / ROWS, "dice_found": dice_found, "dice_rows": ROWS,
                "ratio": dice_cpu / ROWS / ours,
            })  # fmt: skip
    return results


TITLE = "beside DiCE (random), the same rows, frames in and out"
COLUMNS = {
    "model": lambda row: row["model"],
    "select": lambda row: row["select"],
    "rows at once": lambda row: str(row["rows"]),
    "CPU ms an input": lambda row: f"{row['cpu_ms_an_input']:.3f}",
    "DiCE's": lambda row: f"{row['dice_cpu_ms_an_input']:,.0f}",
    "times less": lambda row: f"{row['ratio']:,.0f}",
    "DiCE found": lambda row: f"{row['dice_found']} of {row['dice_rows'] * row['n']}",
}
