"""A number of an answer that has no source. Pure."""

from pydantic import BaseModel, ConfigDict


class Ungrounded(BaseModel):
    """A number that stands in nothing that was read or said: `text` is how it stands in the message, from character `start` to before
    `end` (Unicode code points from 0)."""

    model_config = ConfigDict(frozen=True)

    text: str
    start: int
    end: int
