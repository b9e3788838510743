"""What a standing approval covers, by table: in doubt a proposal lies outside, and waits for people."""

import pytest
from pydantic import ValidationError

from askbus.approvals.cover import Cover, FieldCover
from askbus.records.changes import Change, FieldChange, PreparedOperation
from askbus.records.model import Kind

STAGE = FieldCover(field="stage", kind=Kind.ENUM, values=("won", "open"))
AMOUNT = FieldCover(field="amount", kind=Kind.DECIMAL, minimum="0", maximum="100.00")
DUE = FieldCover(field="due", kind=Kind.DATE, minimum="2026-01-01")
NOTE = FieldCover(field="note", kind=Kind.TEXT)
OWNER = FieldCover(field="owner_id", kind=Kind.INTEGER)
COUNT = FieldCover(field="count", kind=Kind.INTEGER, values=("1", "2", None))
COVER = Cover(collection="orders", kinds=(Change.UPDATE,), fields=(STAGE, AMOUNT, DUE, NOTE, OWNER, COUNT), most_records=2)


def change(field: str, kind: Kind, after: str | None, ref: str | None = None) -> FieldChange:
    return FieldChange(field=field, kind=kind, type=kind.value, before="x", after=after, ref=ref)


def operation(*changes: FieldChange, kind: Change = Change.UPDATE, collection: str = "orders") -> PreparedOperation:
    return PreparedOperation(id="a", kind=kind, collection=collection, key={"id": "1"}, label="", changes=changes)


@pytest.mark.requirement("R20")
@pytest.mark.parametrize(
    ("field", "kind", "after", "held"),
    [
        ("stage", Kind.ENUM, "won", True),
        ("stage", Kind.ENUM, "lost", False),
        ("stage", Kind.ENUM, None, False),
        ("stage", Kind.TEXT, "won", False),
        ("amount", Kind.DECIMAL, "0", True),
        ("amount", Kind.DECIMAL, "100", True),
        ("amount", Kind.DECIMAL, "100.000", True),
        ("amount", Kind.DECIMAL, "100.01", False),
        ("amount", Kind.DECIMAL, "-0.01", False),
        ("amount", Kind.DECIMAL, "NaN", False),
        ("amount", Kind.DECIMAL, "Infinity", False),
        ("amount", Kind.DECIMAL, None, False),
        ("amount", Kind.FLOAT, "5", False),
        ("due", Kind.DATE, "2026-01-01", True),
        ("due", Kind.DATE, "2025-12-31", False),
        ("due", Kind.DATE, "infinity", False),
        ("due", Kind.DATE, "0044-03-15 BC", False),
        ("due", Kind.DATE, None, False),
        ("note", Kind.TEXT, "anything", True),
        ("note", Kind.TEXT, None, True),
        ("count", Kind.INTEGER, "2", True),
        ("count", Kind.INTEGER, None, True),
        ("count", Kind.INTEGER, "3", False),
        ("other", Kind.TEXT, "anything", False),
    ],
)
def test_a_value_lies_within_or_it_does_not(field: str, kind: Kind, after: str | None, held: bool) -> None:
    """Numbers by their worth, dates by their day, all else by its spelling; what has no place in the order lies outside."""
    assert COVER.holds([operation(change(field, kind, after))]) is held


@pytest.mark.requirement("R20")
def test_every_operation_has_to_lie_within_wholly() -> None:
    """One more record, another collection, a create where only updates are covered, one field too many: each leaves it to people."""
    fine = operation(change("note", Kind.TEXT, "x"))
    assert COVER.holds([fine, fine])
    assert not COVER.holds([fine, fine, fine])
    assert not COVER.holds([])
    assert not COVER.holds([fine, operation(change("note", Kind.TEXT, "x"), collection="customers")])
    assert not COVER.holds([operation(change("note", Kind.TEXT, "x"), kind=Change.CREATE)])
    assert not COVER.holds([operation(change("note", Kind.TEXT, "x"), change("margin", Kind.DECIMAL, "1"))])


@pytest.mark.requirement("R20", "R12")
def test_a_key_that_does_not_exist_yet_is_within_no_limit() -> None:
    """`$ref` to a record of the same action: where the field is free it is covered, where it is limited nobody can tell."""
    limited = COVER.model_copy(update={"fields": (OWNER.model_copy(update={"values": ("1",)}),)})
    referring = operation(change("owner_id", Kind.INTEGER, None, ref="c"))
    assert COVER.holds([referring])
    assert not limited.holds([referring])


@pytest.mark.requirement("R20")
@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": Kind.FLOAT, "maximum": "1"},
        {"kind": Kind.JSON, "values": ("{}",)},
        {"kind": Kind.DECIMAL, "minimum": "2", "maximum": "1"},
        {"kind": Kind.DECIMAL, "minimum": "NaN"},
        {"kind": Kind.TEXT, "minimum": "a"},
        {"kind": Kind.DATE, "maximum": "infinity"},
    ],
)
def test_a_limit_that_nobody_could_hold_anything_to_is_refused(wrong: dict[str, object]) -> None:
    """A kind without an exact order has no bounds; bounds with nothing between them would be an approval of nothing."""
    with pytest.raises(ValidationError):
        FieldCover.model_validate({"field": "f", **wrong})
