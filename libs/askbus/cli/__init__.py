"""The command `askbus`.

To add a command or a group: a file beside this one that defines a click command, and its line in COMMANDS. Everything heavy is
imported inside the command, so that `askbus --help` answers at once.
"""

from importlib import import_module

import click

from askbus.errors import AskbusError
from askbus.stack.process import StackError

COMMANDS = {
    "ask": "askbus.cli.ask:ask",
    "wait": "askbus.cli.ask:wait",
    "list": "askbus.cli.ask:list_open",
    "cancel": "askbus.cli.ask:cancel",
    "mcp": "askbus.cli.mcp:mcp",
    "up": "askbus.cli.up:up",
    "admin": "askbus.cli.admin:admin",
    "frontend": "askbus.cli.frontend:frontend",
    "trace": "askbus.cli.trace:trace",
    "probes": "askbus.cli.probes:probes",
    "migrate": "askbus.cli.migrate:migrate",
    "provision": "askbus.cli.provision:provision",
    "records": "askbus.cli.records:records",
    "feed": "askbus.cli.feed:feed",
    "doctor": "askbus.cli.doctor:doctor",
    "config": "askbus.cli.config:config",
    "secrets": "askbus.cli.secrets:secrets",
    "deploy": "askbus.cli.deploy:deploy",
}
"""Name to `module:attribute`, in the order of the help."""


class Commands(click.Group):
    """Imports a command when it is asked for, and turns the errors that are meant for people into a line without a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  # click's signature
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except (AskbusError, StackError) as error:
            raise click.ClickException(str(error)) from error
        except ModuleNotFoundError as error:
            raise click.ClickException(
                f"This needs {error.name}, which comes with the server: pip install 'askbus[server]'."
            ) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="askbus")
def main() -> None:
    """Agents and the people they work for share one set of records, one inbox and one trail."""
