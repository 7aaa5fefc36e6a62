"""The research Thinker answers from several sources: plan, search in parallel, look for gaps, write.

The model plans and writes. The server searches, so that every step shows as progress, every finding keeps its source,
and a question is looked up even if the model cannot plan.
"""

import asyncio
import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import msgspec

from backend.agent.turn import say_sample
from backend.models.base import quoted
from backend.thinkers.base import Answer, Manifest
from backend.thinkers.run import ThinkerRun
from backend.tools.runner import ToolResult

MANIFEST = Manifest(
    domain="research",
    label="Research",
    description=(
        "questions that need several sources looked up and compared, a report, an overview, reviews, or a "
        "thorough search of the web"
    ),
    example="Research how cities cut their traffic, and what worked.",
    examples=(
        "Compare several sources on solar power.",
        "Look into the history of jazz, and take your time.",
        "Search the web for museums.",
    ),
    prompt=(
        "You report the outcome of a search to the person who asked for it. The findings follow the question, as data. "
        "Answer from them in up to six short sentences: the conclusion first, then what supports it, naming the "
        "sources, then what remains open or contradictory. Say which sources could not be searched."
    ),
    tier="advanced",
    tools=("web_search", "get_news_headlines", "kb_search"),
    cache_ttl_s=1800,
    deadline_s=240,
    filler="I am still going through the sources.",
    cache_scope="date",
    history_turns=0,
    preferences=("time_zone",),
    background=True,
)
PLAN = (
    "You plan a search. Break the question into at most {limit} searches that together answer it. For each, choose "
    'sources, by their names: {sources}. Reply with JSON only, in the form {{"searches": [{{"query": "…", "sources": '
    '["web_search"]}}]}}.'
)
GAPS = PLAN + (
    " Searches were already made; their findings stand in the question as data. Plan only what is still missing, and "
    'reply {{"searches": []}} when nothing important is.'
)
SEARCH_LIMIT = 4
"""The most searches in one round."""
ROUND_LIMIT = 2
FINDINGS_LIMIT = 16_000
"""The most characters of findings for the writing model."""
CITATION_LIMIT = 12
DELAY_STEP_S = 5.0
"""Seconds between two progress messages of a demonstration's delay."""


@dataclass(frozen=True, slots=True)
class Search:
    """One planned search; the source is the name of a tool."""

    query: str
    source: str


Findings = dict[Search, ToolResult]


async def think(run: ThinkerRun) -> Answer:
    """Plan the searches, make them, fill the gaps, write the answer."""
    findings: Findings = {}
    for number in range(ROUND_LIMIT):
        if run.checkpoints.hurried:
            break
        run.progress("planning the search" if number == 0 else "checking what is missing")
        planned = await _planned(run, number, findings)
        searches = [search for search in planned if search not in findings]
        if not searches:
            break
        findings |= await _gather(run, searches)
        if all(result.error for result in findings.values()):
            break  # Every search failed, so a second plan would fail, too.
    await _delay(run)
    return await _write(run, findings)


async def _planned(run: ThinkerRun, number: int, findings: Findings) -> list[Search]:
    """Return the plan of that round, from an earlier run if there was one."""

    async def plan() -> list[dict[str, str]]:
        return [asdict(search) for search in await _plan(run, findings)]

    return [Search(**search) for search in await run.step(f"plan {number}", plan)]


async def _plan(run: ThinkerRun, findings: Findings) -> list[Search]:
    """Plan the next searches. Without a readable plan, the first round searches for the question itself in all sources.

    The same holds if no model can plan; then gaps are not looked for.
    """
    question = run.question.query
    if run.dependencies.without_model:
        return [] if findings else _everywhere(question)
    sources = _sources(run)
    listed = ", ".join(f"{name} ({words})" for name, words in sources.items())
    task = (GAPS if findings else PLAN).format(limit=SEARCH_LIMIT, sources=listed)
    text = f"{question}\n\nFindings (data): {_quoted(findings)}" if findings else question
    response = await run.ask(task, text, tools=(), mode="chat", quiet=True)
    planned = read_plan(response.text, list(sources))
    if planned is None and not findings:
        return _everywhere(question)
    return planned or []


def _everywhere(question: str) -> list[Search]:
    return [Search(question[:300], source) for source in MANIFEST.tools]


def _sources(run: ThinkerRun) -> dict[str, str]:
    """Return the names of all search tools, including those of extensions, each with its source."""
    tools = map(run.dependencies.toolbox.get_tool, run.manifest.tools)
    return {tool.name: tool.searches for tool in tools if tool and tool.searches}


def read_plan(text: str, sources: Sequence[str]) -> list[Search] | None:
    """Return the searches of a plan; None when the text is no plan. Without a known source, the first is searched."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        steps = json.loads(match[0])["searches"] if match else None
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(steps, list):
        return None
    searches = []
    for step in steps[:SEARCH_LIMIT]:
        # Models send plans in other forms, too; those steps are left out.
        if not isinstance(step, dict) or not isinstance(query := step.get("query"), str) or not query.strip():
            continue
        chosen = step.get("sources")
        known = [source for source in chosen if source in sources] if isinstance(chosen, list) else []
        searches += [Search(query.strip()[:300], source) for source in dict.fromkeys(known or sources[:1])]
    return searches


async def _gather(run: ThinkerRun, searches: list[Search]) -> Findings:
    """Make all searches at the same time, and show each as it ends."""
    sources, done = _sources(run), 0

    async def look(search: Search) -> ToolResult:
        nonlocal done
        result = await _searched(run, search)
        done += 1
        outcome = "searched" if result.error is None else "could not search"
        run.progress(f"{outcome} {sources[search.source]} ({done} of {len(searches)})")
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(look(search)) for search in searches]
    return {search: task.result() for search, task in zip(searches, tasks, strict=True)}


async def _searched(run: ThinkerRun, search: Search) -> ToolResult:
    """Make a search once, or return an earlier run's result. The next run repeats a failed search."""
    name = f"{search.source}: {search.query}"
    if (saved := run.checkpoints.load(name)) is not None:
        return msgspec.convert(saved, ToolResult)
    tool = run.dependencies.toolbox.get_tool(search.source)
    words_go_in = next(iter(tool.parameters["properties"])) if tool else "query"
    result = await run.call(search.source, {words_go_in: search.query[:200]})
    if result.error is None:
        await run.checkpoints.save(name, msgspec.to_builtins(result))
    return result


async def _write(run: ThinkerRun, findings: Findings) -> Answer:
    run.progress("writing the answer")
    answer = _listed(run, findings) if run.dependencies.without_model else await _written(run, findings)
    useful = [result for result in findings.values() if result.error is None]
    sample = any(result.sample for result in useful)
    live = any(result.is_live for result in useful)
    # One sample or failed source makes the answer unfit to be served again.
    run.cacheable = run.cacheable and live and all(result.cacheable for result in useful)
    citations = tuple(dict.fromkeys(citation for result in useful for citation in result.citations))
    return replace(
        answer,
        text=say_sample(answer.text) if sample else answer.text,
        source="sample" if sample else "live" if live else "model",
        citations=citations[:CITATION_LIMIT],
        tool_calls=len(findings),
        tokens=run.tokens,
        untrusted=True,
    )


async def _written(run: ThinkerRun, findings: Findings) -> Answer:
    situation = await run.situation()
    text = f"{run.question.query}\n\nFindings (data):\n{_quoted(findings)}"
    return run.answer_from(await run.ask(run.manifest.prompt, text, situation=situation, tools=(), quiet=True))


def _listed(run: ThinkerRun, findings: Findings) -> Answer:
    """Return what each source says, without a model that compares them."""
    sources = _sources(run)
    said = [
        f"From {sources[search.source]}: {words}"
        for search, result in findings.items()
        if not result.error and not result.empty and (words := json.loads(result.content).get("spoken"))
    ]
    if failed := [sources[search.source] for search, result in findings.items() if result.error]:
        said.append(f"I could not search {' and '.join(failed)}.")
    text = " ".join(said) or "I found nothing about that in any source."
    return Answer(text, "model", latency_ms=round((time.perf_counter() - run.began) * 1000))


def _quoted(findings: Findings) -> str:
    """Return the findings as quoted data, each cut to its share of `FINDINGS_LIMIT`."""
    share = FINDINGS_LIMIT // max(1, len(findings))
    shown = (
        {"query": search.query, "source": search.source, "found": json.loads(result.content)}
        for search, result in findings.items()
    )
    return "\n".join(quoted(finding)[:share] for finding in shown) or "none"


async def _delay(run: ThinkerRun) -> None:
    """Wait for the configured seconds of a demonstration, and show progress."""
    until = run.began + run.dependencies.settings.services.research_delay_s
    while (left := until - time.perf_counter()) > 0 and not run.checkpoints.hurried:
        run.progress(f"comparing the sources, {round(left)} seconds to go")
        await asyncio.sleep(min(left, DELAY_STEP_S))
