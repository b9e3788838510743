"""The sweeps: small batches, SKIP LOCKED, each row once however many instances run. Nothing relies on them: what is past its time
is refused at use."""

from collections.abc import Callable

import structlog

from askbus.access.identities import drop_sign_ins
from askbus.access.invitations import expire_due as expire_invitations
from askbus.access.mcp_states import drop_states
from askbus.access.verbs import drop_login_codes, expire_sessions, expire_tokens
from askbus.actions.verbs import expire_due as expire_actions
from askbus.approvals.verbs import expire_due as expire_approvals
from askbus.attachments.verbs import expire_due as expire_attachments
from askbus.bus.envelope import Service
from askbus.db.pool import Pool
from askbus.feed.pruning import prune
from askbus.limits.verbs import expire_due as forget_limits
from askbus.oauth.retention import drop_clients, drop_requests, drop_tokens
from askbus.questions import attending
from askbus.questions.verbs import expire_due as expire_questions
from askbus.runtime import crash
from askbus.threads.verbs import expire_due as expire_threads
from askbus.webhooks.verbs import expire_due as expire_deliveries

log = structlog.get_logger()

BATCH = 100
QUESTIONS = 25
"""Their locks are wanted by people who answer: so few are held at a time, for milliseconds."""
FEW = 10
FOLDED = 1000
KEEP = 24 * 3600
"""Seconds for which the change log is kept behind the slowest relay, for clients that come back."""

KEEP_DELIVERIES = 30 * 24 * 3600
"""Seconds for which the log of webhooks is kept, after a delivery arrived or was given up."""


class Sweep:
    """One instance's sweeps. `nudge` tells an owner's relay that rows of its own were moved."""

    def __init__(self, pool: Pool, nudge: Callable[[Service], None]) -> None:
        self.pool = pool
        self.nudge = nudge

    async def expire_questions(self) -> None:
        """Expires the questions that are due, batch by batch."""
        while expired := await expire_questions(self.pool, batch=QUESTIONS):
            crash.point("expiry.questions.after_commit")
            log.info("questions.expired", count=len(expired))
            self.nudge(Service.QUESTION_BROKER)

    async def remind(self) -> None:
        """Tells the reminders and escalations of questions that are due, and people what they put off until now."""
        while reminded := await attending.remind_due(self.pool, batch=QUESTIONS):
            crash.point("expiry.remind.after_commit")
            log.info("questions.reminded", count=len(reminded))
        while escalated := await attending.escalate_due(self.pool, batch=QUESTIONS):
            crash.point("expiry.escalate.after_commit")
            log.info("questions.escalated", count=len(escalated))
        while back := await attending.unsnooze_due(self.pool, batch=BATCH):
            log.info("questions.unsnoozed", count=len(back))

    async def fold_tallies(self) -> None:
        """Keeps the sums short from which the inbox is counted."""
        while await attending.fold_tallies(self.pool, batch=FOLDED) == FOLDED:
            log.info("question_tallies.folded", count=FOLDED)

    async def expire_actions(self) -> None:
        """The same for actions that nobody decided."""
        while expired := await expire_actions(self.pool, batch=BATCH):
            crash.point("expiry.actions.after_commit")
            log.info("actions.expired", count=len(expired))
            self.nudge(Service.ACTION_APPLIER)

    async def expire_approvals(self) -> None:
        """The same for standing approvals; no service acts on that."""
        while expired := await expire_approvals(self.pool, batch=BATCH):
            log.info("standing_approvals.expired", count=len(expired))

    async def expire_credentials(self) -> None:
        """The same for sessions, API tokens and invitations; sign-in codes, begun sign-ins and states of calls over MCP that
        nobody can use any more are deleted."""
        while expired := await expire_sessions(self.pool, batch=BATCH):
            log.info("sessions.expired", count=len(expired))
        while expired := await expire_tokens(self.pool, batch=BATCH):
            log.info("tokens.expired", count=len(expired))
        while expired := await expire_invitations(self.pool, batch=BATCH):
            log.info("invitations.expired", count=len(expired))
        while dropped := await drop_login_codes(self.pool, batch=BATCH):
            log.info("login_codes.dropped", count=len(dropped))
        while left := await drop_sign_ins(self.pool, batch=BATCH):
            log.info("sign_ins.dropped", count=left)
        while stale := await drop_states(self.pool, batch=BATCH):
            log.info("mcp_states.dropped", count=stale)

    async def drop_oauth(self) -> None:
        """Deletes access and refresh tokens past their time, codes that are known as replays no longer, and apps that nobody used."""
        while dropped := await drop_tokens(self.pool, batch=BATCH):
            log.info("oauth_tokens.dropped", count=len(dropped))
        while dropped := await drop_requests(self.pool, batch=BATCH):
            log.info("oauth_requests.dropped", count=len(dropped))
        while dropped := await drop_clients(self.pool, batch=BATCH):
            log.info("oauth_clients.dropped", count=len(dropped))

    async def expire_attachments(self) -> None:
        """Deletes uploads that went with no message; few at once, since their contents go along."""
        while expired := await expire_attachments(self.pool, batch=FEW):
            log.info("attachments.expired", count=len(expired))

    async def expire_threads(self) -> None:
        """Deletes threads that were not used for as long as they are kept, with all that they own; few at once."""
        while expired := await expire_threads(self.pool, batch=FEW):
            log.info("threads.expired", count=len(expired))
            for owner in (Service.AGENT_LOOP, Service.QUESTION_BROKER, Service.ACTION_APPLIER):
                self.nudge(owner)

    async def expire_deliveries(self) -> None:
        """Deletes deliveries of webhooks that were settled long ago, with their attempts."""
        while expired := await expire_deliveries(self.pool, keep=KEEP_DELIVERIES, batch=BATCH):
            log.info("webhook_deliveries.expired", count=len(expired))

    async def forget_limits(self) -> None:
        """Forgets whoever has not come near a rate limit lately."""
        while await forget_limits(self.pool, batch=FOLDED) == FOLDED:
            log.info("rate_limits.forgotten", count=FOLDED)

    async def prune(self) -> None:
        """Forgets what every relay has passed and nobody can resume from any more."""
        if count := await prune(self.pool, KEEP):
            log.info("change_log.pruned", count=count)
