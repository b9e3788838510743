"""Errors of endpoints become faults that say who can act."""

import pytest
from pydantic import JsonValue

from askbus.models.faults import classify
from askbus.models.model import Fault


@pytest.mark.parametrize(
    ("error", "status", "fault"),
    [
        ({"message": "slow down"}, 429, Fault.RATE_LIMITED),
        ({"message": "You exceeded your current quota", "code": "insufficient_quota"}, 429, Fault.QUOTA),
        ({"message": "pay first"}, 402, Fault.QUOTA),
        ({"message": "no", "code": "invalid_api_key", "type": "invalid_request_error"}, 401, Fault.AUTH),
        ({"message": "no"}, 403, Fault.AUTH),
        ({"message": "no such model", "code": "model_not_found"}, 404, Fault.BAD_REQUEST),
        ({"message": "messages[2]: bad"}, 400, Fault.BAD_REQUEST),
        ({"message": "This model's maximum context length is 8192 tokens"}, 400, Fault.TOO_LONG),
        ({"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}, 400, Fault.TOO_LONG),
        ({"type": "invalid_request_error", "message": "Your credit balance is too low"}, 400, Fault.QUOTA),
        ({"type": "invalid_request_error", "message": "messages: roles must alternate"}, 400, Fault.BAD_REQUEST),
        ({"type": "api_error", "message": "Internal"}, None, Fault.OVERLOADED),
        ({"message": "moved"}, 307, Fault.BAD_REQUEST),
        ({"message": "boom"}, 500, Fault.OVERLOADED),
        ({"message": "Overloaded", "type": "overloaded_error"}, 529, Fault.OVERLOADED),
        ({"code": 502, "message": "provider_unavailable"}, None, Fault.OVERLOADED),
        ({"code": "429", "message": "x"}, None, Fault.RATE_LIMITED),
        ({"message": "Rate limit reached"}, None, Fault.RATE_LIMITED),
        ({"message": "quota exceeded"}, None, Fault.QUOTA),
        ({"error": {"message": "upstream timed out"}}, None, Fault.TIMED_OUT),
        ("<html>502 Bad Gateway</html>", 502, Fault.OVERLOADED),
        (None, 500, Fault.OVERLOADED),
        ({"message": "???"}, None, Fault.BAD_RESPONSE),
        ([], None, Fault.BAD_RESPONSE),
    ],
)
def test_error_is_told_by_its_code_then_its_status_then_its_words(error: JsonValue, status: int | None, fault: Fault) -> None:
    """The lasting causes first: no waiting fills an account."""
    assert classify(error, status)[0] is fault


def test_only_passing_faults_are_retryable() -> None:
    """What somebody has to do something about is not."""
    lasting = {Fault.QUOTA, Fault.AUTH, Fault.TOO_LONG, Fault.BAD_REQUEST, Fault.NOT_CONFIGURED, Fault.NOT_ACCEPTED}
    assert {fault for fault in Fault if not fault.retryable} == lasting


def test_message_is_the_providers_own() -> None:
    """It goes to the log; a nested error object is looked into."""
    assert classify({"error": {"message": "quota exceeded"}})[1] == "quota exceeded"
