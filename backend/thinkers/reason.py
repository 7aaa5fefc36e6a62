"""The reason Thinker works on hard questions: puzzles, word problems, plans. Only the outcome leaves it."""

from backend.errors import NoAnswer
from backend.reasoning.base import ReasoningRequest, Stage
from backend.thinkers.base import Answer, Manifest
from backend.thinkers.run import ThinkerRun

MANIFEST = Manifest(
    domain="reason",
    label="Reasoning",
    description="whatever is asked to be thought about hard or carefully: puzzles, word problems, plans to weigh",
    example="Think hard: three tickets cost twelve dollars each, what change do I get from fifty?",
    examples=(
        "Solve this riddle step by step.",
        "Weigh up the pros and cons of moving house.",
    ),
    prompt="The person who asks is on the phone: give the result, and the one or two reasons that carry it.",
    tier="advanced",
    tools=("calculate", "web_search", "kb_search"),
    cache_ttl_s=0,
    deadline_s=75,
    filler="I am still thinking it through.",
    preferences=("name", "time_zone"),
)
WITHIN_S = 60.0
"""Seconds the reasoning may take; the best result by then is the answer, within the deadline."""


async def think(run: ThinkerRun) -> Answer:
    """Answer with the reasoner, which gets the question as one task."""
    if run.dependencies.without_model:  # Without a model only sums can be answered.
        return run.answer_from(await run.ask(run.manifest.prompt, run.question.query, tools=("calculate",)))
    reasoner = run.dependencies.reasoner
    if reasoner is None:
        raise NoAnswer("Reasoning is not set up on this server.")

    def on_stage(stage: Stage) -> None:
        run.progress(f"round {stage.round}: {stage.detail}" if stage.round > 1 else stage.detail)

    task = ReasoningRequest(
        run.question.query,
        context=run.context,
        source_mode=run.question.source_mode,
        tools=run.manifest.tools,
        situation=await run.situation(),
        guidance=run.manifest.prompt,
    )
    reasoned = await reasoner.infer(task, on_stage=on_stage, deadline_s=WITHIN_S)
    return Answer(
        text=reasoned.text,
        source="sample" if reasoned.sample else "live" if reasoned.live else "model",
        citations=reasoned.citations,
        tool_calls=reasoned.tool_calls,
        latency_ms=reasoned.elapsed_ms,
        tokens=reasoned.tokens,
        untrusted=reasoned.untrusted,
    )
