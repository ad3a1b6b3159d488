"""How fast L2C is, as ratios in one run; results are kept in benchmarks/results/speed.json.

    python benchmarks/speed/run.py [--part floor single adult scaling dice] [--repeats 5]

Each part prints a table. Everything runs in one thread; times are medians after a warm-up, in CPU seconds unless a
column says otherwise. Explainers that were fitted once are kept in benchmarks/speed/cache.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from measuring import one_thread

one_thread()

import adult  # noqa: E402  (the number of threads comes first)
import dice  # noqa: E402
import floor  # noqa: E402
import scaling  # noqa: E402
import single  # noqa: E402
import torch  # noqa: E402
from rich.console import Console  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results" / "speed.json"
PARTS = {"floor": floor, "single": single, "adult": adult, "scaling": scaling, "dice": dice}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--most", type=int, default=scaling.MOST, help="the most inputs of the part scaling")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    for name in asked.part:
        results = scaling.run(asked.most) if name == "scaling" else PARTS[name].run(asked.repeats)
        keep(asked.out, name, results)
        Console(width=200).print(PARTS[name].table(results))


def keep(path: Path, part: str, results: list[dict[str, Any]]) -> None:
    """Put the results of a part in the file, in the place of earlier ones."""
    known = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps([row for row in known if row["part"] != part] + results, indent=1) + "\n")


if __name__ == "__main__":
    main()
