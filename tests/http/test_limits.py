"""Token buckets, with the time as an argument."""

import pytest
from fakeredis import FakeAsyncRedis, FakeServer
from starlette.requests import HTTPConnection

from backend.access.addresses import Networks, address_key, is_from_here
from backend.access.rates import Buckets
from backend.access.store import AccessStore
from backend.errors import TooMany


def granted(buckets: Buckets, key: str, now: float, tries: int) -> int:
    count = 0
    for _ in range(tries):
        try:
            buckets.take_here(key, now)
        except TooMany:
            continue
        count += 1
    return count


def test_a_bucket_grants_the_tokens_of_one_minute_immediately() -> None:
    assert granted(Buckets(30, what="calls"), "ada", now=0, tries=50) == 30


def test_a_bucket_refills_evenly_up_to_its_size() -> None:
    buckets = Buckets(30, what="calls")
    granted(buckets, "ada", now=0, tries=30)
    assert granted(buckets, "ada", now=1.9, tries=5) == 0
    assert granted(buckets, "ada", now=2.0, tries=5) == 1
    assert granted(buckets, "ada", now=10_000, tries=50) == 30


def test_a_refusal_says_how_long_to_wait() -> None:
    buckets = Buckets(6, what="calls")
    granted(buckets, "ada", now=0, tries=6)
    with pytest.raises(TooMany) as caught:
        buckets.take_here("ada", 0)
    assert caught.value.retry_after_s == 10
    buckets.take_here("ada", 10)


def test_a_limit_of_zero_is_off_and_stores_nothing() -> None:
    buckets = Buckets(0, what="calls")
    assert granted(buckets, "ada", now=0, tries=1_000) == 1_000
    assert len(buckets) == 0


def test_a_full_table_drops_the_bucket_that_was_unused_longest() -> None:
    buckets = Buckets(1, what="calls", limit=3)
    for key in "abc":
        buckets.take_here(key, 0)
    assert granted(buckets, "a", now=0, tries=1) == 0  # used last, so it stays
    buckets.take_here("d", 0)
    assert len(buckets) == 3
    assert granted(buckets, "a", now=0, tries=1) == 0
    assert granted(buckets, "b", now=0, tries=1) == 1  # unused longest, so it was dropped


async def test_processes_with_a_shared_redis_count_together() -> None:
    server, now = FakeServer(), [1_000.0]

    def process() -> Buckets:
        store = AccessStore(FakeAsyncRedis(server=server))
        return Buckets(6, what="calls", shared=store, clock=lambda: now[0])

    one, two = process(), process()
    for buckets in (one, two) * 3:
        await buckets.take("ada", 0)
    for buckets in (one, two):
        with pytest.raises(TooMany) as caught:
            await buckets.check("ada", 0)
        assert caught.value.retry_after_s == 10
    await two.take("bob", 0)
    now[0] += 10
    await one.take("ada", 0)
    server.connected = False
    for buckets in (one, two):
        await buckets.take("ada", 0)


def test_a_clock_that_steps_back_grants_no_extra_tokens() -> None:
    buckets = Buckets(1, what="calls")
    buckets.take_here("ada", 100)
    assert granted(buckets, "ada", now=0, tries=1) == 0
    assert granted(buckets, "ada", now=100, tries=1) == 0


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("::1", "::1"),
        ("not an address", "unknown"),
    ],
)
def test_each_ipv4_address_and_each_ipv6_network_has_a_bucket(host: str, key: str) -> None:
    assert address_key(HTTPConnection({"type": "http", "client": (host, 1)})) == key


@pytest.mark.parametrize(
    ("client", "headers", "here"),
    [
        ("127.0.0.1", {"host": "localhost:8000"}, True),
        ("::1", {"host": "[::1]:8000"}, True),
        ("127.0.0.1", {"host": "localhost", "x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {"host": "localhost", "forwarded": "for=127.0.0.1"}, False),
        ("127.0.0.1", {"host": "voice.example"}, False),
        ("127.0.0.1", {"host": "[::1"}, False),
        ("127.0.0.1", {}, False),
        ("192.0.2.7", {"host": "localhost"}, False),
    ],
)
def test_a_request_without_a_proxy_is_local(client: str, headers: dict[str, str], here: bool) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert is_from_here(HTTPConnection({"type": "http", "client": (client, 1), "headers": raw})) is here


def test_a_proxy_is_configured_by_address_or_network() -> None:
    proxies = Networks(["192.0.2.1", "2001:db8::5", "10.0.0.0/8"])
    assert all(proxies.contain(each) for each in ("192.0.2.1", "2001:db8::5", "10.9.8.7", "local"))
    assert not any(proxies.contain(each) for each in ("192.0.2.2", "2001:db8::6", "11.0.0.1", "nonsense"))
