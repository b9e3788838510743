"""What Schemathesis is told of askbus (SCHEMATHESIS_HOOKS): random ids of the right form mostly become ones that exist, nobody waits."""

import json
import os
import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import schemathesis
from schemathesis.specs.openapi.checks import negative_data_rejection

KNOWN: Mapping[str, list[str]] = json.loads(os.environ.get("ASKBUS_FUZZ_KNOWN", "{}"))
OURS = 7
"""Ids of askbus are UUIDs of this version: one that is there already came from an answer."""
LONGEST = 0.05
"""Seconds that a request may wait for an outcome."""


@schemathesis.hook
def before_call(_context: Any, case: Any, **_kwargs: Any) -> None:
    """Just before it is sent."""
    parts = case.path.split("/")
    for name, value in (case.path_parameters or {}).items():
        place = parts.index(f"{{{name}}}")
        case.path_parameters[name] = existing(value, parts[place - 1])
    case.query = {name: patient(name, value) for name, value in (case.query or {}).items()}
    if isinstance(case.body, dict):
        case.body = {name: patient(name, value) for name, value in case.body.items()}


def patient(name: str, value: Any) -> Any:
    """A field of a query or body: ids become existing ones, waits short ones."""
    if name in {"wait", "wait_seconds"}:
        return "0" if value == str(value) and re.fullmatch(r"\d+(\.\d*)?", value) else shorter(value)
    if isinstance(value, dict):
        return {key: patient(key, part) for key, part in value.items()}
    if isinstance(value, list):
        return [patient(name, part) for part in value]
    collection = name.removesuffix("_ids").removesuffix("_id") + "s"
    return existing(value, {"assignees": "users", "askers": "users", "idss": "questions"}.get(collection, collection))


def shorter(value: Any) -> Any:
    return min(value, LONGEST) if isinstance(value, int | float) and not isinstance(value, bool) else value


def existing(value: Any, collection: str) -> Any:
    """In three cases of four one of the collection, chosen by what was made up, so that a seed says all; never in place of nonsense."""
    try:
        made_up = UUID(value)
    except (ValueError, AttributeError, TypeError):
        return value
    ids = KNOWN.get(collection)
    if not ids or made_up.version == OURS or made_up.int % 4 == 0:
        return value
    return ids[made_up.int % len(ids)]


@schemathesis.check
def nonsense_is_refused(ctx: Any, response: Any, case: Any) -> None:
    """The check of Schemathesis, without values of a body that are read leniently: pydantic takes 0 for false and "1" for 1 (its conversion
    table), so of a body whose values alone have another type than the schema says nothing follows."""
    data = case.meta and case.meta.phase.data
    location = getattr(getattr(data, "parameter_location", None), "name", "")
    if location == "BODY" and "type" in str(getattr(data, "description", "")).lower():
        return
    negative_data_rejection(ctx, response, case)
