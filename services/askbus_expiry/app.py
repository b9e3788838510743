"""How expiry is put together: a clock and its sweeps. It answers nothing and acts on no fact."""

from askbus.bus.envelope import Service
from askbus.runtime.ground import Ground
from askbus.runtime.service import App
from askbus.runtime.settings import Settings
from askbus_expiry.sweep import Sweep


def make_app(settings: Settings) -> App:
    """Expiry, not yet running."""
    return App(Service.EXPIRY, settings, wire)


async def wire(ground: Ground) -> None:
    """Everything that expiry does."""
    sweep = Sweep(ground.pool, ground.nudge_owner)
    every = ground.settings.expiry_every
    ground.every(every, "expire_questions", sweep.expire_questions)
    ground.every(every, "remind", sweep.remind)
    ground.every(every, "fold_tallies", sweep.fold_tallies)
    ground.every(every, "expire_actions", sweep.expire_actions)
    ground.every(every, "expire_approvals", sweep.expire_approvals)
    ground.every(every, "expire_credentials", sweep.expire_credentials)
    ground.every(every, "expire_threads", sweep.expire_threads)
    ground.every(60, "expire_attachments", sweep.expire_attachments)
    ground.every(60, "expire_deliveries", sweep.expire_deliveries)
    ground.every(60, "drop_oauth", sweep.drop_oauth)
    ground.every(60, "forget_limits", sweep.forget_limits)
    ground.every(60, "prune", sweep.prune)
