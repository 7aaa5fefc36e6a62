"""The telephone side of a call: keys become messages, and the Responder may hang up, transfer, and press keys.

Hanging up and transferring wait until the present reply has been heard; a caller who speaks meanwhile is answered
instead. A refusal of the line goes to the Responder as the tool call's result, which it says in its own words.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated

import msgspec

from backend import page_events as page
from backend.call.engine import EngineReference
from backend.errors import LineFailed
from backend.responders.base import Briefing, ToolSchema
from backend.runtime.supervisor import cancel_all
from backend.runtime.timer import Alarm
from backend.transports.base import Transport
from backend.transports.phone_line import PhoneLine, phone_line
from backend.turns.commands import RunThinker
from backend.turns.events import ThinkerFailed, ThinkerFinished, TransportClosed
from backend.turns.turn import TurnMachine

HANG_UP, TRANSFER, PRESS = "hang_up", "transfer_call", "press_keys"
HEARD_WITHIN_S = 15.0
"""The most seconds to wait for the end of the present reply."""
LOOK_EVERY_S = 0.1
QUIET_LOOKS = 4
"""Looks in a row that find silence: the audio of a reply may come a moment after the tool call in it."""
ORDER_WITHIN_S = 8.0
"""The most seconds that a command to the line may take."""
KEYS_LIMIT = 32
"""The most keys in one message; the caller's next key begins another."""
PRESSABLE = f"^[0-9*#A-D]{{1,{KEYS_LIMIT}}}$"
KEY_PAUSE_S = 1.5
"""The longest pause, in seconds, between two keys of the same number."""
LAST_KEY = "#"
"""The key that ends a number."""
KEYS_PRESSED = "(The caller pressed these keys on the telephone: {keys})"
MOVED_ON = "The caller went on speaking: the call goes on. Answer what was said."

PHONE = """\
The caller is on the telephone, and sees nothing. When both of you have said goodbye, call {hang_up}, after your last \
words in the same reply. Keys that the caller presses reach you as a message in parentheses: take them for an answer."""
TRANSFERRING = """\
If the caller asks for somebody you can transfer to, say in a few words that you are connecting them, and call \
{transfer} in the same reply. Never promise another transfer."""
PRESSING = "If a machine at the other end asks for keys, press them with {press}."


class _Transfer(msgspec.Struct, frozen=True):
    to: str


class _Press(msgspec.Struct, frozen=True):
    keys: Annotated[str, msgspec.Meta(pattern=PRESSABLE)]


class PhoneCall:
    """The telephone side of one call; without a telephone line it has no tools and does nothing."""

    def __init__(
        self,
        board: EngineReference,
        machine: TurnMachine,
        transport: Transport,
        type_text: Callable[[str], None],
        transfers: Mapping[str, str],
    ) -> None:
        """`type_text` puts a message of the caller into the conversation."""
        self._board = board
        self._machine = machine
        self._transport = transport
        self._line: PhoneLine | None = phone_line(transport)
        self._type_text = type_text
        self._transfers = transfers
        self._keys = ""
        """The keys of the number that the caller is pressing."""
        self._alarm = Alarm(self._take_keys)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """The task of each tool call that is under way."""
        self.tools = self._tools()
        """The Responder's tools for the line; none without a line."""
        if self._line is not None:
            self._line.listen_to_keys(self._on_key)

    def brief(self, briefing: Briefing) -> Briefing:
        """Return the briefing with the tools of the line and the instructions for the telephone."""
        if self._line is None:
            return briefing
        parts = [briefing.instructions, PHONE.format(hang_up=HANG_UP)]
        names = {tool.name for tool in self.tools}
        parts += [TRANSFERRING.format(transfer=TRANSFER)] if TRANSFER in names else []
        parts += [PRESSING.format(press=PRESS)] if PRESS in names else []
        return replace(briefing, instructions="\n\n".join(parts), tools=(*briefing.tools, *self.tools))

    def run(self, command: RunThinker) -> None:
        """Begin to carry out a tool call; its outcome is dispatched once, unless it ends the call."""
        call_id, name = command.call, command.name
        task = asyncio.create_task(self._run(call_id, name, command.arguments), name=f"line {name}")
        self._tasks[call_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(call_id, None))

    def cancel(self, call_id: str) -> None:
        """Stop the work on a tool call."""
        if task := self._tasks.get(call_id):
            task.cancel()

    async def close(self) -> None:
        """Forget keys that wait, and stop the tool calls that are under way."""
        self._alarm.stop()
        await cancel_all(list(self._tasks.values()))

    def _tools(self) -> tuple[ToolSchema, ...]:
        if self._line is None:
            return ()
        nothing = {"type": "object", "properties": {}, "additionalProperties": False}
        tools = [ToolSchema(HANG_UP, "End the telephone call, once goodbye has been said.", nothing)]
        if self._line.transfers and self._transfers:
            to = {"type": "string", "enum": sorted(self._transfers), "description": "Whom to connect the caller with."}
            tools.append(ToolSchema(TRANSFER, "Connect the caller with somebody else; you leave.", _object(to=to)))
        if self._line.presses_keys:
            keys = {"type": "string", "pattern": PRESSABLE, "description": "The keys in their order, without spaces."}
            tools.append(ToolSchema(PRESS, "Press keys of the telephone (DTMF).", _object(keys=keys)))
        return tuple(tools)

    async def _run(self, call_id: str, name: str, arguments: str) -> None:
        line = self._line
        assert line is not None
        try:
            async with asyncio.timeout(HEARD_WITHIN_S + ORDER_WITHIN_S):
                if name == PRESS:
                    keys = _keys(arguments)
                    sent = await line.press(keys)
                    result = json.dumps({"pressed": keys[:sent], "not_pressed": keys[sent:]})
                    self._board.dispatch(ThinkerFinished(call_id, result))
                    return
                target = self._target(arguments) if name == TRANSFER else ""
                if not await self._was_heard():
                    self._board.dispatch(ThinkerFailed(call_id, MOVED_ON))
                    return
                if name == TRANSFER:
                    await line.transfer(target)
                else:
                    await line.hang_up()
        except LineFailed as error:
            if name == HANG_UP:  # closing the transport ends the call as well
                self._board.dispatch(TransportClosed("hung_up"))
            else:
                self._board.dispatch(ThinkerFailed(call_id, str(error)))
        except TimeoutError:
            self._board.dispatch(ThinkerFailed(call_id, "The telephone network did not answer in time."))
        else:
            self._board.dispatch(TransportClosed("transferred" if name == TRANSFER else "hung_up"))

    async def _was_heard(self) -> bool:
        """Wait until the present reply is heard; return False if the caller has taken a new turn meanwhile."""
        turn = self._machine.turn
        deadline = asyncio.get_running_loop().time() + HEARD_WITHIN_S
        quiet = 0
        while quiet < QUIET_LOOKS and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._machine.turn != turn:
                return False
            quiet = 0 if self._transport.queued_ms else quiet + 1
        return True

    def _target(self, arguments: str) -> str:
        try:
            return self._transfers[msgspec.json.decode(arguments, type=_Transfer).to]
        except (msgspec.MsgspecError, KeyError):
            raise LineFailed(f"Calls can be transferred to {', '.join(sorted(self._transfers))} only.") from None

    def _on_key(self, key: str) -> None:
        self._keys += key
        is_last = key == LAST_KEY or len(self._keys) >= KEYS_LIMIT
        self._alarm.stop()
        self._alarm.set(asyncio.get_running_loop().time() + (0.0 if is_last else KEY_PAUSE_S))

    def _take_keys(self) -> None:
        """Put the keys into the conversation, separated by spaces, as a number is read out."""
        keys, self._keys = self._keys, ""
        self._board.publish(page.KeysPressed(keys))
        self._type_text(KEYS_PRESSED.format(keys=" ".join(keys)))


def _object(**properties: object) -> dict[str, object]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _keys(arguments: str) -> str:
    try:
        return msgspec.json.decode(arguments, type=_Press).keys.strip()  # `$` lets a newline pass
    except msgspec.MsgspecError:
        raise LineFailed(f"Only digits, *, # and A to D can be pressed, {KEYS_LIMIT} at most, no spaces.") from None
