"""The built-in tools. What is said of them here is all that a model is told: only what is true of them. Pure."""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from askbus.access.model import Scope
from askbus.errors import InvalidInput
from askbus.questions.model import Form
from askbus.records.describe import Description
from askbus.records.model import QueryPlan, Rows
from askbus.records.names import ResolvedNames, ResolveNamesRequest, ResolveRequest, ResolveResult
from askbus.tools.arguments import Changes, DescribeRecords, read, unknown_tool
from askbus.tools.files import FilePiece, GenerateImage, MadePicture, ReadAttachment
from askbus.tools.model import Asked, Proposed, ToolSpec
from askbus.tools.work import Label

DESCRIBE_RECORDS = ToolSpec(
    name="describe_records",
    description=(
        "Lists the collections of records that can be read, with their fields, types, keys and references. Call it before "
        "naming a collection or field that has not been seen in this conversation: other tools accept exact names only. "
        "When not everything fits, names_only holds the rest, to be asked for by name, and cut says what else is missing; of many "
        "collections, find the right ones with search. It reads no records."
    ),
    input=DescribeRecords,
    output=Description,
    scope=Scope.DATA_READ,
    repeatable=True,
    work=Label("Looking at what records there are", "Looked at what records there are"),
)

QUERY_RECORDS = ToolSpec(
    name="query_records",
    description=(
        "Reads records of one collection, or figures computed over them by the database. Fields may go through references "
        "(customer.name). To add up, average, count or compare, use aggregates, with group_by for one figure per group, also "
        "per day, month or other unit of time, and having to keep only some groups; for figures over only the first records in "
        "an order (the combined value of the top three) use over, for the first rows of each group top. A sum, count, min or "
        "max may go through a reference to many (lines.qty). rows hold exact values, display the same cells ready to be shown; "
        "decimals are strings. total counts everything that matches, also when only some rows are here; cut says what is "
        "missing and how to get it. It cannot compute what no aggregate offers, and it changes nothing."
    ),
    input=QueryPlan,
    output=Rows,
    scope=Scope.DATA_READ,
    repeatable=True,
    work=Label("Reading records", "Read records"),
)

RESOLVE = ToolSpec(
    name="resolve",
    description=(
        "Finds the record that a name means. match is the one record; ambiguous lists several: ask the person which is "
        "meant; none lists names that look alike in near. It never guesses. Prefer it to query_records for finding a "
        "record by a name that a person wrote: case and accents do not matter here."
    ),
    input=ResolveRequest,
    output=ResolveResult,
    scope=Scope.DATA_READ,
    repeatable=True,
    work=Label("Looking up a name", "Looked up a name"),
)

PROPOSE_CHANGES = ToolSpec(
    name="propose_changes",
    description=(
        "Proposes to create or update records, 1 to 100 operations that are applied together or not at all. Nothing is "
        "changed by this call: a person sees old and new values on a card and confirms or rejects it. Name the fields "
        "that change and no others. Read the records first: update needs the primary key. Put everything that belongs "
        "together into one call. An error lists what is wrong with which operation; correct it and call again. It cannot "
        "delete."
    ),
    input=Changes,
    output=Proposed,
    scope=Scope.ACTIONS_PROPOSE,
    repeatable=True,
    work=Label("Preparing a change", "Prepared a change"),
)

ASK_USER = ToolSpec(
    name="ask_user",
    description=(
        "Asks the person of this conversation one question and waits for the answer, which comes back as the result. Use "
        "it when only they can decide, such as which of several records is meant; give options where the possible answers "
        "are known. What the records can tell, read instead. It does not replace the confirmation of proposed changes."
    ),
    input=Form,
    output=Asked,
    scope=Scope.CHAT,
    repeatable=True,
    work=Label("Asking you", "Asked you"),
    in_turn=True,
)

RESOLVE_NAMES = ToolSpec(
    name="resolve_names",
    description=(
        "Finds the records that many names mean, by the rule of resolve, up to 200 names in one call: use it for the rows of a file. "
        "matched holds the names that surely mean one record, with its key; unsure holds the others: ask the person about those "
        "that matter, and never pick one. It changes nothing."
    ),
    input=ResolveNamesRequest,
    output=ResolvedNames,
    scope=Scope.DATA_READ,
    repeatable=True,
    work=Label("Looking up names", "Looked up names"),
)

READ_ATTACHMENT = ToolSpec(
    name="read_attachment",
    description=(
        "Reads a file of this conversation piece by piece: text by characters, a CSV file as typed rows, a PDF file as the text of its "
        "pages. total says how much there is, next where the following piece begins; without next nothing is missing. Values of a "
        "CSV file are exact: decimals are strings, dates are ISO 8601, and what could be read in two ways stays text. It sees no "
        "pictures. It does not add up or compare: query_records does that over records."
    ),
    input=ReadAttachment,
    output=FilePiece,
    scope=Scope.CHAT,
    repeatable=True,
    in_turn=True,
    work=Label("Reading a file", "Read a file"),
)

GENERATE_IMAGE = ToolSpec(
    name="generate_image",
    description=(
        "Makes one picture from a description and shows it to the person. Call it only when they ask for a picture. It draws no charts of "
        "figures and cannot change a picture that exists."
    ),
    input=GenerateImage,
    output=MadePicture,
    scope=Scope.CHAT,
    repeatable=True,
    in_turn=True,
    work=Label("Making a picture", "Made a picture"),
)
"""Only where an endpoint that makes pictures is configured."""

CATALOGUE: tuple[ToolSpec, ...] = (
    DESCRIBE_RECORDS,
    QUERY_RECORDS,
    RESOLVE,
    RESOLVE_NAMES,
    PROPOSE_CHANGES,
    ASK_USER,
    READ_ATTACHMENT,
)


def check_arguments(name: str, arguments: Mapping[str, JsonValue], tools: Iterable[ToolSpec] = CATALOGUE) -> str | None:
    """Why a call cannot be run, as the model is told, or None if it can."""
    specs = {spec.name: spec for spec in tools}
    try:
        if name not in specs:
            raise unknown_tool(name, list(specs))
        read(specs[name], arguments)
    except InvalidInput as refusal:
        return f"Not run: {refusal.message}"
    return None
