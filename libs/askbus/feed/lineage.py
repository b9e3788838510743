"""The log's lineage: positions in it hold for one history of one database."""

import secrets

from askbus.db.statements import Executor, Statement

NEW_EPOCH = Statement("askbus.feed", "sql/new_epoch.sql")


async def new_epoch(db: Executor) -> str:
    """Begins a new lineage and returns its name. For a database that was restored, before its services start.

    A restored database counts transactions from elsewhere: old positions would skip what is new, or show it twice. Every stream
    starts over from the state as it is. Facts that no relay had carried are not repeated by the log; each owner's sweep finds the
    rows that wait, and agents read what they have not heard.
    """
    row = await NEW_EPOCH.one(db, epoch=secrets.token_hex(3))
    return str(row["epoch"])
