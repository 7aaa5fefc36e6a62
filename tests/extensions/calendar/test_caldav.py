"""CalDAV when it fails: no server, no entry, conflicts, garbage. The stores' contract tests its successes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from backend.extensions.calendar import caldav
from backend.extensions.calendar.base import CalendarRefused, CalendarUnavailable, EventChanged, NoSuchEvent, Stored
from backend.extensions.calendar.caldav import CalDavStore, read_multistatus
from backend.testing.services.server import ApiServer, Reply, Request, serving, text_reply
from tests.extensions.calendar.events_of import DAY, at, event
from tests.support.radicale import PASSWORD, USERNAME, radicale

TEXT = event(at("2026-10-30 09:30"), at("2026-10-30 10:00"))
FIRST = datetime(2026, 10, 1, tzinfo=UTC)
KNOWN = Stored("a.ics", TEXT, '"1"')


@asynccontextmanager
async def store_on(answer: Callable[[Request], Reply]) -> AsyncIterator[tuple[CalDavStore, ApiServer]]:
    """A store with a server that answers by a script."""
    async with serving(answer) as server, httpx2.AsyncClient() as http:
        yield CalDavStore(http, server.url, USERNAME, PASSWORD), server


async def everything(store: CalDavStore) -> list[BaseException | None]:
    """Make every request once and return the results."""
    outcomes: list[BaseException | None] = []
    for work in (
        store.events("ada", (FIRST, FIRST + DAY)),
        store.events("ada"),
        store.get("ada", "a.ics"),
        store.create("ada", "a.ics", TEXT),
        store.replace("ada", KNOWN, TEXT),
        store.remove("ada", KNOWN),
        store.erase("ada"),
    ):
        try:
            await work
            outcomes.append(None)
        except Exception as error:  # noqa: BLE001 - the tests look at which
            outcomes.append(error)
    return outcomes


async def test_a_missing_server_is_a_temporary_error() -> None:
    async with httpx2.AsyncClient() as http:
        outcomes = await everything(CalDavStore(http, "http://127.0.0.1:9/voice", "", ""))
    assert [type(outcome) for outcome in outcomes] == [CalendarUnavailable] * 7
    assert all(getattr(outcome, "retryable", False) for outcome in outcomes)


async def test_a_wrong_password_is_an_error_with_advice_for_the_operator(tmp_path: Path) -> None:
    with radicale(tmp_path) as server:
        async with httpx2.AsyncClient() as http:
            outcomes = await everything(CalDavStore(http, server.url, USERNAME, "wrong"))
            right = CalDavStore(http, server.url, USERNAME, PASSWORD)
            await right.create("ada", "a.ics", TEXT)
            server.process.terminate()
            server.process.wait(10)
            with pytest.raises(CalendarUnavailable):  # the same server, gone in the middle of the day
                await right.get("ada", "a.ics")
    assert [type(outcome) for outcome in outcomes] == [CalendarRefused] * 7
    assert all("CALENDAR__PASSWORD" in getattr(outcome, "hint", "") for outcome in outcomes)
    assert PASSWORD not in repr(outcomes) + repr(right)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, CalendarRefused),
        (400, CalendarRefused),
        (403, CalendarRefused),
        (409, EventChanged),
        (412, EventChanged),
        (423, CalendarUnavailable),
        (429, CalendarUnavailable),
        (500, CalendarUnavailable),
        (503, CalendarUnavailable),
        (507, CalendarRefused),
    ],
)
async def test_every_status_has_one_meaning(status: int, kind: type[Exception]) -> None:
    async with store_on(lambda request: text_reply("?", status)) as (store, _):
        outcomes = await everything(store)
    assert {type(outcome) for outcome in outcomes} == {kind}


async def test_a_missing_resource_is_an_error_only_where_it_matters() -> None:
    async with store_on(lambda request: text_reply("?", 404 if request.method != "MKCALENDAR" else 201)) as (store, _):
        listed, everything_, read, created, replaced, removed, erased = await everything(store)
    assert (listed, everything_, erased) == (None, None, None)  # no calendar yet, or no longer
    assert {type(outcome) for outcome in (read, created, replaced, removed)} == {NoSuchEvent}


async def test_the_calendar_is_made_with_the_first_event_even_when_another_client_makes_it_too() -> None:
    puts = 0

    def answer(request: Request) -> Reply:
        nonlocal puts
        if request.method == "MKCALENDAR":
            return text_reply("", 405)
        puts += 1
        return text_reply("", 409 if puts == 1 else 201)

    async with store_on(answer) as (store, server):
        await store.create("ada", "a.ics", TEXT)
    assert [request.method for request in server.requests] == ["PUT", "MKCALENDAR", "PUT"]
    assert all(request.headers["if-none-match"] == "*" for request in server.requests if request.method == "PUT")


async def test_an_etag_that_a_proxy_has_weakened_still_matches() -> None:
    async with store_on(lambda request: text_reply("", 204)) as (store, server):
        await store.remove("ada", Stored("a.ics", TEXT, 'W/"1"'))
    assert server.requests[0].headers["if-match"] == '"1"'


async def test_requests_name_a_user_by_a_hash_only() -> None:
    async with store_on(lambda request: text_reply("", 404)) as (store, server):
        await everything(store)
        with pytest.raises(CalendarRefused):
            await store.events("")
    assert all("ada" not in request.path for request in server.requests)


MULTISTATUS = """<?xml version="1.0"?><multistatus xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><response>
<href>{href}</href><propstat><prop><getetag>"7"</getetag><C:calendar-data>{data}</C:calendar-data></prop>
<status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"""


def test_events_are_read_from_a_multistatus() -> None:
    text = MULTISTATUS.format(
        href="https://cal.example.com/voice/x/my%20event.ics", data="BEGIN:VCALENDAR&#13;\nA &amp; B"
    )
    assert read_multistatus(text) == [Stored("my event.ics", "BEGIN:VCALENDAR\r\nA & B", '"7"')]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "<html></html>",
        '{"error": "no"}',
        MULTISTATUS[:200],
        '<!DOCTYPE m [<!ENTITY a "b">]><multistatus xmlns="DAV:">&a;</multistatus>',
    ],
)
async def test_garbage_is_an_error_and_never_guessed_at(text: str) -> None:
    with pytest.raises(CalendarUnavailable):
        read_multistatus(text)
    async with store_on(lambda request: text_reply(text, 207)) as (store, _):
        with pytest.raises(CalendarUnavailable):
            await store.events("ada", (FIRST, FIRST + DAY))


async def test_a_server_that_hangs_breaks_off_or_sends_too_much_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caldav, "TIMEOUT_S", 0.1)
    monkeypatch.setattr(caldav, "BODY_LIMIT", 100)
    for reply in (Reply(delay_s=5.0), Reply(breaks_off=True), Reply(207, parts=[b"x" * 200])):
        async with store_on(lambda request, reply=reply: reply) as (store, _):  # type: ignore[misc]
            with pytest.raises(CalendarUnavailable):
                await store.events("ada", (FIRST, FIRST + DAY))
