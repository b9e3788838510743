"""A metric of the deployment's own, so that the routes of metrics have something to compute."""

from collections.abc import Mapping
from decimal import Decimal

from pydantic import BaseModel, ConfigDict

from askbus.metrics.registered import Measure, Reads, metric
from askbus.records.model import Aggregate, AggregateOp, QueryPlan


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


def orders(_asked: Nothing) -> Mapping[str, QueryPlan]:
    amount = Aggregate(op=AggregateOp.SUM, field="amount")
    return {"orders": QueryPlan(collection="orders", aggregates=(amount,))}


@metric(reads=orders, measure=Measure())
def orders_in_all(_asked: Nothing, read: Reads) -> Decimal:
    """Adds up all orders."""
    return read["orders"].number("sum_amount")
