"""What an endpoint means by an error: a fault of ours, from a status, a code and words. Pure.

Endpoints put the reason into `code`, `type`, `status` or only the message, as words or as an HTTP status; OpenAI answers an empty
account with 429, which no waiting cures, and Anthropic with an invalid request. So the words that name a lasting cause are looked for
first.
"""

import re

from pydantic import JsonValue

from askbus.models.model import Fault, JsonObject

_CODES: tuple[tuple[re.Pattern[str], Fault], ...] = (
    (re.compile(r"insufficient_quota|billing|payment|insufficient_(balance|credit)"), Fault.QUOTA),
    (re.compile(r"context_length|too_long|too_large|prompt_too"), Fault.TOO_LONG),
    (re.compile(r"rate_?limit|too_many_requests|resource_exhausted|throttl"), Fault.RATE_LIMITED),
    (re.compile(r"overload|unavailable|server_error|internal|bad_gateway|capacity|^api_error"), Fault.OVERLOADED),
    (re.compile(r"timeout|timed_out|deadline"), Fault.TIMED_OUT),
    (re.compile(r"api_key|authenticat|unauthorized|permission|forbidden"), Fault.AUTH),
    (re.compile(r"invalid_request|not_found|bad_request|invalid_argument"), Fault.BAD_REQUEST),
)
_WORDS: tuple[tuple[re.Pattern[str], Fault], ...] = (
    (re.compile(r"quota|billing|credit|balance"), Fault.QUOTA),
    (re.compile(r"context length|maximum context|too long|too many tokens"), Fault.TOO_LONG),
    (re.compile(r"rate.?limit|too many requests|concurrency"), Fault.RATE_LIMITED),
    (re.compile(r"overload|unavailable|try again|server error|capacity|busy"), Fault.OVERLOADED),
    (re.compile(r"timeout|timed out"), Fault.TIMED_OUT),
    (re.compile(r"api key|authenticat|unauthori[sz]ed|permission"), Fault.AUTH),
)
_INVALID: tuple[tuple[re.Pattern[str], Fault], ...] = (
    (re.compile(r"credit balance"), Fault.QUOTA),
    (re.compile(r"context length|maximum context|context window|is too long|too many tokens"), Fault.TOO_LONG),
)
"""What an invalid request may mean by its message alone."""

LONGEST_DETAIL = 2_000
"""Characters of a provider's message that are looked at and logged."""
_DEEPEST = 5
"""How many error objects inside one another are looked into."""


def classify(error: JsonValue, status: int | None = None) -> tuple[Fault, str]:
    """The fault and the provider's own message. `error` is the error object (or text), `status` the response's if it failed."""
    fields: JsonObject = error if isinstance(error, dict) else {"message": error}
    for _ in range(_DEEPEST):
        inner = fields.get("error")
        if not isinstance(inner, dict | str) or not inner:
            break
        fields = inner if isinstance(inner, dict) else {"message": inner}
    message = fields.get("message")
    detail = message[:LONGEST_DETAIL] if isinstance(message, str) and message else f"an error without a message (status {status})"
    codes = [fields.get(key) for key in ("code", "type", "status")]
    word = " ".join(code for code in codes if isinstance(code, str)).lower()
    fault = _first(_CODES, word)
    if fault is Fault.BAD_REQUEST:
        return _first(_INVALID, detail.lower()) or fault, detail
    if fault is None:
        number = next((number for code in codes if (number := _status(code))), status)
        fault = _by_status(number, detail) if number is not None else _first(_WORDS, detail.lower())
    return fault or Fault.BAD_RESPONSE, detail


def _by_status(status: int, detail: str) -> Fault:
    """HTTP's meaning (RFC 9110, section 15; RFC 6585 for 429)."""
    if status in {401, 403}:
        return Fault.AUTH
    if status == 402:
        return Fault.QUOTA
    if status == 408:
        return Fault.TIMED_OUT
    if status == 413 or (status == 400 and _first(_WORDS, detail.lower()) is Fault.TOO_LONG):
        return Fault.TOO_LONG
    if status in {409, 425, 429}:
        return Fault.RATE_LIMITED
    return Fault.OVERLOADED if status >= 500 else Fault.BAD_REQUEST


def _status(code: JsonValue) -> int | None:
    """The HTTP status that a code is, as a number or as text."""
    text = str(code) if isinstance(code, int | str) else ""
    return int(text) if re.fullmatch(r"[45]\d\d", text, re.ASCII) else None


def _first(table: tuple[tuple[re.Pattern[str], Fault], ...], words: str) -> Fault | None:
    return next((fault for pattern, fault in table if words and pattern.search(words)), None)
