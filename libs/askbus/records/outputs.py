"""Columns of a result: what each is called, what it is, and how its cells come out."""

from dataclasses import dataclass

from pydantic import JsonValue

from askbus.records.display import Style, local
from askbus.records.model import Kind, ResultColumn
from askbus.records.schema import Column
from askbus.records.source import Field
from askbus.records.values import from_text


@dataclass(frozen=True)
class Output:
    """One column of the result: what it is called, what it is, how it is shown."""

    column: ResultColumn
    style: Style

    def value(self, text: str | None) -> JsonValue:
        """The typed value of what Postgres wrote. Where a stretch of time begins is told in its own zone, with the offset."""
        if text is not None and self.style.zone:
            return local(text, self.style.zone)
        return from_text(text, self.column.kind)


def output(name: str, field: Field) -> Output:
    """A field as it is."""
    kind = field.column.kind
    return Output(
        ResultColumn(name=name, kind=kind, type=field.column.type), style_of(field.column, kind, plain=is_plain(name, field))
    )


def style_of(column: Column, kind: Kind, *, plain: bool = False, places: int | None = None) -> Style:
    """How numbers of the column are shown, as the deployment says, also those computed over it."""
    said = column.shown
    return Style(
        kind=kind,
        plain=plain or said.format == "plain",
        places=places,
        currency=said.currency,
        unit=said.unit,
        percent=said.format == "percent",
        fraction=said.format == "fraction",
    )


def is_plain(name: str, field: Field) -> bool:
    """Keys and years read digit by digit."""
    return field.column.kind is Kind.INTEGER and (field.reference or "year" in name.lower())
