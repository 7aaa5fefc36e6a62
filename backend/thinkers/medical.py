"""Health questions, answered from research articles, calculators and the operator's documents; never as a doctor."""

from __future__ import annotations

from dataclasses import replace

from backend.thinkers.base import Answer, Manifest
from backend.thinkers.run import ThinkerRun

MANIFEST = Manifest(
    domain="medical",
    label="Medical",
    description=(
        "health and medicine: symptoms, pain, illnesses, diseases, medicines, vaccines, diets, sleep, research "
        "findings, clinical scores and calculations"
    ),
    example="What does research say about vitamin D and colds?",
    examples=(
        "What helps against a headache?",
        "What are the symptoms of the flu?",
        "Compute my body mass index at 80 kilos and 1 meter 80.",
        "Is this medicine safe, and what are its side effects?",
        "I have a fever and a cough.",
        "My back hurts, what could that be?",
        "How is high blood pressure treated?",
        "Is chocolate healthy or bad for the stomach?",
        "Why does my foot ache?",
        "Can I take this medicine with alcohol?",
        "Should I worry about this swelling?",
        "Is there research on green tea and cancer?",
    ),
    prompt=(
        "You inform about health and medicine; you are not a doctor and never diagnose, prescribe or change a "
        "treatment. Look up findings with pubmed_search and kb_search, and compute scores with medical_calculator. "
        "Say how certain a finding is. If the words suggest an emergency, such as chest pain, trouble breathing, "
        "signs of a stroke, heavy bleeding, an overdose or thoughts of suicide, say first to call the local emergency "
        "number now."
    ),
    tier="advanced",
    tools=("pubmed_search", "medical_calculator", "kb_search"),
    cache_ttl_s=600,
    cache_scope="user",
    deadline_s=45,
    filler="Still looking through the research.",
    history_turns=2,
)
NO_DOCTOR = "I am not a doctor, so please check this with one."


async def think(run: ThinkerRun) -> Answer:
    """Answer in the usual way, and always say that this is no doctor's advice."""
    answer = await run.answer()
    if "doctor" in answer.text.lower():
        return answer
    return replace(answer, text=f"{answer.text} {NO_DOCTOR}")
