"""Questions about the user's long work: through the tool, without a model, and over real records."""

import json
from dataclasses import replace
from typing import Any, cast

from backend.notifications.notices import Notice
from backend.tasks.service import TaskQueries
from backend.tasks.task import Task, TaskState
from backend.tools.background_tasks import UserTasks, background_tasks
from tests.coordinator.world import FakeTasks, World
from tests.support.agents import toolbox
from tests.support.consent import tool_context
from tests.support.crashing import Countdown

ADA = tool_context("ada", "s1")


class WaitingNotices:
    """The waiting notices, in place of the notification dispatcher."""

    def __init__(self, *notices: Notice) -> None:
        self.notices = list(notices)

    async def waiting(self, user_id: str) -> list[Notice]:
        return self.notices

    async def withdraw(self, user_id: str, notice_id: str) -> bool:
        self.notices = [notice for notice in self.notices if notice.id != notice_id]
        return True


def asking(world: World, *notices: Notice) -> tuple[TaskQueries, WaitingNotices]:
    waiting = WaitingNotices(*notices)
    return TaskQueries(FakeTasks(world, Countdown()), cast(Any, waiting)), waiting


async def asked(tasks: UserTasks | None, **arguments: str) -> dict[str, Any]:
    result = await toolbox(background_tasks, services={UserTasks: tasks}).run(
        "background_tasks", json.dumps(arguments), ADA
    )
    content: dict[str, Any] = json.loads(result.content)
    return content


def a_world() -> World:
    """The task about bees is done, the one about ants is running."""
    world = World()
    world.ended(1)
    world.tasks["t2"] = Task("t2", "ada", "", "research", "ants", 2.0, 2.0, state=TaskState.RUNNING, progress="reading")
    return world


async def test_tasks_are_listed_without_their_results() -> None:
    tasks, _ = asking(a_world())
    listed = (await asked(tasks, action="list"))["tasks"]
    assert [task["id"] for task in listed] == ["t2", "t1"] and "result" not in listed[1]
    assert (await asked(tasks, action="list"))["spoken"] == "ants: at work; bees 1: done."


async def test_reading_a_result_withdraws_its_notice() -> None:
    tasks, waiting = asking(a_world(), Notice("n1", "Bees dance.", source="t1"), Notice("n2", "Else.", source="t9"))
    found = await asked(tasks, action="get", task_id="t1")
    assert (found["result"], found["spoken"]) == ("They dance.", "About this: bees 1. They dance.")
    assert [notice.id for notice in waiting.notices] == ["n2"]


async def test_a_running_task_says_how_far_it_is() -> None:
    tasks, _ = asking(a_world())
    found = await asked(tasks, action="get")
    assert found["progress"] == "reading"
    assert found["spoken"] == "I am still working on this: ants, reading."


async def test_the_newest_running_task_is_canceled() -> None:
    world = a_world()
    tasks, _ = asking(world)
    done = await asked(tasks, action="cancel")
    assert done == {"outcome": "canceled", "instruction": "ants", "spoken": "I have stopped this: ants."}
    assert world.tasks["t2"].state is TaskState.CANCELED
    assert "Nothing is running" in json.dumps(await asked(tasks, action="cancel"))


async def test_another_users_task_is_never_seen_and_an_empty_list_is_no_error() -> None:
    assert "no such task" in json.dumps(await asked(asking(a_world())[0], action="get", task_id="t7"))
    none = await asked(None, action="get")
    assert none == {"tasks": [], "spoken": "There is nothing in the background."}


async def test_a_briefing_names_tasks_briefly() -> None:
    world = a_world()
    world.tasks["t2"] = replace(world.tasks["t2"], instruction="a" * 500)
    brief = await asking(world)[0].for_prompt("ada")
    assert brief == [{"asked": "a" * 120, "state": "running"}, {"asked": "bees 1", "state": "done"}]
