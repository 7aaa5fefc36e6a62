"""Answers health questions from research articles, calculators and the operator's documents, but not as a doctor."""

from dataclasses import replace

from backend.thinkers.base import Addition, Answer, Manifest
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
        "Compute my body mass index at 80 kilos and 1 meter 80.",
        "Is this medicine safe, and what are its side effects?",
        "My back hurts, what could that be?",
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
    phrases=(
        "What helps against a headache?",
        "What are the symptoms of the flu?",
        "I have a fever and a cough.",
        "How is high blood pressure treated?",
        "Is chocolate healthy or bad for the stomach?",
        "Why does my foot ache?",
        "Can I take this medicine with alcohol?",
        "Should I worry about this swelling?",
        "Is there research on green tea and cancer?",
        "I feel sick.",
        "I feel tired and weak.",
        "I'm dizzy.",
        "I have a pain in my chest.",
        "I have a stomach ache.",
        "My throat is sore.",
        "My head is killing me.",
        "My tooth hurts.",
        "My son has a temperature.",
        "My daughter has a rash on her skin.",
        "My shoulder is stiff, what can I do?",
        "My nose keeps bleeding.",
        "I can't fall asleep, what helps?",
        "I burned my hand, what should I do?",
        "I sprained my wrist.",
        "I was stung by a wasp.",
        "What could this lump be?",
        "What can I do against nausea?",
        "What helps with an upset stomach?",
        "What is good for a cold?",
        "What can be done about dry eyes?",
        "What causes cramps in the leg?",
        "Why do my joints hurt?",
        "Why do I sweat so much?",
        "Why am I always thirsty?",
        "How do you treat a burn?",
        "How is an infection treated?",
        "How long does a cold last?",
        "Is the measles contagious?",
        "How dangerous is smoking?",
        "What is diabetes?",
        "What is a normal pulse?",
        "Is my blood pressure too high?",
        "Which vitamins do I need?",
        "Which foods are rich in iron?",
        "What should I eat to lose weight?",
        "Is sugar bad for you?",
        "Is red meat unhealthy?",
        "Are eggs good for the heart?",
        "How much water should I drink a day?",
        "Should I get a flu shot?",
        "Do I need to see a doctor about this cough?",
        "What dose of paracetamol can I take?",
        "Can I take these pills together?",
        "What are the side effects of antibiotics?",
        "Is ibuprofen safe during pregnancy?",
        "Does exercise help against depression?",
        "Do studies show that fasting works?",
        "What does science say about cold showers?",
        "What do studies say about meditation and stress?",
        "Is there scientific proof that zinc prevents infections?",
        "Does research show that salt is harmful?",
        "Are there studies on fish oil and the brain?",
        "What is my BMI?",
        "Am I overweight at ninety kilos?",
        "Calculate the creatinine clearance of a woman of seventy.",
        "What is the anion gap?",
        "What's the body surface of a man of eighty kilos?",
        "How do I recognize a stroke?",
        "What are early signs of dementia?",
    ),
)
ADDITIONS = (Addition(domain="research", tools=("pubmed_search",)),)
NO_DOCTOR = "I am not a doctor, so please check this with one."


async def think(run: ThinkerRun) -> Answer:
    """Answer in the usual way, and always add that the assistant is not a doctor."""
    answer = await run.answer()
    if "doctor" in answer.text.lower():
        return answer
    return replace(answer, text=f"{answer.text} {NO_DOCTOR}")
