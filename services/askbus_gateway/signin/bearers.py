"""JWTs of issuers that the deployment trusts, as bearer tokens: each is checked at every request, and is a session to everything else."""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from askbus.access import identities
from askbus.access.model import Principal
from askbus.db.pool import Pool
from askbus.errors import InvalidInput, Unauthenticated
from askbus.identity.issuer import Issuer
from askbus.identity.model import JwtIssuer
from askbus.identity.tokens import check, named_issuer
from askbus.outbound.client import Outbound
from askbus.runtime.telemetry import traceparent


class Bearers:
    """`trusted` are the issuers of the settings."""

    def __init__(self, pool: Pool, trusted: Mapping[str, JwtIssuer], outbound: Outbound) -> None:
        self.pool = pool
        self._trusted = {one.issuer: (one, Issuer(one.issuer, outbound)) for one in trusted.values()}

    async def principal(self, token: str, workspace: str | None) -> Principal:
        """Who sends this JWT, in the workspace of the header Askbus-Workspace, or in their one workspace.

        Raises Unauthenticated for a token that does not hold, Unavailable where its issuer cannot be asked for its keys,
        PermissionDenied for who is no member, InvalidInput where they have to choose.
        """
        issuer = named_issuer(token)
        if issuer not in self._trusted:
            raise Unauthenticated("This token is of no issuer that is trusted here (ASKBUS_JWT_ISSUERS).")
        trusted, keys = self._trusted[issuer]
        checked = await check(token, trusted, trusted.audience, keys, types=trusted.types, now=datetime.now(UTC))
        chosen = identities.Bearer(token, checked.identity, checked.expires_at, _workspace(workspace))
        return await identities.principal_of_bearer(self.pool, chosen, trace=traceparent())

    async def close(self) -> None:
        """Gives up what is being read from issuers."""
        for _trusted, issuer in self._trusted.values():
            await issuer.close()


def _workspace(header: str | None) -> UUID | None:
    if header is None:
        return None
    try:
        return UUID(header)
    except ValueError:
        raise InvalidInput("Askbus-Workspace is the id of a workspace.") from None
