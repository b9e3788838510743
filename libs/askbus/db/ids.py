"""New ids: UUIDv7 (RFC 9562), so that rows of one table lie in the order in which they were made."""

from uuid import UUID

import uuid_utils


def new_id() -> UUID:
    """A new UUIDv7 as the standard library's UUID."""
    return UUID(int=uuid_utils.uuid7().int)
