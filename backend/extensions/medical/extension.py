"""Health questions: clinical scores, medical literature, and a Thinker that informs without being a doctor."""

from backend.extension import Extension
from backend.extensions.medical.settings import MedicalSettings

EXTENSION = Extension(
    name="medical",
    title="Medicine",
    settings=(MedicalSettings,),
    tools=("backend.extensions.medical.calculator", "backend.extensions.medical.pubmed_search"),
    thinkers=("backend.extensions.medical.thinker",),
    secrets=("MEDICAL__NCBI_API_KEY",),
    former={"NCBI_URL": "MEDICAL__NCBI_URL", "NCBI_API_KEY": "MEDICAL__NCBI_API_KEY"},
)
