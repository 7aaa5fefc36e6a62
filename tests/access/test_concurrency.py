"""All processes of a machine share its limits of parallel calls and those of an address."""

import asyncio

import pytest
from fakeredis import FakeAsyncRedis, FakeServer

from backend.access.billing import BillingSubject
from backend.access.concurrency import HANDSHAKES, ConcurrencyLimits, Permit, PermitKind
from backend.errors import Overloaded, TooMany
from backend.settings.budgets import BudgetSettings

ADA, BEN, HOME = (
    BillingSubject("ada", "192.0.2.1"),
    BillingSubject("ben", "192.0.2.2"),
    BillingSubject("cleo", "127.0.0.1", exempt=True),
)
SETTINGS = BudgetSettings.model_validate({"live_calls": 0})


def permits(server: FakeServer, machine: str = "one", calls: int = 2) -> ConcurrencyLimits:
    """Return the permits of a process."""
    made = ConcurrencyLimits(FakeAsyncRedis(server=server), SETTINGS, machine=machine)
    made.machine_calls = calls
    return made


async def call(of: ConcurrencyLimits, billed: BillingSubject) -> Permit:
    return await of.take(PermitKind.CALLS, billed)


async def test_the_processes_of_a_machine_share_its_call_capacity() -> None:
    server = FakeServer()
    one, two, elsewhere = permits(server), permits(server), permits(server, "two")
    first, _ = await call(one, ADA), await call(two, HOME)
    with pytest.raises(Overloaded) as refused:
        await call(one, BEN)
    assert "LOCAL_CALLS" in refused.value.hint and refused.value.retry_after_s
    await call(elsewhere, BEN)
    await first.release()
    await first.release()
    await call(two, BEN)


async def test_the_permit_of_a_call_that_ends_before_it_began_is_free_again() -> None:
    of = permits(FakeServer(), calls=1)
    of.free(PermitKind.CALLS, (await call(of, ADA)).id)
    await asyncio.gather(*of.writing)
    await call(of, BEN)


async def test_a_call_that_moves_to_another_process_still_counts() -> None:
    server = FakeServer()
    one, two = permits(server, calls=1), permits(server, calls=1)
    taken = await call(one, ADA)
    async with two.hold(PermitKind.CALLS, ADA, taken.id):
        with pytest.raises(Overloaded):
            await call(one, BEN)


async def test_without_redis_each_process_counts_its_own_calls() -> None:
    server = FakeServer()
    server.connected = False
    one, two = permits(server, calls=1), permits(server, calls=1)
    await call(one, ADA)
    with pytest.raises(Overloaded):
        await call(one, BEN)
    await call(two, BEN)


async def test_all_users_of_an_address_share_its_sockets_without_a_token() -> None:
    of = permits(FakeServer())
    for number in range(HANDSHAKES):
        await of.take(PermitKind.HANDSHAKES, BillingSubject(f"user {number}", "192.0.2.1", exempt=True))
    with pytest.raises(TooMany, match="WebSockets"):
        await of.take(PermitKind.HANDSHAKES, ADA)
    await of.take(PermitKind.HANDSHAKES, BEN)
