"""A deployment's metrics: pure functions beside its own tools, in the modules that ASKBUS_TOOLS names, and tools themselves.

    @metric(reads=billed, measure=Measure(fraction=True, places=3))
    def unpaid_share(period: Period, read: Reads) -> Decimal:
        '''The share of what was invoiced in a period that is not paid yet.'''
        return read["unpaid"].number("total", nothing=Decimal(0)) / read["billed"].number("total")

`compute` is the one seam: the tool that a model calls, REST, and whatever else shows such a figure, all come through it.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Context, Decimal, DivisionUndefined, InvalidOperation, Overflow, localcontext
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel

from askbus.access.model import Scope
from askbus.metrics.model import Figure, Measure, Missing, NoData, Reads
from askbus.metrics.tables import table
from askbus.records.display import MISSING, Presentation, Style, display
from askbus.records.model import Kind, QueryPlan
from askbus.tools.model import ToolSpec
from askbus.tools.own import BadTool, Call, Label, OwnTool, Reader

__all__ = ["Figure", "Measure", "Metric", "MetricSpec", "NoData", "Reads", "compute", "metric"]

In = TypeVar("In", bound=BaseModel)
Plans = Mapping[str, QueryPlan]

MOST_READS = 10
EXACT = Context(prec=50)
"""Digits of what a calculation comes to; sums and products of what Postgres returns fit."""
TOLD = (
    "It is a metric: this figure is computed here and nowhere else, so do not work it out from records. Quote display as it stands; where "
    "value is missing, note says why."
)
NOTES = {
    Missing.NO_DATA: "There is nothing to compute this from. Say so, or ask for another part of the records.",
    Missing.DIVISION_BY_ZERO: "What it is divided by is zero, so it has no value. Say so, or ask for another part of the records.",
    Missing.UNDEFINED: "The calculation has no value here. Say so, or ask for another part of the records.",
}


@dataclass(frozen=True)
class MetricSpec(ToolSpec):
    """A metric as the model, the API and the documentation see it."""

    measure: Measure = field(default_factory=Measure)


@dataclass(frozen=True)
class Metric:
    """A registered metric. `reads` says what is read, as the person who asks; `function` is pure."""

    spec: MetricSpec
    reads: Callable[[Any], Plans]
    function: Callable[[Any, Reads], Decimal]

    def __call__(self, given: BaseModel, read: Reads) -> Decimal:
        """Calls the function, as its own tests do."""
        return self.function(given, read)

    def figure(self, given: BaseModel, read: Reads, presentation: Presentation) -> Figure:
        """What the function comes to on these tables; that it has no value is a result too."""
        try:
            with localcontext(EXACT):
                value = self.function(given, read)
        except NoData as nothing:
            return self._missing(Missing.NO_DATA, str(nothing))
        except ZeroDivisionError:
            return self._missing(Missing.DIVISION_BY_ZERO)
        except InvalidOperation as error:
            by_zero = any(kind is DivisionUndefined for kind in (error.args[0] if error.args else ()))
            return self._missing(Missing.DIVISION_BY_ZERO if by_zero else Missing.UNDEFINED)
        except Overflow:
            return self._missing(Missing.UNDEFINED)
        if not isinstance(value, Decimal):
            raise TypeError(f"{self.spec.name} returned {type(value).__name__}, and a metric returns Decimal")
        if not value.is_finite():
            return self._missing(Missing.UNDEFINED)
        measure = self.spec.measure
        style = Style(
            kind=Kind.DECIMAL,
            places=measure.places + (2 if measure.fraction else 0),
            currency=measure.currency,
            unit=measure.unit,
            percent=measure.percent,
            fraction=measure.fraction,
        )
        return self._figure(value, display(f"{value:f}", style, presentation))

    def _missing(self, why: Missing, note: str = "") -> Figure:
        return self._figure(None, MISSING, why, f"{note} {NOTES[why]}".strip())

    def _figure(self, value: Decimal | None, shown: str, missing: Missing | None = None, note: str | None = None) -> Figure:
        measure = self.spec.measure
        return Figure(
            metric=self.spec.name,
            value=value,
            display=shown,
            currency=measure.currency or None,
            unit="%" if measure.percent else measure.unit or None,
            missing=missing,
            note=note,
        )

    @property
    def tool(self) -> OwnTool:
        """The metric as a tool of the deployment's."""

        async def run(call: Call, given: BaseModel) -> Figure:
            return await compute(self, given, call.records, call.presentation)

        return OwnTool(self.spec, run)


async def compute(metric: Metric, given: BaseModel, records: Reader, presentation: Presentation) -> Figure:
    """The figure, read and shown for one person: as they may see the records, all of it on one snapshot.

    Raises what reading raises, and TooLarge where a read does not come back whole: nothing is computed from part of it.
    """
    plans = metric.reads(given)
    if len(plans) > MOST_READS:
        raise ValueError(f"{metric.spec.name} reads {len(plans)} times, and {MOST_READS} is the most")
    found = await records.query_all(list(plans.values()))
    read = {name: table(metric.spec.name, rows) for name, rows in zip(plans, found, strict=True)}
    return metric.figure(given, read, presentation)


def metric(
    *, reads: Callable[[In], Plans], measure: Measure | None = None, label: Label | None = None
) -> Callable[[Callable[[In, Reads], Decimal]], Metric]:
    """Makes a metric of a pure function: its name is the metric's, its docstring what models and people are told, the annotation of
    its first parameter what is asked. `reads` makes the plans from that. Raises BadTool.
    """

    def made(function: Callable[[In, Reads], Decimal]) -> Metric:
        name = function.__name__
        hints = get_type_hints(function)
        parameters = list(inspect.signature(function).parameters)
        if len(parameters) != 2:
            raise BadTool(f"{name}: a metric takes two parameters, what is asked and the tables that were read")
        taken = hints.get(parameters[0])
        if not (isinstance(taken, type) and issubclass(taken, BaseModel)):
            raise BadTool(f"{name}: annotate its first parameter with a pydantic model")
        if hints.get("return") is not Decimal or inspect.iscoroutinefunction(function):
            raise BadTool(f"{name}: a metric returns Decimal, and is no async function: it computes and does nothing else")
        told = inspect.cleandoc(function.__doc__ or "")
        if not told:
            raise BadTool(f"{name}: say what the figure means, in the function's docstring: it is all that the model is told")
        words = label or Label(f"Computing {name.replace('_', ' ')}", f"Computed {name.replace('_', ' ')}")
        spec = MetricSpec(
            name=name,
            description=f"{told} {TOLD}",
            input=taken,
            output=Figure,
            scope=Scope.DATA_READ,
            repeatable=True,
            work=words,
            measure=measure or Measure(),
        )
        made = Metric(spec, reads, function)
        made.tool  # noqa: B018  # what a provider would refuse is refused here
        return made

    return made
