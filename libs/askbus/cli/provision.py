"""`askbus provision`."""

import asyncio

import click

from askbus.cli.deployment import required, required_secret


@click.command
@click.option("--replicas", type=click.IntRange(1, 5), default=1, show_default=True, help="Copies of each stream in a cluster.")
@click.option("--update", is_flag=True, help="Change streams and consumers that differ; without it they are refused.")
@click.option(
    "--ack-wait", type=float, envvar="ASKBUS_ACK_WAIT", default=5.0, show_envvar=True, show_default=True, help="Seconds."
)
def provision(replicas: int, update: bool, ack_wait: float) -> None:
    """Make the streams and consumers on NATS, waiting while it is down.

    ASKBUS_NATS_URL names the server, ASKBUS_SECRET is the deployment's: the user is `admin` of `askbus deploy nats-conf`.
    """
    import nats.errors

    from askbus.bus.provision import Drift
    from askbus.bus.provision import provision as run
    from askbus.runtime.secrets import service_nats_url

    url = service_nats_url(required("ASKBUS_NATS_URL"), "admin", required_secret())
    try:
        asyncio.run(run(url, ack_wait=ack_wait, replicas=replicas, update=update))
    except Drift as drift:
        raise click.ClickException(str(drift)) from drift
    except (ValueError, nats.errors.Error) as error:
        raise click.ClickException(f"NATS cannot be used: {error}. Check ASKBUS_NATS_URL (nats://host:4222).") from error
    click.echo("The streams and consumers are as this release needs them.")
