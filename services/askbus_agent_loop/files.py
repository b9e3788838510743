"""The files of a conversation as a model is given them: the latest pictures and PDF files as they are, all others by name.

Contents are read from Postgres when a request is made, and kept nowhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from uuid import UUID

from pydantic_core import to_json

from askbus.attachments import reads
from askbus.attachments.model import LARGEST_SENT, File, Kind
from askbus.db.statements import Executor
from askbus.models.model import Accepts, Document, Fault, Image, ProviderError
from askbus.models.quoting import quoted
from askbus_agent_loop.view import Said, TurnView

Part: TypeAlias = Image | Document

ANNOUNCED = "Files that the user sent with this message (JSON; `sent` says where their content is):\n"
How: TypeAlias = Literal["with this message", "read it with read_attachment", "not sent again", "this model cannot see it"]


EVERYTHING = Accepts(images=True, documents=True)


@dataclass(frozen=True)
class Files:
    """The files of a turn's conversation by id, and the parts of those that are sent."""

    by_id: Mapping[UUID, File] = field(default_factory=dict)
    parts: Mapping[UUID, Part] = field(default_factory=dict)
    accepts: Accepts = EVERYTHING

    def announced(self, ids: Sequence[UUID]) -> str:
        """What a prompt says of these files: name, type, size, the first lines of a text. Framed: all of it is others' words."""
        lines = [to_json(self._line(self.by_id[file_id])).decode() for file_id in ids if file_id in self.by_id]
        return ANNOUNCED + quoted("\n".join(lines)) if lines else ""

    def sent_with(self, ids: Sequence[UUID]) -> tuple[Part, ...]:
        return tuple(self.parts[file_id] for file_id in ids if file_id in self.parts)

    def _line(self, file: File) -> dict[str, object]:
        line: dict[str, object] = {"file": str(file.id), "name": file.name, "kind": file.kind.value, "bytes": file.size}
        if file.pages is not None:
            line["pages"] = file.pages
        if file.excerpt:
            line["first_lines"] = file.excerpt
        return {**line, "sent": self._how(file)}

    def _how(self, file: File) -> How:
        if file.id in self.parts:
            return "with this message"
        if file.has_text:
            return "read it with read_attachment"
        return "not sent again" if _taken(file, self.accepts) else "this model cannot see it"


NO_FILES = Files()


async def load_files(db: Executor, turn: TurnView, accepts: Accepts, *, most: int, most_bytes: int) -> Files:
    """The files of the turn's conversation. The content of the latest `most` that a model takes as they are, and of no more than
    `most_bytes` of them, those of the message that is answered first.

    Raises ProviderError (not_accepted) where this message has a file that the model takes in no way at all.
    """
    messages = [said for said in turn.messages if said.attachments]
    if not messages:
        return NO_FILES
    ids = [file_id for said in messages for file_id in said.attachments]
    by_id = {file.id: file for file in await reads.of_thread(db, turn.thread_id, turn.user_id, ids, most=len(ids))}
    _refuse(messages, turn, by_id, accepts)
    parts: dict[UUID, Part] = {}
    left = most_bytes
    for file_id in dict.fromkeys(file_id for said in reversed(messages) for file_id in said.attachments):
        file = by_id.get(file_id)
        if file is None or file.kind not in {Kind.IMAGE, Kind.PDF} or not _taken(file, accepts):
            continue
        left -= file.size if file.kind is Kind.PDF else min(file.size, LARGEST_SENT)
        if left < 0 or len(parts) == most:
            break
        parts[file_id] = _part(file, *await reads.for_model(db, file_id))
    return Files(by_id, parts, accepts)


def _refuse(messages: Sequence[Said], turn: TurnView, by_id: Mapping[UUID, File], accepts: Accepts) -> None:
    own = next((said for said in messages if said.turn_id == turn.message_of), None)
    for file_id in own.attachments if own is not None else ():
        file = by_id.get(file_id)
        if file is not None and not file.has_text and file.kind in {Kind.IMAGE, Kind.PDF} and not _taken(file, accepts):
            raise ProviderError(Fault.NOT_ACCEPTED, f"the model takes no {file.kind.value}")


def _taken(file: File, accepts: Accepts) -> bool:
    """Whether the model takes the file itself; what has text can be read in any case."""
    return accepts.images if file.kind is Kind.IMAGE else accepts.documents


def _part(file: File, content: bytes, media_type: str | None) -> Part:
    if file.kind is Kind.PDF:
        return Document(name=file.name, data=content)
    return Image.model_validate({"media_type": media_type or file.media_type, "data": content})
