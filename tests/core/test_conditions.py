"""Conditions: what an expression says about the released values and the person's own."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l2c.core.conditions import DEEPEST, LONGEST, Condition, parse_condition
from l2c.core.feature import Feature
from l2c.errors import InputError
from tables import SEEDS

SCHOOLS = ("low", "mid", "high")
FEATURES = (
    Feature(name="hours", kind="numeric"),
    Feature(name="savings", kind="numeric"),
    Feature(name="credit amount", kind="numeric"),
    Feature(name="grade", kind="ordinal", levels=(1, 2, 5)),
    Feature(name="zone", kind="categorical", levels=(30, 10.5, 20)),
    Feature(name="school", kind="ordinal", levels=SCHOOLS),
    Feature(name="was", kind="ordinal", levels=SCHOOLS),
    Feature(name="job", kind="categorical", levels=("clerk", "nurse", "it's")),
    Feature(name="owner", kind="binary", levels=(False, True)),
    Feature(name="code", kind="ordinal", levels=("none", 1, True)),
)
NAMES = [feature.name for feature in FEATURES]
NUMBERS = ("hours", "savings", "credit amount", "grade", "zone")

Value = str | int | float | bool | None
Row = dict[str, Value]


def same(left: Value, right: Value) -> bool:
    """Whether two values are the same to a person: true is not 1."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def cells(rows: list[Row]) -> np.ndarray:
    """The rows as the library holds them, one cell after the other."""

    def cell(feature: Feature, value: Value) -> float:
        if value is None:
            return nan
        if feature.numeric:
            return float(value)
        return float(next(code for code, level in enumerate(feature.levels) if same(level, value)))

    return np.array([[cell(feature, row[feature.name]) for feature in FEATURES] for row in rows])


def row(**values: Value) -> Row:
    """A row that misses everything that is not given."""
    return dict.fromkeys(NAMES) | values


def holds(text: str, now: list[Row], was: list[Row] | None = None) -> list[bool]:
    return parse_condition(text, FEATURES).holds(cells(now), cells(was or [row()])).tolist()


def read(text: str) -> Condition | str:
    """The condition, or what is said against it."""
    try:
        return parse_condition(text, FEATURES)
    except InputError as error:
        return str(error)


def message(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_condition(text, FEATURES)
    assert len(caught.value.problems) == 1
    return str(caught.value)


# An oracle: expressions that are built together with a plain function of two rows. `rank` is how tightly the outermost
# operator binds, so that brackets are written where they are needed, and sometimes where they are not.


@dataclass(frozen=True)
class Said:
    text: str
    rank: int
    means: Callable[[Row, Row], Value]


OR, AND, NOT, COMPARE, ADD, MULTIPLY, MINUS, ATOM = range(8)
COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
SPACES = st.sampled_from([" ", " ", "  ", "\n ", "\t"])
NO_SPACES = st.sampled_from(["", " ", "\n"])


@st.composite
def written(draw: st.DrawFn, said: Said, rank: int) -> str:
    """The text of an expression, in brackets if it binds less tightly than its place."""
    while said.rank < rank or draw(st.integers(0, 9)) == 9:
        said = Said(f"({draw(NO_SPACES)}{said.text}{draw(NO_SPACES)})", ATOM, said.means)
    return said.text


def quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, quote * 2) + quote


@st.composite
def columns(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[str, Said]:
    name, own = draw(st.sampled_from(names)), draw(st.booleans())
    plain = name.isidentifier() and name != "was" and draw(st.integers(0, 3)) < 3
    text = name if plain else quoted(name, "`")
    return name, Said(f"was.{text}" if own else text, ATOM, lambda now, was: (was if own else now)[name])


@st.composite
def literals(draw: st.DrawFn, values: tuple[Value, ...]) -> Said:
    value = draw(st.sampled_from(values))
    if isinstance(value, str):
        return Said(quoted(value, draw(st.sampled_from("'\""))), ATOM, lambda _now, _was: value)
    text = draw(st.sampled_from([str(value), str(value).lower()]))
    return Said(text, MINUS if text.startswith("-") else ATOM, lambda _now, _was: value)


LITERAL_NUMBERS = literals((0, 1, 2, 3, 0.5, 10.5, 1e3, 1e308, 40.0, -2, -0.5))


def calculated(sign: str, left: Value, right: Value) -> float | None:
    if left is None or right is None or (sign == "/" and right == 0):
        return None
    sides = float(left), float(right)
    outcome = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign](*sides)
    return outcome if isfinite(outcome) else None


@st.composite
def sums(draw: st.DrawFn, depth: int = 3) -> Said:
    choice = draw(st.integers(0, 5)) if depth else 0
    if choice == 0:
        return draw(columns(NUMBERS))[1]
    if choice == 1:
        return draw(LITERAL_NUMBERS)
    if choice == 2:
        inner = draw(sums(depth - 1))
        text = f"-{draw(NO_SPACES)}{draw(written(inner, MINUS))}"
        return Said(text, MINUS, lambda now, was: calculated("-", 0, inner.means(now, was)))
    sign = draw(st.sampled_from("+-*/"))
    rank = ADD if sign in "+-" else MULTIPLY
    left, right = draw(sums(depth - 1)), draw(sums(depth - 1))
    text = f"{draw(written(left, rank))}{draw(NO_SPACES)}{sign}{draw(NO_SPACES)}{draw(written(right, rank + 1))}"
    return Said(text, rank, lambda now, was: calculated(sign, left.means(now, was), right.means(now, was)))


@st.composite
def chains(draw: st.DrawFn) -> Said:
    """Comparisons of numbers, also several in a row."""
    parts = draw(st.lists(sums(), min_size=2, max_size=4))
    signs = [draw(st.sampled_from(sorted(COMPARISONS))) for _ in parts[1:]]
    text = draw(written(parts[0], ADD))
    for sign, part in zip(signs, parts[1:], strict=True):
        text += f"{draw(NO_SPACES)}{sign}{draw(NO_SPACES)}{draw(written(part, ADD))}"

    def means(now: Row, was: Row) -> bool:
        values = [part.means(now, was) for part in parts]
        return all(
            left is not None and right is not None and COMPARISONS[sign](left, right)
            for sign, (left, right) in zip(signs, pairwise(values), strict=True)
        )

    return Said(text, COMPARE, means)


@st.composite
def level_comparisons(draw: st.DrawFn) -> Said:
    """A level with a literal, or with the level of a feature that has the same levels."""
    name, left = draw(columns(("school", "was", "job", "owner", "code")))
    feature = FEATURES[NAMES.index(name)]
    alike = ("school", "was") if name in ("school", "was") else (name,)
    right = draw(st.one_of(literals(feature.levels), columns(alike).map(lambda pair: pair[1])))
    sides = draw(st.permutations([left, right]))
    sign = draw(st.sampled_from(sorted(COMPARISONS) if feature.kind != "categorical" else ["!=", "=="]))
    text = f"{draw(written(sides[0], ADD))}{draw(NO_SPACES)}{sign}{draw(NO_SPACES)}{draw(written(sides[1], ADD))}"

    def place(value: Value) -> int:
        return [same(level, value) for level in feature.levels].index(True)

    def means(now: Row, was: Row) -> bool:
        one, other = (side.means(now, was) for side in sides)
        return one is not None and other is not None and COMPARISONS[sign](place(one), place(other))

    return Said(text, COMPARE, means)


@st.composite
def memberships(draw: st.DrawFn) -> Said:
    if draw(st.booleans()):
        part, options = draw(sums()), draw(st.lists(LITERAL_NUMBERS, min_size=1, max_size=4))
    else:
        name, part = draw(columns(("school", "was", "job", "owner", "code")))
        options = draw(st.lists(literals(FEATURES[NAMES.index(name)].levels), min_size=1, max_size=4))
    wanted = draw(st.booleans())
    comma = f"{draw(NO_SPACES)},{draw(NO_SPACES)}"
    text = f"{draw(written(part, ADD))}{draw(SPACES)}{'in' if wanted else f'not{draw(SPACES)}in'}{draw(NO_SPACES)}"

    def means(now: Row, was: Row) -> bool:
        value = part.means(now, was)
        return value is not None and any(same(value, option.means(now, was)) for option in options) is wanted

    return Said(f"{text}[{comma.join(option.text for option in options)}]", COMPARE, means)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Said:
    choice = draw(st.integers(0, 6)) if depth else draw(st.integers(0, 2))
    if choice < 3:
        return draw((chains(), level_comparisons(), memberships())[choice])
    if choice == 3:
        inner = draw(conditions(depth - 1))
        text = f"not{draw(SPACES)}{draw(written(inner, NOT))}"
        return Said(text, NOT, lambda now, was: not inner.means(now, was))
    word, rank, fold = draw(st.sampled_from([("and", AND, all), ("or", OR, any)]))
    parts = draw(st.lists(conditions(depth - 1), min_size=2, max_size=3))
    texts = [draw(written(part, rank + 1)) for part in parts]
    text = f"{draw(SPACES)}{word}{draw(SPACES)}".join(texts)
    return Said(text, rank, lambda now, was: fold([part.means(now, was) for part in parts]))


AMOUNTS = (-2.0, 0.0, 0.5, 1.0, 2.0, 3.0, 40.0, 1e308)


def pairs_of_rows(seed: int) -> list[tuple[Row, Row]]:
    """Rows of now and before; about one value in eight is missing."""
    rng = random.Random(seed)

    def value(feature: Feature) -> Value:
        return None if rng.random() < 0.12 else rng.choice(AMOUNTS if feature.numeric else feature.levels)

    return [({f.name: value(f) for f in FEATURES}, {f.name: value(f) for f in FEATURES}) for _ in range(25)]


PAIRS = SEEDS.map(pairs_of_rows)


@settings(max_examples=300)
@given(conditions(), PAIRS)
def test_an_expression_means_what_a_plain_function_of_two_rows_says(said, pairs):
    now, was = ([pair[which] for pair in pairs] for which in (0, 1))
    condition = parse_condition(said.text, FEATURES)
    answers = condition.holds(cells(now), cells(was))
    assert answers.dtype == bool
    assert answers.tolist() == [said.means(*pair) for pair in pairs]


@given(conditions(), PAIRS)
def test_the_conjuncts_together_say_the_same_and_each_can_be_read_alone(said, pairs):
    now, was = (cells([pair[which] for pair in pairs]) for which in (0, 1))
    condition = parse_condition(said.text, FEATURES)
    conjuncts = condition.conjuncts()
    assert all(part.text in condition.text for part in conjuncts)
    assert (
        np.logical_and.reduce([part.holds(now, was) for part in conjuncts]).tolist()
        == condition.holds(now, was).tolist()
    )
    assert frozenset().union(*(part.released for part in conjuncts)) == condition.released
    assert frozenset().union(*(part.before for part in conjuncts)) == condition.before
    for part in conjuncts:
        again = parse_condition(part.text, FEATURES)
        assert again == part
        assert again.holds(now, was).tolist() == part.holds(now, was).tolist()
        assert part.conjuncts() == (part,)


@given(conditions(), PAIRS, SEEDS)
def test_columns_that_are_not_named_are_not_looked_at(said, pairs, seed):
    now, was = (cells([pair[which] for pair in pairs]) for which in (0, 1))
    condition = parse_condition(said.text, FEATURES)
    expected = condition.holds(now, was).tolist()
    garbage = np.random.default_rng(seed).choice([nan, np.inf, -7.5, 1e9], (2, *now.shape))
    others = [[i for i in range(len(FEATURES)) if i not in named] for named in (condition.released, condition.before)]
    for table, noise, columns in zip((now, was), garbage, others, strict=True):
        table[:, columns] = noise[:, columns]
    assert condition.holds(now, was).tolist() == expected


@given(conditions(), PAIRS)
def test_its_sentence_is_one_line_that_says_the_same(said, pairs):
    now, was = (cells([pair[which] for pair in pairs]) for which in (0, 1))
    condition = parse_condition(said.text, FEATURES)
    sentence = condition.sentence()
    assert "\n" not in sentence
    assert "\t" not in sentence
    assert parse_condition(sentence, FEATURES).holds(now, was).tolist() == condition.holds(now, was).tolist()


@settings(max_examples=300)
@given(st.text(max_size=60) | st.text("()[]'\"`.,<>=!+-*/ 0e1tw", max_size=30))
def test_any_text_is_an_expression_or_an_input_error(text):
    condition = read(text)
    assert isinstance(condition, Condition) or condition.startswith("where: ")


PIECES = [
    "and", "or", "not", "in", "was", ".", "true", "(", ")", "[", "]", ",", "<", "==", "!=", "=", "+", "-", "*", "/",
    "3", "1e3", "'clerk'", "'low'", "hours", "job", "school", "owner", "`was`", "`credit amount`", "was.hours",
]  # fmt: skip


@settings(max_examples=600)
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from(["", " "]))
def test_any_row_of_pieces_is_an_expression_or_an_input_error_with_a_caret(pieces, space):
    text = space.join(pieces)
    now = np.zeros((3, len(FEATURES)))
    condition = read(text)
    if isinstance(condition, Condition):
        assert condition.holds(now, now).shape == (3,)
    elif text:
        _, shown, carets = condition.split("\n")
        assert shown == f"  {text.strip()}"
        assert set(carets) == {" ", "^"}
        assert len(carets) <= len(shown) + 1


ERRORS = {
    "an unknown feature": """
where: there is no feature 'hour'; did you mean 'hours'?
  hour <= was.hours + 10
  ^^^^
""",
    "an unknown feature of the person": """
where: there is no feature 'ours'; did you mean 'hours'?
  hours <= was.ours
               ^^^^
""",
    "an unknown feature that is like none": """
where: there is no feature 'lambda'
  lambda
  ^^^^^^
""",
    "a name that needs backticks": """
where: there is no feature 'credit'; did you mean 'credit amount'? (in backticks)
  hours > 1 or credit > 3
               ^^^^^^
""",
    "a mistyped name in backticks": """
where: there is no feature 'credit amont'; did you mean 'credit amount'?
  `credit amont` > 3
  ^^^^^^^^^^^^^^
""",
    "text without quotes": """
where: there is no feature 'nurse'; text goes in quotes: 'nurse'
  job == nurse
         ^^^^^
""",
    "an unknown level": """
where: 'job' has no level 'nurs'; did you mean 'nurse'?
  job in ['clerk', 'nurs']
                   ^^^^^^
""",
    "an unknown level that is like none": """
where: 'job' has no level 'x'; its levels are 'clerk', 'nurse', "it's"
  'x' == was.job
  ^^^
""",
    "a number for a level": """
where: 'owner' has no level 1; its levels are False, True
  owner == 1
           ^
""",
    "a truth for a number": """
where: this is true or false, and cannot be compared with a number
  grade == true
           ^^^^
""",
    "text for a number": """
where: this is text, and cannot be compared with a number
  hours == '40'
           ^^^^
""",
    "text in a list of numbers": """
where: this is text, and cannot be compared with a number
  hours in [1, 'a']
               ^^^
""",
    "a level with a number": """
where: this is a number, and cannot be compared with a level of 'school'
  school >= hours + 1
            ^^^^^^^^^
""",
    "levels that differ": """
where: this has other levels than 'school', and cannot be compared with it
  school == (job)
            ^^^^^
""",
    "an order that is not there": """
where: 'job' is categorical and has no order; declare it ordinal
  'clerk' < was.job
            ^^^^^^^
""",
    "two literals": """
where: two written values are compared; one side must be a feature
  'a' == 'b'
         ^^^
""",
    "a bare number": """
where: this is a number, and a condition is needed here; compare it with something
  savings > 1 and (hours + 1)
                  ^^^^^^^^^^^
""",
    "a bare feature": """
where: this is a level of 'owner', and a condition is needed here; compare it with something
  not owner
      ^^^^^
""",
    "a bare text": """
where: this is text, and a condition is needed here; compare it with something
  job == 'clerk' or 'nurse'
                    ^^^^^^^
""",
    "a bare truth": """
where: this is true or false, and a condition is needed here; compare it with something
  True
  ^^^^
""",
    "a level in arithmetic": """
where: this is a level of 'job', and only numbers can be calculated with
  hours + job > 2
          ^^^
""",
    "text behind a minus sign": """
where: this is text, and only numbers can be calculated with
  hours > -'a'
           ^^^
""",
    "a condition in arithmetic": """
where: this is a condition, and only numbers can be calculated with
  (hours > 1) * 2 > 2
  ^^^^^^^^^^^
""",
    "a condition that is compared": """
where: this is a condition, and cannot be compared; join conditions with 'and' and 'or'
  owner == (hours > 2)
           ^^^^^^^^^^^
""",
    "a list in a chain": """
where: this is a condition, and cannot be compared; join conditions with 'and' and 'or'
  3 < hours in [4, 5]
  ^^^^^^^^^
""",
    "a call": """
where: nothing can be called
  __import__('os')
  ^^^^^^^^^^
""",
    "a call of the person": """
where: nothing can be called
  was.hours() > 3
      ^^^^^
""",
    "an assignment": """
where: '=' means nothing here; write ==
  hours = 3
        ^
""",
    "a sign of another language": """
where: '&' means nothing here; write 'and'
  hours > 3 && savings > 2
            ^
""",
    "two statements": """
where: ';' means nothing here
  x; y
   ^
""",
    "an attribute": """
where: only 'was' is followed by a dot; a name that holds a dot goes in backticks
  hours.real > 3
  ^^^^^
""",
    "an attribute of the person": """
where: only 'was' is followed by a dot; a name that holds a dot goes in backticks
  was.hours.real > 3
      ^^^^^
""",
    "was of was": """
where: expected the name of a feature here
  was.was.hours > 3
      ^^^
""",
    "was alone": """
where: 'was' is followed by a dot and a feature, as in was.hours
  hours > was + 3
          ^^^
""",
    "a quote that is not closed": """
where: this quote is never closed
  job == 'nurse and hours > 3
         ^^^^^^^^^^^^^^^^^^^^
""",
    "a bracket that is not closed": """
where: this bracket is never closed
  hours > (savings + (1 * 2)
          ^
""",
    "a bracket that another sort closes": """
where: expected an operator or ')' here
  (hours > 3]
            ^
""",
    "a bracket that was not opened": """
where: this bracket closes nothing
  hours > 3) and savings > 2
           ^
""",
    "a list that is not closed": """
where: this bracket is never closed
  job in ['clerk'
         ^
""",
    "a list without commas": """
where: expected ',' or ']' here
  job in ['clerk' 'nurse']
                  ^^^^^^^
""",
    "a list that is none": """
where: expected a list in square brackets here
  job in 'clerk'
         ^^^^^^^
""",
    "an empty list": """
where: expected a value here
  job in []
          ^
""",
    "a list of features": """
where: a list holds only numbers, texts in quotes, true and false
  hours in [1, -savings]
               ^^^^^^^^
""",
    "not without in": """
where: expected 'in' after 'not' here
  hours not [3]
            ^
""",
    "not in arithmetic": """
where: expected a value here
  hours < not 3
          ^^^
""",
    "an expression that ends too early": """
where: expected a value, but the expression ends
  hours >
         ^
""",
    "an expression that does not end": """
where: expected an operator, such as 'and', or the end here
  hours > 3 savings > 2
            ^^^^^^^
""",
    "an index": """
where: expected an operator, such as 'and', or the end here
  hours[0] > 3
       ^
""",
    "a power": """
where: expected a value here
  hours ** 2 > 3
         ^
""",
    "a number that is too large": """
where: this number is too large
  hours < 1e999
          ^^^^^
""",
}


@pytest.mark.parametrize("expected", [text.strip("\n") for text in ERRORS.values()], ids=list(ERRORS))
def test_what_is_wrong_is_said_and_pointed_at(expected):
    assert message(expected.split("\n")[1]) == expected


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_nothing_is_no_expression(text):
    assert message(text) == "where: the expression is empty"


def test_an_expression_over_several_lines_is_pointed_at_on_one():
    assert message("\n  hours > 3\n  and\thour > 2\n").split("\n")[1:] == [
        "  hours > 3   and hour > 2",
        "                  ^^^^",
    ]


def test_a_long_expression_is_shown_around_the_spot():
    _, shown, carets = message("hours > 1 and " * 20 + "hour > 2" + " and hours > 1" * 20).split("\n")
    assert len(shown) == 102
    assert shown.startswith("  …")
    assert shown.endswith("…")
    assert shown[carets.index("^") : len(carets)] == "hour"


def test_the_ends_of_a_long_expression_are_shown_as_they_are():
    _, start, carets = message("hour > 2" + " and hours > 1" * 20).split("\n")
    assert (start[:11], start[-1], carets) == ("  hour > 2 ", "…", "  ^^^^")
    _, end, carets = message("hours > 1 and " * 20 + "hour > 2").split("\n")
    assert (end[:3], end[-8:], end[carets.index("^") : len(carets)]) == ("  …", "hour > 2", "hour")
    _, end, carets = message("hours > 1 and " * 20).split("\n")
    assert (end[-3:], len(carets)) == ("and", len(end) + 1)


def test_many_levels_are_not_all_listed():
    feature = Feature(name="month", kind="categorical", levels=tuple(f"month {i}" for i in range(12)))
    with pytest.raises(InputError, match=r"its levels are 'month 0', .*'month 5', …\n"):
        parse_condition("month == 'x'", [feature])


def test_an_expression_has_a_largest_length():
    longest = ("hours > 1 and " * LONGEST)[: LONGEST - 9].rsplit("and", 1)[0] + "and "
    longest += "hours > 1".rjust(LONGEST - len(longest))
    assert len(longest) == LONGEST
    assert holds(longest, [row(hours=2), row(hours=1)]) == [True, False]
    assert (
        message(f"{longest}0").split("\n")[0]
        == "where: an expression has at most 2,000 characters, and this one has 2,001"
    )
    assert message("9" * 1_000_000).startswith("where: an expression has at most 2,000 characters")


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("not ", ""), ("not (", ")")])
def test_an_expression_has_a_largest_depth(opening, closing):
    times = DEEPEST // (2 if opening == "not (" else 1)
    assert holds(opening * times + "hours > 1" + closing * times, [row(hours=2)]) == [times % 2 == 0 or opening == "("]
    assert message(opening * (times + 1) + "hours > 1").startswith(
        "where: more than 50 brackets, nots and minus signs stand inside each other\n"
    )


def test_minus_signs_count_as_depth_too():
    assert holds("hours > " + "-" * DEEPEST + "1", [row(hours=2)]) == [True]
    assert "more than 50" in message("hours > " + "-" * (DEEPEST + 1) + "1")


def test_depth_is_left_again():
    assert holds(" and ".join(["(((hours > 1)))"] * 40), [row(hours=2)]) == [True]


@pytest.mark.parametrize("text", ["hours > " + "1+" * 950 + "1", "hours > 1" + "*1" * 950, "0" + "<1" * 950])
def test_a_long_row_of_operators_is_no_deep_nest(text):
    assert len(holds(text, [row(hours=2)])) == 1


def test_a_long_row_of_conditions_is_no_deep_nest():
    for word in ("and", "or"):
        condition = parse_condition(f" {word} ".join(["0<1"] * 240), FEATURES)
        assert condition.holds(np.zeros((1, len(FEATURES))), np.zeros((1, len(FEATURES)))).all()
        assert len(condition.conjuncts()) == (240 if word == "and" else 1)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("hours > 1 or hours > 5 and savings > 5", "hours > 1 or (hours > 5 and savings > 5)"),
        ("not hours > 1 and savings > 5", "(not (hours > 1)) and savings > 5"),
        ("not hours > 1 or savings > 5", "(not (hours > 1)) or savings > 5"),
        ("not hours in [2, 3] or savings > 5", "(hours not in [2, 3]) or savings > 5"),
        ("hours - 1 - 1 > 0", "((hours - 1) - 1) > 0"),
        ("8 / hours / 2 > 1", "((8 / hours) / 2) > 1"),
        ("8 / hours * 2 > 5", "((8 / hours) * 2) > 5"),
        ("1 + hours * 2 > 6", "1 + (hours * 2) > 6"),
        ("-hours + 4 > 0", "(-hours) + 4 > 0"),
        ("2 - -hours > 4", "2 + hours > 4"),
        ("1 < hours < 3", "1 < hours and hours < 3"),
        ("1 < hours > savings != 3", "1 < hours and hours > savings and savings != 3"),
    ],
)
def test_operators_bind_as_in_python(text, meant):
    table = [row(hours=hours, savings=savings) for hours in (1, 2, 3, 4, 6) for savings in (1, 3, 6)]
    answers = holds(text, table)
    assert answers == holds(meant, table)
    assert len(set(answers)) == 2


def test_a_comparison_with_a_missing_value_is_false_whatever_it_asks():
    for sign in COMPARISONS:
        for text in (f"hours {sign} 3", f"3 {sign} was.hours + 1", f"grade {sign} 2", f"school {sign} 'mid'"):
            assert holds(text, [row()]) == [False]
            assert holds(f"not {text}", [row()]) == [True]
    for text in ("hours in [1]", "hours not in [1]", "job in ['clerk']", "job not in ['clerk']", "job == was.job"):
        assert holds(text, [row()]) == [False]


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize(
    "number", ["1 / hours", "hours / hours", "-1 / hours", "1 / (1 / hours)", "(hours + 1e308) * 10"]
)
def test_a_comparison_with_a_number_that_does_not_exist_is_false(sign, number):
    assert holds(f"{number} {sign} 5", [row(hours=0)]) == [False]
    assert holds(f"5 {sign} {number}", [row(hours=0)]) == [False]
    assert holds(f"{number} not in [5]", [row(hours=0)]) == [False]


def test_numbers_that_are_levels_are_compared_as_numbers():
    table = [row(zone=value) for value in (30, 10.5, 20)]
    assert holds("zone > 15", table) == [True, False, True]
    assert holds("zone + 0.5 == 11", table) == [False, True, False]
    assert holds("zone == 7", table) == [False, False, False]
    assert holds("grade + 3 == 5", [row(grade=1), row(grade=2), row(grade=5)]) == [False, True, False]


def test_levels_are_compared_by_their_order():
    table = [row(school=level) for level in SCHOOLS]
    assert holds("school > 'low'", table) == [False, True, True]
    assert holds("'low' < school <= 'mid'", table) == [False, True, False]
    assert holds("school > was.school", table, [row(school="low")]) == [False, True, True]
    assert holds("owner > false", [row(owner=False), row(owner=True)]) == [False, True]


def test_true_is_not_one():
    table = [row(code=level) for level in ("none", 1, True)]
    assert holds("code == 1", table) == [False, True, False]
    assert holds("code == true", table) == [False, False, True]
    features = [Feature(name=name, kind="binary", levels=("none", one)) for name, one in (("a", 1), ("b", True))]
    with pytest.raises(InputError, match="this has other levels than 'a'"):
        parse_condition("a == b", features)


def test_names_and_texts_may_hold_anything():
    odd = Feature(name="a`b (c)", kind="categorical", levels=("it's", 'say "no"', "both ' and \"", "", "x  y\n"))
    texts = ["'it''s'", '"it\'s"', "'say \"no\"'", '"both \' and """', "''", "'x  y\n'"]
    codes = [0, 0, 1, 2, 3, 4]
    for text, code in zip(texts, codes, strict=True):
        condition = parse_condition(f"`a``b (c)`  ==\n{text}", [odd])
        now = np.arange(5.0)[:, None]
        assert condition.holds(now, now).tolist() == [i == code for i in range(5)]
        assert condition.sentence() == f"`a``b (c)` == {text}"
        assert parse_condition(condition.sentence(), [odd]).holds(now, now).tolist() == [i == code for i in range(5)]


def test_words_of_the_language_are_names_in_backticks():
    features = [Feature(name=name, kind="numeric") for name in ("and", "was", "true", "in")]
    now, was = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[5.0, 6.0, 7.0, 8.0]])
    condition = parse_condition("`and` == 1 and `was` == 2 and was.`was` == 6 and `true` + was.`in` == 11", features)
    assert condition.holds(now, was).tolist() == [True]
    assert (condition.released, condition.before) == ({0, 1, 2}, {1, 3})


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("3.", 3), (".5", 0.5), ("1e3", 1000), ("1E+3", 1000), ("2.5e-1", 0.25), ("007", 7), ("- 3", -3)],
)
def test_numbers_are_written_as_usual(text, value):
    assert holds(f"hours == {text}", [row(hours=value), row(hours=value + 1)]) == [True, False]


def test_it_says_what_it_reads():
    condition = parse_condition(
        "hours <= was.hours + 10 and savings >= `credit amount` * 0.1 or was.job in ['clerk']", FEATURES
    )
    assert condition.released == {0, 1, 2}
    assert condition.before == {0, 7}
    nothing = parse_condition("1 < 2", FEATURES)
    assert (nothing.released, nothing.before) == (frozenset(), frozenset())


def test_the_leading_axes_broadcast():
    now = np.zeros((4, 3, len(FEATURES)))
    now[..., 0] = np.arange(12).reshape(4, 3)
    was = np.zeros((4, 1, len(FEATURES)))
    was[..., 0] = 5
    expected = (now[..., 0] <= 6).tolist()
    condition = parse_condition("hours <= was.hours + 1", FEATURES)
    assert condition.holds(now, was).tolist() == expected
    assert condition.holds(now, was[0, 0]).tolist() == expected
    assert condition.holds(now[0, 0], was[0, 0]).tolist() is True
    assert condition.holds(now[:0], was[0]).shape == (0, 3)


@pytest.mark.parametrize(
    "text", ["was.hours == 0", "hours == 0", "1 < 2", "not 1 > 2", "1 in [1]", "hours == was.hours"]
)
def test_there_is_an_answer_for_every_row_whatever_is_read(text):
    now, was = np.zeros((4, 1, len(FEATURES))), np.zeros((3, len(FEATURES)))
    answer = parse_condition(text, FEATURES).holds(now, was)
    assert answer.shape == (4, 3)
    assert answer.all()
    answer[0, 0] = False
    assert answer.sum() == 11


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("hours > 1", ["hours > 1"]),
        ("hours > 1 or savings > 2", ["hours > 1 or savings > 2"]),
        ("not (hours > 1 and savings > 2)", ["not (hours > 1 and savings > 2)"]),
        ("20 <= hours <= 45", ["20 <= hours", "hours <= 45"]),
        ("20 <= (hours + 1) <= 45", ["20 <= (hours + 1)", "(hours + 1) <= 45"]),
        ("((hours > 1 and (savings > 2)) and grade < 3)", ["hours > 1", "(savings > 2)", "grade < 3"]),
        ("(hours > 1 or hours < 0) and  0<savings<2", ["(hours > 1 or hours < 0)", "0<savings", "savings<2"]),
        ("job in ['clerk', 'nurse'] and hours > 1", ["job in ['clerk', 'nurse']", "hours > 1"]),
    ],
)
def test_conjuncts_are_stretches_of_the_text(text, parts):
    assert [part.text for part in parse_condition(f" {text}\n", FEATURES).conjuncts()] == parts


def test_conditions_are_equal_by_their_text_and_features():
    one, same_again = (parse_condition(" hours > 1 ", FEATURES) for _ in range(2))
    assert one == same_again
    assert hash(one) == hash(same_again)
    assert one != parse_condition("hours > 2", FEATURES)
    assert one != parse_condition("hours > 1", FEATURES[:3])
    assert repr(one) == "Condition(text='hours > 1', released=frozenset({0}), before=frozenset())"
