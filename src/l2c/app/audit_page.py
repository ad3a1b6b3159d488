"""An audit for people: tables for a terminal, and one page that a privacy officer can read, print and sign.

Both show the same lines. The page says beside each what it means, and holds nothing of any row but the
quasi-identifiers of the classes that it lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rich import box
from rich.table import Table
from rich.text import Text

from l2c.evaluate.attacks import Anonymity, Copies, KMap
from l2c.evaluate.audit import AtRisk, Audit, Diversity, Scope, View

NO_SCOPE = "–"
NOTHING = "n/a"
"""What stands where there is nothing to count: no sets, or nothing that matches."""

HEADS = ("in each set", "in the release", "people in the release")


@dataclass(frozen=True, slots=True)
class Line:
    """A figure in each set, in the release by samples and in the release by people, and what it means."""

    name: str
    meaning: str
    cells: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Section:
    """A question that an officer asks, and the lines that answer it."""

    question: str
    lines: tuple[Line, ...]


def sections(figures: Audit, view: View) -> Iterator[Section]:
    """Yield the questions with their answers, as far as they can be answered."""
    yield Section("Can a person be singled out?", tuple(_anonymity_lines(view)))
    for name, title in figures.sensitive.items():
        yield Section(f"Can a person's {title!r} be inferred?", tuple(_sensitive_lines(view, name)))
    if view.release.population is not None:
        yield Section("Can a person be found in the population?", tuple(_population_lines(view)))
    if figures.copies is not None and view is figures.levels:
        yield Section("Do training rows come back?", (_copies_line(figures.copies),))


def _anonymity_lines(view: View) -> Iterator[Line]:
    def line(name: str, meaning: str, samples: Callable[[Anonymity], str], people: Callable[[Anonymity], str]) -> Line:
        one = view.release.by_people
        return Line(
            name,
            meaning,
            (
                NO_SCOPE if view.sets is None else samples(view.sets.by_samples),
                samples(view.release.by_samples),
                NO_SCOPE if one is None else people(one),
            ),
        )

    yield line(
        "smallest class (k)",
        "A class is a group of counterfactuals that agree in all quasi-identifiers. So many share the smallest one.",
        lambda one: count(one.k),
        lambda one: count(one.k),
    )
    yield line(
        "1-anonymity, of classes",
        "Share of the classes with a single member, as the paper counts.",
        lambda one: percent(one.one.classes),
        lambda one: percent(one.one.classes),
    )
    yield line(
        "1-anonymity, of members",
        "Share of the counterfactuals that are alone in their class; by people, share of those who have one that they "
        "share with nobody.",
        lambda one: percent(one.one.samples),
        lambda one: percent(one.one.people),
    )
    yield line(
        "highest risk: prosecutor",
        "The attacker knows that a person is in the release: the best chance of picking the right one.",
        lambda one: percent(one.prosecutor),
        lambda one: percent(one.prosecutor),
    )
    yield line(
        "expected share: marketer",
        "The attacker guesses for all: the share expected to be right.",
        lambda one: percent(one.marketer),
        lambda one: percent(one.marketer),
    )


def _sensitive_lines(view: View, name: str) -> Iterator[Line]:
    def line(title: str, meaning: str, cell: Callable[[Diversity], str], people: str = NO_SCOPE) -> Line:
        sets = NO_SCOPE if view.sets is None else cell(view.sets.sensitive[name])
        return Line(title, meaning, (sets, cell(view.release.sensitive[name]), people))

    yield line(
        "fewest values (l)",
        "So many different values are in the class with the fewest. With one, whoever knows the class knows the value.",
        lambda one: count(one.l),
    )
    yield line(
        "1-diversity, of classes",
        "Share of the classes with a single value, as the paper counts.",
        lambda one: percent(one.one.classes),
    )
    yield line(
        "1-diversity, of members",
        "Share of the counterfactuals in such a class; by people, share of those who have one there.",
        lambda one: percent(one.one.samples),
        percent(view.release.sensitive[name].one.people) if view.release.by_people else NO_SCOPE,
    )
    yield line(
        "largest distance (t)",
        "How much more the worst class says of the value than the whole does: 0 is nothing, 1 is everything.",
        lambda one: NOTHING if one.t is None else f"{one.t:.3f}",
    )


def _population_lines(view: View) -> Iterator[Line]:
    def line(title: str, meaning: str, cell: Callable[[KMap], str], people: Callable[[KMap], str] | None) -> Line:
        sets, release = (_of_population(scope, cell) for scope in (view.sets, view.release))
        last = people if view.release.by_people else None
        return Line(title, meaning, (sets, release, _of_population(view.release, last) if last else NO_SCOPE))

    yield line(
        "fewest matches (k-map)",
        "Of the classes that match anybody in the population, the one with the fewest matches so many rows.",
        lambda one: count(one.k),
        None,
    )
    yield line(
        "matched, of members",
        "Share of the counterfactuals that match at least one row. No match is no proof of safety.",
        lambda one: percent(one.matched.samples),
        lambda one: percent(one.matched.people),
    )
    yield line(
        "1-map, of members",
        "Share of the counterfactuals that match exactly one row, as the paper counts; by people, share of those who "
        "have one that does.",
        lambda one: percent(one.one.samples),
        lambda one: percent(one.one.people),
    )
    yield line(
        "1-map, of the matched",
        "The same among those that match anybody at all.",
        lambda one: percent(one.one_of_matched.samples),
        lambda one: percent(one.one_of_matched.people),
    )
    yield line(
        "highest risk: journalist",
        "The attacker wants to show that anybody can be found: the best chance of picking the right row.",
        lambda one: percent(one.journalist),
        None,
    )
    yield line(
        "expected share: marketer",
        "The attacker guesses a row for all that match: the share of all expected to be right.",
        lambda one: percent(one.marketer),
        lambda one: percent(one.marketer_people),
    )


def _copies_line(found: Copies) -> Line:
    return Line(
        "equal by level, of members",
        "Share of the counterfactuals that equal a training row in every feature; by people, share of those who have "
        "one that does.",
        (NO_SCOPE, percent(found.samples), NO_SCOPE if found.people is None else percent(found.people)),
    )


def _of_population(scope: Scope | None, cell: Callable[[KMap], str]) -> str:
    return NO_SCOPE if scope is None or scope.population is None else cell(scope.population)


def percent(share: float | None) -> str:
    """Return a share in percent.

    >>> percent(0.6215)
    '62.15 %'
    """
    return NOTHING if share is None else f"{100 * share:.2f} %"


def count(number: int | None) -> str:
    """Return a number with its thousands apart.

    >>> count(12345)
    '12,345'
    """
    return NOTHING if number is None else f"{number:,}"


def views(figures: Audit) -> Iterator[tuple[str, View]]:
    """Yield the figures by level and by value, each with its title."""
    yield "By level: numbers are intervals", figures.levels
    if figures.values is not None:
        yield "By value: numbers are exact", figures.values


def as_tables(figures: Audit) -> Iterator[Table]:
    """Yield the tables for a terminal. Words are given as `Text`: square brackets in them are no markup."""
    for title, view in views(figures):
        table = Table(title=Text(title, "table.title"), title_justify="left", box=box.SIMPLE_HEAD)
        table.add_column("")
        for head in HEADS:
            table.add_column(head, justify="right")
        for section in sections(figures, view):
            table.add_section()
            table.add_row(Text(section.question, "bold"))
            for line in section.lines:
                table.add_row(Text(f"  {line.name}"), *line.cells)
        yield table
    if figures.at_risk:
        yield _risk_table(figures)


def _risk_table(figures: Audit) -> Table:
    title = Text("The smallest classes of the release", "table.title")
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("quasi-identifiers")
    for head in _risk_heads(figures):
        table.add_column(Text(head), justify="right", max_width=12)
    for one in figures.at_risk:
        words = "; ".join(f"{title}: {word}" for title, word in _risk_words(figures, one))
        table.add_row(Text(words), *_risk_counts(one))
    return table


def _risk_heads(figures: Audit) -> Iterator[str]:
    yield "samples"
    if figures.people is not None:
        yield "people"
    if figures.population is not None:
        yield "population"
    yield from (f"values of {title}" for title in figures.sensitive.values())


def _risk_words(figures: Audit, one: AtRisk) -> Iterator[tuple[str, str]]:
    """Yield what tells a class apart: the title of each quasi-identifier, and the words for its level."""
    yield from ((title, one.values[name]) for name, title in figures.quasi.items())
    if one.prediction is not None:
        yield "prediction", one.prediction


def _risk_counts(one: AtRisk) -> list[str]:
    counts = (one.samples, one.people, one.population, *one.sensitive.values())
    return [count(number) for number in counts if number is not None]


def in_short(figures: Audit) -> Iterator[str]:
    """Yield what the audit found, a sentence each."""
    release, sets = figures.levels.release, figures.levels.sets
    yield _what(figures)
    if sets is not None:
        alone = percent(sets.by_samples.one.classes)
        yield f"In a set, {alone} of the classes have a single member; the smallest has {count(sets.by_samples.k)}."
    if release.by_people is None:
        alone = percent(release.by_samples.one.samples)
        yield f"In the table, {alone} of the counterfactuals are alone in their class."
    else:
        alone = percent(release.by_people.one.people)
        yield f"In the whole release, {alone} of the people have a counterfactual that they share with nobody."
    for name, title in figures.sensitive.items():
        scope, where = (release, "the table") if sets is None else (sets, "a set")
        share = percent(scope.sensitive[name].one.classes)
        yield f"In {where}, {share} of the classes have a single value of {title!r}."
    if release.population is not None:
        yield _linked(figures, release.population)
    if figures.copies is not None:
        yield _copied(figures.copies)


def _what(figures: Audit) -> str:
    whom = "" if figures.people is None else f" for {count(figures.people)} people"
    names = [*figures.quasi.values(), *(["the predicted class"] if figures.labelled else [])]
    return f"{count(figures.samples)} counterfactuals{whom}, linked by {', '.join(names)}."


def _linked(figures: Audit, found: KMap) -> str:
    size = f"the population of {count(figures.population)} rows"
    how = "with" if figures.population_labelled else "without"
    if found.k is None:
        return f"Linked {how} the predicted class, none matches {size}: that proves nothing about another population."
    exact = percent(found.one.samples)
    return f"Linked {how} the predicted class, {exact} of the counterfactuals match exactly one row of {size}."


def _copied(found: Copies) -> str:
    return f"{count(found.count)} counterfactuals ({percent(found.samples)}) equal a training row by level."


def as_page(figures: Audit, required: str | None, broken: Sequence[str]) -> str:
    """Return one page of HTML that needs nothing from outside."""
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<title>Privacy audit</title></head>\n<body style='margin:0;background:#f4f5f7'>"
        f"{as_fragment(figures, required, broken)}</body></html>\n"
    )


def as_fragment(figures: Audit, required: str | None = None, broken: Sequence[str] = ()) -> str:
    """Return the audit as a piece of HTML, for a page or a notebook."""
    (by_level, levels), *rest = views(figures)
    parts = [
        "<h1>Privacy audit of counterfactual explanations</h1>",
        "" if required is None else _verdict(required, broken),
        "<h2>In short</h2><ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in in_short(figures)) + "</ul>",
        f"<h2>{escape(by_level)}</h2><p>{escape(_LEVELS)}</p>{_html_figures(figures, levels, explained=True)}",
        *(
            f"<h2>{escape(title)}</h2><p>{escape(_VALUES)}</p>{_html_figures(figures, view, explained=False)}"
            for title, view in rest
        ),
        _html_risks(figures),
        f"<h2>How to read this</h2>{''.join(f'<p>{escape(text)}</p>' for text in _reading(figures))}",
    ]
    return f"<style>{_STYLE}</style>\n<main class='l2c-audit'>{''.join(parts)}</main>\n"


def _verdict(required: str, broken: Sequence[str]) -> str:
    if not broken:
        return f"<div class='verdict held'><b>The policy holds.</b> Required: {escape(required)}.</div>"
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in broken)
    said = f"<b>The policy does not hold.</b> Required: {escape(required)}."
    return f"<div class='verdict broken'>{said}<ul>{items}</ul></div>"


def _html_figures(figures: Audit, view: View, *, explained: bool) -> str:
    heads = "".join(f"<th scope='col'>{head}</th>" for head in HEADS)
    return (
        f"<div class='wide'><table class='figures'><thead><tr><th></th>{heads}</tr></thead>"
        f"{''.join(_html_section(section, explained=explained) for section in sections(figures, view))}</table></div>"
    )


def _html_section(section: Section, *, explained: bool) -> str:
    lines = "".join(_html_line(line, explained=explained) for line in section.lines)
    question = f"<th class='question' scope='rowgroup' colspan='4'>{escape(section.question)}</th>"
    return f"<tbody><tr>{question}</tr>{lines}</tbody>"


def _html_line(line: Line, *, explained: bool) -> str:
    meaning = f"<small>{escape(line.meaning)}</small>" if explained else ""
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in line.cells)
    return f"<tr><th scope='row'>{escape(line.name)}{meaning}</th>{cells}</tr>"


def _html_risks(figures: Audit) -> str:
    if not figures.at_risk:
        return ""
    heads = "".join(f"<th scope='col' class='number'>{escape(head)}</th>" for head in _risk_heads(figures))
    return (
        f"<h2>The smallest classes of the release</h2><p>{escape(_RISKS)}</p><div class='wide'><table class='risks'>"
        f"<thead><tr><th scope='col'>quasi-identifiers</th>{heads}</tr></thead>"
        f"<tbody>{''.join(_html_risk(figures, one) for one in figures.at_risk)}</tbody></table></div>"
    )


def _html_risk(figures: Audit, one: AtRisk) -> str:
    words = " ".join(f"<span><i>{escape(title)}</i> {escape(word)}</span>" for title, word in _risk_words(figures, one))
    counts = "".join(f"<td class='number'>{number}</td>" for number in _risk_counts(one))
    return f"<tr><td>{words}</td>{counts}</tr>"


def _reading(figures: Audit) -> Iterator[str]:
    yield (
        "In each set: the answers to one person, as that person or whoever intercepts them sees them; shares are means "
        "over the sets, the smallest class and the fewest values are the least of any set, the distance and the risks "
        "the highest. In the release: all answers together. People in the release: a class counts as many members as "
        "it has different people, for a hundred answers to one person do not hide that person."
    )
    yield (
        "A person is as exposed as their most exposed counterfactual. Counterfactuals are proposals, not records: a "
        "match means that somebody fits, not that anybody was in the data."
    )
    yield f"“{NO_SCOPE}” means that there is nothing to count there, “{NOTHING}” that nothing was found to count."
    if figures.population_skipped:
        rows = count(figures.population_skipped)
        yield f"{rows} more rows of the population hold a value that no counterfactual can have, and were left out."


_LEVELS = "As an attacker sees them who knows the bins. This is the worst case for finding somebody in a population."
_VALUES = (
    "As the release shows them: a number is itself, so there are more classes, and smaller ones. Sensitive values are "
    "counted by level here too. This is the worst case for being alone in a class."
)
_RISKS = (
    "Classes by level, the fewest people first. These are values of quasi-identifiers: keep this page as you keep the "
    "release itself."
)
_STYLE = """
.l2c-audit{font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;color:#1c2430;
background:#fff;max-width:66rem;margin:2rem auto;padding:2rem 2.5rem 2.5rem;box-sizing:border-box;border-radius:8px}
.l2c-audit h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
.l2c-audit h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
.l2c-audit p{margin:.3rem 0 .8rem;color:#4a5563;max-width:52rem}
.l2c-audit ul{margin:.4rem 0;padding-left:1.2rem}
.l2c-audit .verdict{padding:.8rem 1rem;border-left:5px solid;border-radius:4px}
.l2c-audit .held{background:#e8f5ec;border-color:#1b7f3b}
.l2c-audit .broken{background:#fdecea;border-color:#b3261e}
.l2c-audit .wide{overflow-x:auto}
.l2c-audit table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
.l2c-audit th,.l2c-audit td{padding:.45rem .7rem;border-bottom:1px solid #e3e7ec;vertical-align:top;text-align:left}
.l2c-audit thead th{color:#4a5563;font-size:.85rem;font-weight:600;border-bottom:2px solid #c5ccd6;
vertical-align:bottom}
.l2c-audit .figures td,.l2c-audit .figures thead th,.l2c-audit .number{text-align:right}
.l2c-audit td{white-space:nowrap}
.l2c-audit .figures tbody th{min-width:14rem}
.l2c-audit tbody th{font-weight:500}
.l2c-audit .question{font-weight:700;background:#f4f6f9}
.l2c-audit small{display:block;font-weight:400;color:#5b6675;font-size:.82rem;max-width:38rem}
.l2c-audit .risks{font-size:.88rem}
.l2c-audit .risks td:first-child{white-space:normal;min-width:18rem}
.l2c-audit span{display:inline-block;margin-right:.9rem}
.l2c-audit i{font-style:normal;color:#5b6675}
@media print{.l2c-audit{margin:0;padding:0;max-width:none;font-size:11pt}.l2c-audit tr{break-inside:avoid}}
"""
