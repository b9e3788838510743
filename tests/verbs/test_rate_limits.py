"""Buckets of permits on Postgres, beside the textbook's token bucket; with the moments given, so that nobody waits."""

import asyncio
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from uuid import uuid4

import pytest

from askbus.bus.envelope import Service
from askbus.db.pool import Pool, open_pool
from askbus.errors import RateLimited
from askbus.limits.limiter import Limiter
from askbus.limits.model import Bucket, Limited
from askbus.limits.verbs import Taken, expire_due, take, take_some
from askbus.testing.servers import TestDatabase
from askbus.testing.waiting import until

pytestmark = pytest.mark.requirement("I8")

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.fixture
async def gateway(database: TestDatabase) -> AsyncIterator[Pool]:
    """Four connections as the gateway's own role."""
    async with open_pool(database.role_url(Service.GATEWAY), size=4, name="gateway") as pool:
        yield pool


class Textbook:
    """A token bucket as it is taught: a level that grows with time up to the brim, in exact fractions."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket
        self.level = Fraction(bucket.permits)
        self.at = START

    def take(self, least: int, most: int, now: datetime) -> tuple[int, timedelta]:
        cost = Fraction(self.bucket.cost)
        elapsed = max((now - self.at) // timedelta(microseconds=1), 0)
        self.level = min(self.level + elapsed / cost, Fraction(self.bucket.permits))
        self.at = max(now, self.at)
        there = int(self.level)
        if there < least:
            return 0, timedelta(microseconds=int((least - self.level) * cost)) + (self.at - now)
        given = min(there, most)
        self.level -= given
        return given, timedelta()


@pytest.mark.parametrize("seed", range(4))
async def test_a_bucket_gives_what_the_textbook_gives(gateway: Pool, seed: int) -> None:
    """Random sizes, wishes and pauses, clocks that go back and limits that divide no second evenly: the same permits, and the same wait."""
    rng = random.Random(seed)
    bucket = Bucket(Limited.ASK, rng.choice((1, 2, 7, 60, 999)), rng.choice((1, 60, 900)))
    key, model, now = uuid4(), Textbook(bucket), START
    for _ in range(60):
        least = rng.randint(1, min(bucket.permits, 5))
        most = rng.randint(least, bucket.permits)
        given, wait = model.take(least, most, now)
        taken = await take_some(gateway, bucket, key, least=least, most=most, now=now)
        assert taken.permits == given
        if not given:
            assert taken.wait == wait
        now += rng.choice(
            (
                timedelta(),
                timedelta(microseconds=rng.randint(-5, bucket.cost)),
                timedelta(microseconds=rng.randint(0, 3 * bucket.room)),
            )
        )


async def test_a_burst_is_let_through_and_then_as_much_as_refills(gateway: Pool) -> None:
    """Three at once, and the fourth a third of the time later, to the microsecond, by the database's clock as it is told here."""
    bucket = Bucket(Limited.CHAT, 3, 60)
    for _ in range(3):
        await take(gateway, bucket, "mia", now=at(0))
    with pytest.raises(RateLimited) as refused:
        await take(gateway, bucket, "mia", now=at(0.5))
    assert refused.value.details == {"retry_after": 20, "limit": "chat"}
    with pytest.raises(RateLimited):
        await take(gateway, bucket, "mia", now=at(19.999_999))
    await take(gateway, bucket, "mia", now=at(20))
    await take(gateway, bucket, "max", now=at(20))


async def test_who_wants_more_than_a_bucket_holds_gets_it_when_it_is_full(gateway: Pool) -> None:
    """A set of twenty questions where ten a minute are allowed: late, and not never."""
    bucket = Bucket(Limited.ASK, 10, 60)
    await take(gateway, bucket, "mia", now=at(0))
    with pytest.raises(RateLimited) as refused:
        await take(gateway, bucket, "mia", 20, now=at(0))
    assert refused.value.details["retry_after"] == 6
    await take(gateway, bucket, "mia", 20, now=at(6))


async def test_a_clock_that_is_set_back_keeps_nobody_out_for_long(gateway: Pool) -> None:
    """By a little, nothing is given that would not have been; by an hour, an emptied bucket is as any other that is empty."""
    bucket, key = Bucket(Limited.ASK, 6, 60), uuid4()
    assert (await take_some(gateway, bucket, key, most=6, now=at(3600))).permits == 6
    assert (await take_some(gateway, bucket, key, now=at(3595))).wait == timedelta(seconds=15)
    assert await take_some(gateway, bucket, key, now=START) == Taken(0, timedelta(seconds=10))
    assert [(await take_some(gateway, bucket, key, now=at(10))).permits for _ in range(2)] == [1, 0]


async def test_of_many_at_once_just_the_limit_is_let_through(gateway: Pool) -> None:
    """Four connections race for a row that is not there yet, and for the last permits of it."""
    bucket = Bucket(Limited.ASK, 10, 900)
    taken = await asyncio.gather(*(take_some(gateway, bucket, "mia", now=at(0)) for _ in range(40)))
    assert sum(one.permits for one in taken) == 10


async def test_whoever_waits_for_the_row_sees_what_the_other_took(gateway: Pool) -> None:
    """The first holds the bucket's last permit in an open transaction; the second waits for its lock, and is refused."""
    bucket = Bucket(Limited.ASK, 2, 900)
    await take(gateway, bucket, "mia", now=at(0))
    async with gateway.acquire() as first:
        transaction = first.transaction()
        await transaction.start()
        await take(first, bucket, "mia", now=at(0))
        second = asyncio.create_task(take_some(gateway, bucket, "mia", now=at(0)))
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%rate_limits%'"
        await until(lambda: gateway.fetchval(waiting))
        assert not second.done()
        await transaction.commit()
    assert (await second).permits == 0


async def test_a_full_bucket_costs_no_row(gateway: Pool, expiry: Pool) -> None:
    """Expiry forgets those that are full again, and no other; who comes back finds a full one."""
    bucket = Bucket(Limited.CHAT, 2, 60)
    for name, seconds in (("mia", 0), ("max", 0), ("max", 0), ("vera", 29)):
        await take(gateway, bucket, name, now=at(seconds))
    assert await expire_due(expiry, batch=10, now=at(30)) == 1
    assert await expire_due(expiry, batch=1, now=at(60)) == 1
    assert await expire_due(expiry, batch=1, now=at(60)) == 1
    assert await gateway.fetchval("SELECT count(*) FROM rate_limits") == 0
    assert (await take_some(gateway, bucket, "max", most=2, now=at(60))).permits == 2


class Clock:
    """A process's clock, which tests set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def used(gateway: Pool, bucket: Bucket) -> int:
    """Permits that are gone from the one bucket of its name, refill within the test aside: its buckets take a day to fill."""
    seconds = await gateway.fetchval("SELECT extract(epoch FROM full_at - now()) FROM rate_limits WHERE bucket = $1", bucket.name)
    return round(float(seconds) * bucket.permits / bucket.seconds)


async def test_a_refused_caller_is_refused_without_asking_again(gateway: Pool) -> None:
    """Nobody can have got a permit in the meantime: what a process was told holds until the time that it was told."""
    clock = Clock()
    limiter = Limiter(gateway, [Bucket(Limited.ASK, 2, 60)], clock)
    await limiter.take(Limited.ASK, "mia", 2)
    with pytest.raises(RateLimited) as first:
        await limiter.take(Limited.ASK, "mia")
    await gateway.execute("DELETE FROM rate_limits")
    with pytest.raises(RateLimited) as again:
        await limiter.take(Limited.ASK, "mia")
    assert again.value.details == first.value.details
    clock.now += 30
    await limiter.take(Limited.ASK, "mia")


async def test_a_busy_caller_s_permits_are_taken_ahead_and_never_too_many(gateway: Pool) -> None:
    """Two processes, one caller: what both let through is the limit; what a process has in hand is at most what refills in a second."""
    bucket = Bucket(Limited.MCP, 864_000, 86_400, leased=True)
    clock = Clock()
    limiters = [Limiter(gateway, [bucket], clock) for _ in range(2)]
    calls = 0
    for round_ in range(1, 60):
        for limiter in limiters:
            await limiter.take(Limited.MCP, "mia")
            calls += 1
            assert calls <= await used(gateway, bucket) + 1 <= calls + 2 * bucket.lease + 1
        clock.now += 0.001 * round_
    assert bucket.lease == 10


async def test_a_lease_ends_with_the_bucket_and_with_its_second(gateway: Pool) -> None:
    """Near the end of a bucket there is nothing to take ahead; the last permit is given out, and what lay unused for a second is not."""
    bucket = Bucket(Limited.MCP, 20, 2, leased=True)
    clock = Clock()
    limiter = Limiter(gateway, [bucket], clock)
    for _ in range(20):
        await limiter.take(Limited.MCP, "mia")
    with pytest.raises(RateLimited):
        await limiter.take(Limited.MCP, "mia", 20)
    clock.now += 100
    await gateway.execute("DELETE FROM rate_limits")
    await limiter.take(Limited.MCP, "mia")
    assert await gateway.fetchval("SELECT full_at - now() <= interval '0.1 s' FROM rate_limits")


async def test_a_limit_of_nothing_is_none_and_memory_has_an_end(gateway: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is switched off asks nobody. Whoever was refused long before many others is asked for again."""
    monkeypatch.setattr("askbus.limits.limiter.REMEMBERED", 1)
    limiter = Limiter(gateway, [Bucket(Limited.ASK, 1, 60)])
    await limiter.take(Limited.CHAT, "mia", 10**6)
    for name in ("mia", "max"):
        await limiter.take(Limited.ASK, name)
        with pytest.raises(RateLimited):
            await limiter.take(Limited.ASK, name)
    await gateway.execute("DELETE FROM rate_limits")
    await limiter.take(Limited.ASK, "mia")
    with pytest.raises(RateLimited):
        await limiter.take(Limited.ASK, "max")
