"""How fast L2C is, as ratios in one run; results are kept in benchmarks/results/speed.json.

    python benchmarks/speed/run.py [--part floor profile limits single acceptance adult scaling dice] [--repeats 5]
    python benchmarks/speed/run.py --markdown [--part ...]     the tables of what was stored, and nothing run
    python benchmarks/speed/run.py --fill benchmarks/README.md docs/speed.md     the same, in their places there

Each part prints a table. Everything runs in one thread, and times are medians after a warm-up, in CPU seconds, unless a
column says otherwise. Explainers that were fitted once are kept in benchmarks/speed/cache, until the code that learns
changes.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path
from typing import Any

from measuring import Asked, CannotRunError, machine, one_thread

one_thread()

import acceptance  # noqa: E402  (the number of threads comes first)
import adult  # noqa: E402
import dice  # noqa: E402
import floor  # noqa: E402
import limits  # noqa: E402
import profile_stages  # noqa: E402
import scaling  # noqa: E402
import single  # noqa: E402
import torch  # noqa: E402
from printing import in_markdown, on_terminal  # noqa: E402
from rich.console import Console  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results" / "speed.json"
PARTS: dict[str, Any] = {
    "floor": floor, "profile": profile_stages, "limits": limits, "single": single, "acceptance": acceptance,
    "adult": adult, "scaling": scaling, "dice": dice,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--repeats", type=int, default=Asked.repeats)
    parser.add_argument("--most", type=int, default=Asked.most, help="the most inputs of the part scaling")
    parser.add_argument("--seeds", type=int, default=Asked.seeds, help="how many of the part acceptance")
    parser.add_argument("--rows", type=int, default=Asked.rows, help="explain the first rows alone, for a try")
    parser.add_argument("--markdown", action="store_true", help="print the tables of what was stored, and run nothing")
    parser.add_argument("--fill", type=Path, nargs="+", default=[], help="put these tables in the places of documents")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.markdown or given.fill:
        texts = {name: markdown(name, part) for name, part in known(given.out).items() if name in given.part}
        for path in given.fill:
            path.write_text(filled(path.read_text(), texts))
        print("" if given.fill else "\n".join(texts.values()))
        return
    torch.set_num_threads(1)
    asked, console = Asked(given.repeats, given.most, given.seeds, given.rows), Console(width=220)
    for name in given.part:
        about, start, clock = machine(), time.process_time(), time.perf_counter()
        try:
            results = PARTS[name].run(asked)
        except CannotRunError as reason:
            console.print(f"{name} was left out: {reason}")
            continue
        about |= {"part_cpu_s": time.process_time() - start, "part_wall_s": time.perf_counter() - clock}
        keep(given.out, name, about, results)
        console.print(on_terminal(*shown(name, results)))
        console.print(told_of(about))


def markdown(name: str, stored: dict[str, Any]) -> str:
    """Return what was stored of a part for a document."""
    return f"{in_markdown(*shown(name, stored['results'], brief=True))}\n{told_of(stored['machine'])}\n"


def filled(text: str, tables: dict[str, str]) -> str:
    """Return a document with tables between the marks `<!-- speed: NAME -->` and `<!-- speed end -->`."""
    for name, table in tables.items():
        place = re.compile(rf"(<!-- speed: {name} -->\n).*?(?=<!-- speed end -->)", re.DOTALL)
        text = place.sub(lambda found, table=table: f"{found[1]}\n{table}\n", text)
    return text


def shown(name: str, results: list[dict[str, Any]], *, brief: bool = False) -> tuple[str, Any, list[dict[str, Any]]]:
    """Return what a table of a part is made of: its title, its columns and its lines."""
    part = PARTS[name]
    if hasattr(part, "brief") and (brief or not hasattr(part, "COLUMNS")):
        return part.TITLE, *part.brief(results)
    return part.TITLE, part.COLUMNS, part.summary(results) if hasattr(part, "summary") else results


def told_of(machine: dict[str, Any]) -> str:
    """Return in a sentence on what machine a part was run."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items() if version)
    busy = f"{100 * machine['used_by_others']:.0f} % of which other work used at the start"
    busy = "otherwise idle" if machine["otherwise_idle"] else busy
    return (
        f"{machine['cores']} cores, one thread unless told otherwise, {busy}; Python {machine['python']}, {versions}."
    )


def known(path: Path) -> dict[str, Any]:
    """Return what earlier runs stored, by part."""
    return json.loads(path.read_text()) if path.exists() else {}


def keep(path: Path, part: str, about: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Put the results of a part in the file, in the place of earlier ones, and draw its figure."""
    path.write_text(json.dumps({**known(path), part: {"machine": about, "results": results}}, indent=1) + "\n")
    if hasattr(PARTS[part], "draw"):
        PARTS[part].draw(results, path.with_name(f"{path.stem}_{part}.svg"))


if __name__ == "__main__":
    main()
