"""The issuers of identities: whose word is believed, for which audience, and whether they can be asked for their keys."""

from collections.abc import AsyncIterator

from askbus.doctor.model import Finding, ok, wrong
from askbus.errors import Unavailable
from askbus.identity.issuer import Issuer
from askbus.outbound.client import Outbound
from askbus.outbound.policy import Policy
from askbus.runtime.settings import Settings

ISSUERS = "issuers"


async def issuers(settings: Settings) -> AsyncIterator[Finding]:
    """Each issuer of the settings, read as the gateway reads it."""
    believed = [
        (name, "ASKBUS_JWT_ISSUERS", one.issuer, f"tokens of {one.issuer} for the audience {one.audience} are taken")
        for name, one in settings.jwt_issuers.items()
    ]
    believed += [
        (name, "ASKBUS_SIGN_IN", one.issuer, f"people sign in at {one.issuer}, where this is the client {one.client_id}")
        for name, one in settings.sign_in.items()
    ]
    outbound = Outbound(Policy(settings.outbound_hosts))
    try:
        for name, variable, url, says in believed:
            issuer = Issuer(url, outbound)
            try:
                await issuer.metadata()
            except Unavailable:
                yield wrong(
                    ISSUERS,
                    f"{name}: {says}, but it cannot be used: {issuer.trouble}.",
                    f"Check {variable}: `issuer` is what {url.rstrip('/')}/.well-known/openid-configuration says itself; a host inside a "
                    "private network stands in ASKBUS_OUTBOUND_HOSTS.",
                )
            else:
                yield ok(ISSUERS, f"{name}: {says}.")
    finally:
        await outbound.close()
