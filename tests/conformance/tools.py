"""The tools that the suite expects of a server under test. They are served by the door's own code, beside the tools that there are."""

import base64
from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from askbus.errors import InvalidInput
from askbus_gateway.mcp.protocol import Code, Object, ProtocolError
from askbus_gateway.mcp.shapes import Schema
from askbus_gateway.mcp.tool import Call, InputRequired, Outcome, Progress, Reply, Tool

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0").decode()
NOTHING: Schema = {"type": "object", "properties": {}}


def block(kind: str, media_type: str, data: str) -> Object:
    return {"type": kind, "mimeType": media_type, "data": data}


def resource(uri: str, media_type: str, text: str) -> Object:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": text}}


def always(reply: Reply) -> Callable[[Call], Awaitable[Outcome]]:
    async def run(_call: Call) -> Outcome:
        return reply

    return run


async def fails(_call: Call) -> Outcome:
    raise InvalidInput("This tool intentionally returns an error for testing")


async def progresses(call: Call) -> Outcome:
    for done in (0, 50, 100):
        call.report(Progress(done, f"{done} of 100", total=100))
    return Reply("Done.")


async def wants_sampling(call: Call) -> Outcome:
    require(call, "sampling")
    return Reply("The client can sample.")


def require(call: Call, capability: str) -> None:
    """Raises ProtocolError where the client did not say that it can."""
    if capability not in call.incoming.capabilities:
        missing: JsonValue = {"requiredCapabilities": {capability: {}}}
        raise ProtocolError(Code.MISSING_CAPABILITY, f"This needs the client's capability {capability}.", missing)


def elicitation(message: str, name: str, kind: str = "string") -> Object:
    schema: JsonValue = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


NAME = {"user_name": elicitation("What is your name?", "name")}
SAMPLING: Object = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "Generate a greeting"}}], "maxTokens": 50},
}
ROOTS: Object = {"method": "roots/list", "params": {}}
EVERYTHING = {**NAME, "greeting": SAMPLING, "client_roots": ROOTS}
CONFIRM = {"confirm": elicitation("Please confirm", "ok", "boolean")}
COLOUR = {"step2": elicitation("Step 2: What is your favorite color?", "color")}


def asking(*rounds: dict[str, Object], states: bool = False) -> Callable[[Call], Awaitable[Outcome]]:
    """Asks for the input of each round, one after the other; with `states` by an echoed state, which must be the one that was given."""

    async def run(call: Call) -> Outcome:
        given, state = call.incoming.params.get("inputResponses"), call.incoming.params.get("requestState")
        answers = given if isinstance(given, dict) else {}
        places = {f"round-{place}": place for place in range(len(rounds))}
        if state is not None and (not isinstance(state, str) or state not in places):
            raise ProtocolError(Code.INVALID_PARAMS, "This requestState is none of ours.")
        place = places.get(state, 0) if isinstance(state, str) else 0
        complete = all(isinstance(answers.get(key), dict) for key in rounds[place]) and (state is not None or not states)
        place += complete
        if place == len(rounds):
            return Reply("state-ok" if states else "Hello!")
        return InputRequired({**rounds[place]}, f"round-{place}" if states else None)

    return run


async def within_capabilities(call: Call) -> Outcome:
    known = {"sampling": ("greeting", SAMPLING), "elicitation": ("user_name", NAME["user_name"])}
    return InputRequired(dict(request for capability, request in known.items() if capability in call.incoming.capabilities), None)


EVERY_KEYWORD: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Keywords of JSON Schema 2020-12 that have to arrive as they are."""

MIXED: tuple[Object, ...] = (
    {"type": "text", "text": "Multiple content types test:"},
    block("image", "image/png", PICTURE),
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
)
RUNS: dict[str, Callable[[Call], Awaitable[Outcome]]] = {
    "test_simple_text": always(Reply("This is a simple text response for testing.")),
    "test_image_content": always(Reply("", blocks=(block("image", "image/png", PICTURE),))),
    "test_audio_content": always(Reply("", blocks=(block("audio", "audio/wav", SOUND),))),
    "test_embedded_resource": always(
        Reply("", blocks=(resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),))
    ),
    "test_multiple_content_types": always(Reply("", blocks=MIXED)),
    "test_error_handling": fails,
    "test_tool_with_progress": progresses,
    "test_logging_tool": always(Reply("This server logs nothing to its clients.")),
    "test_missing_capability": wants_sampling,
    "test_streaming_elicitation": asking(NAME),
    "test_input_required_result_elicitation": asking(NAME),
    "test_input_required_result_sampling": asking({"greeting": SAMPLING}),
    "test_input_required_result_list_roots": asking({"client_roots": ROOTS}),
    "test_input_required_result_request_state": asking(CONFIRM, states=True),
    "test_input_required_result_multiple_inputs": asking(EVERYTHING, states=True),
    "test_input_required_result_multi_round": asking(
        {"step1": elicitation("Step 1: What is your name?", "name")}, COLOUR, states=True
    ),
    "test_input_required_result_tampered_state": asking(CONFIRM, states=True),
    "test_input_required_result_capabilities": within_capabilities,
}
TOOLS = [Tool(name, "For the suite.", NOTHING, None, run, slow=name == "test_tool_with_progress") for name, run in RUNS.items()]
TOOLS.append(Tool("json_schema_2020_12_tool", "For the suite.", EVERY_KEYWORD, None, always(Reply("ok"))))
