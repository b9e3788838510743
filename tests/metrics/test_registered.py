"""What a metric must be, and what it comes to: tried without a database."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from askbus.errors import TooLarge
from askbus.metrics.model import Missing, Table
from askbus.metrics.registered import Measure, Metric, NoData, Reads, metric
from askbus.metrics.tables import table
from askbus.records.display import Presentation
from askbus.records.model import Kind, QueryPlan, ResultColumn, Rows
from askbus.tools.own import BadTool

pytestmark = pytest.mark.requirement("R7")

GERMAN = Presentation(locale="de")


class Asked(BaseModel):
    part: Decimal = Decimal(1)


def nothing(_: Asked) -> dict[str, QueryPlan]:
    return {}


def made(measure: Measure, calculate: Callable[[Reads], Decimal]) -> Metric:
    @metric(reads=nothing, measure=measure)
    def it(asked: Asked, read: Reads) -> Decimal:
        """Is computed."""
        return calculate(read)

    return it


@pytest.mark.parametrize(
    ("measure", "value", "display"),
    [
        (Measure(currency="EUR"), "1234.5", "1.234,50\u00a0€"),
        (Measure(unit="days", places=1), "12.345", "12,3\u00a0days"),
        (Measure(percent=True, places=1), "7.25", "7,2\u00a0%"),
        (Measure(fraction=True, places=1), "0.0725", "7,2\u00a0%"),
        (Measure(places=0), "9007199254740993", "9.007.199.254.740.993"),
    ],
)
def test_a_value_stays_exact_and_is_shown_as_all_values_are(measure: Measure, value: str, display: str) -> None:
    """In the reader's language, by the same formatter."""
    figure = made(measure, lambda _: Decimal(value)).figure(Asked(), {}, GERMAN)
    assert (figure.value, figure.display, figure.missing) == (Decimal(value), display, None)


def empty(_: Reads) -> Decimal:
    raise NoData("No orders.")


@pytest.mark.parametrize(
    ("calculate", "missing"),
    [
        (empty, Missing.NO_DATA),
        (lambda _: Table([]).number("x"), Missing.NO_DATA),
        (lambda _: Table([{"x": None}]).number("x"), Missing.NO_DATA),
        (lambda _: Decimal(1) / Decimal(0), Missing.DIVISION_BY_ZERO),
        (lambda _: Decimal(0) / Decimal(0), Missing.DIVISION_BY_ZERO),
        (lambda _: Decimal(-1).sqrt(), Missing.UNDEFINED),
        (lambda _: Decimal("NaN"), Missing.UNDEFINED),
        (lambda _: Decimal("1e999999") * 10, Missing.UNDEFINED),
    ],
)
def test_without_a_value_the_figure_says_why(calculate: Callable[[Reads], Decimal], missing: Missing) -> None:
    """And what to do, in words for whoever asked."""
    figure = made(Measure(), calculate).figure(Asked(), {}, GERMAN)
    assert (figure.value, figure.display, figure.missing) == (None, "—", missing)
    assert "Say so" in (figure.note or "")


def test_what_is_no_metric_is_refused_when_it_is_registered() -> None:
    """A float, a coroutine, no words for the model: each is named."""

    def floating(asked: Asked, read: Reads) -> float:
        """Floats."""
        return 0.1

    def silent(asked: Asked, read: Reads) -> Decimal:
        return Decimal(1)

    def untyped(asked, read) -> Decimal:  # type: ignore[no-untyped-def]
        """Takes anything."""
        return Decimal(1)

    for function, said in ((floating, "returns Decimal"), (silent, "say what the figure means"), (untyped, "pydantic model")):
        with pytest.raises(BadTool, match=said):
            metric(reads=nothing)(function)  # type: ignore[arg-type]
    whole: Any = 1
    with pytest.raises(TypeError, match="returned int"):
        made(Measure(), lambda _: whole).figure(Asked(), {}, GERMAN)


def test_cells_are_typed_and_a_part_of_the_rows_is_no_table() -> None:
    """Decimals and large integers from text, floats as they are written, dates as dates."""
    kinds = {"a": Kind.DECIMAL, "b": Kind.INTEGER, "c": Kind.FLOAT, "d": Kind.DATE, "e": Kind.TEXT}
    rows = Rows(
        collection="orders",
        columns=tuple(ResultColumn(name=name, kind=kind, type=kind.value) for name, kind in kinds.items()),
        rows=(("0.10", "9007199254740993", 0.1, "2026-01-31", "x"), (None, 1, None, "infinity", None)),
        display=(("",) * 5,) * 2,
        total=2,
        truncated=False,
    )
    found = table("it", rows)
    assert found.numbers("a") == [Decimal("0.10")]
    assert found.numbers("b") == [Decimal(9007199254740993), Decimal(1)]
    assert found.numbers("c") == [Decimal("0.1")]
    assert [row["d"] for row in found.rows] == [date(2026, 1, 31), "infinity"]
    with pytest.raises(TypeError, match="no number"):
        found.numbers("e")
    with pytest.raises(ValueError, match="2 rows"):
        found.number("b")
    with pytest.raises(TooLarge, match="2 rows of orders"):
        table("it", rows.model_copy(update={"truncated": True}))
