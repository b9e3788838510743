"""The databases that the demo asks about: what is said to the assistant, and the SQL by which the demo knows the truth itself."""

from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from uuid import UUID

import asyncpg

from askbus.db.statements import Statement


@dataclass(frozen=True)
class Customer:
    """The row whose e-mail address is changed: `row` is all of it, as Postgres writes it."""

    email: str
    row: str


@dataclass(frozen=True)
class Business:
    """`name` is a folder beside this file: the model's script, and the demo's own statements.

    `customer` as the person writes the name; `choice` is what they answer when it is not clear whom they mean.
    """

    name: str
    asks: str
    customer: str
    choice: str | None
    email: str

    @property
    def script(self) -> Path:
        return Path(str(files("askbus.demo") / self.name / "script.json"))

    @property
    def wish(self) -> str:
        """The change, in the person's words."""
        return f"Please change the e-mail of {self.customer} to {self.email}"


KESTREL = Business(
    name="kestrel",
    asks="What is the combined total of our three largest shipped orders?",
    customer="René",
    choice="René Marchal",
    email="rene@marchal-voiles.example",
)
CHINOOK = Business(
    name="chinook",
    asks="What is the combined total of the three largest invoices?",
    customer="frantisek wichterlova",
    choice=None,
    email="frantiska@wichterlova.example",
)


class Truth:
    """The demo's own look at the records, as an administrator: what askbus says is held against it."""

    def __init__(self, url: str, business: Business) -> None:
        self._url = url
        self._figure = Statement("askbus.demo", f"{business.name}/figure.sql")
        self._customer = Statement("askbus.demo", f"{business.name}/customer.sql")
        self._ledger = Statement("askbus.demo", "sql/ledger.sql")

    async def figure(self) -> Decimal:
        """What the assistant is asked for."""
        return Decimal((await self._one(self._figure))["sum"])

    async def customer(self) -> Customer:
        return Customer(**await self._one(self._customer))

    async def ledger(self, action_id: UUID) -> str:
        """The outcomes that the ledger holds, as `applied, undone`."""
        return str((await self._one(self._ledger, action_id=action_id))["states"])

    async def _one(self, statement: Statement, **parameters: object) -> dict[str, str]:
        db = await asyncpg.connect(self._url)
        try:
            return await statement.one(db, **parameters)
        finally:
            await db.close()
