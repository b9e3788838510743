"""Columns of a result: what each is called, what it is, and how its cells come out."""

from dataclasses import dataclass

from pydantic import JsonValue

from askbus.records.display import Presentation, Style, local
from askbus.records.model import Kind, ResultColumn
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


def output(name: str, field: Field, presentation: Presentation) -> Output:
    """A field as it is."""
    kind = field.column.kind
    style = Style(kind=kind, plain=is_plain(name, field), currency=presentation.currencies.get(name, ""))
    return Output(ResultColumn(name=name, kind=kind, type=field.column.type), style)


def is_plain(name: str, field: Field) -> bool:
    """Keys and years read digit by digit."""
    return field.column.kind is Kind.INTEGER and (field.reference or "year" in name.lower())
