"""The secrets that a process is told in its settings, or derives from them: what must never stand in a log, an error or a prompt."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from askbus.bus.envelope import Service
from askbus.runtime.secrets import nats_password, postgres_password, records_password
from askbus.runtime.settings import Settings


def secrets_of(settings: Settings) -> set[str]:
    """Every secret setting, the passwords in addresses, and the credentials that derive from the deployment's secret."""
    found = {part.strip() for secret in _within(settings) for part in (secret, *secret.split(","))}
    if settings.secret is not None:
        secret = settings.secret.get_secret_value()
        found |= {records_password(secret), nats_password(secret, "admin")}
        for service in Service:
            found |= {postgres_password(secret, service), nats_password(secret, service.value)}
    return found


def _within(value: object) -> Iterator[str]:
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case str() if "://" in value:
            for password in filter(None, map(_password, value.split(","))):
                yield from {password, unquote(password)}
        case BaseModel() | dict() | list() | tuple():
            for item in _parts(value):
                yield from _within(item)
        case _:
            pass


def _parts(value: BaseModel | dict[object, object] | Sequence[object]) -> Iterable[object]:
    if isinstance(value, BaseModel):
        return [getattr(value, name) for name in type(value).model_fields]
    return value.values() if isinstance(value, dict) else value


def _password(address: str) -> str | None:
    try:
        return urlsplit(address.strip()).password
    except ValueError:
        return None
