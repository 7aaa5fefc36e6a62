"""The medical calculator: well-known clinical scores and formulas by name, with units, ranges, meaning and source.

Every input of a score must be given: a finding that was not mentioned may still be present.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, create_model

from backend.citations import Citation
from backend.tools.base import EVERYONE, Result, tool
from backend.tools.fetch import refused

Values = Mapping[str, Any]
Compute = Callable[[Values], tuple[float, str]]
"""Returns the number and its meaning, from values that were checked."""
Inputs = Mapping[str, Any]
"""The type of each input, by its name: a number in a range, true or false, or one word of a list."""


@dataclass(frozen=True, slots=True)
class Score:
    """One score."""

    name: str
    title: str
    unit: str
    inputs: Inputs
    compute: Compute
    source: str

    def calculate(self, values: Values) -> tuple[float, str]:
        """Return number and meaning. Raise `ValidationError` for values that are missing, unknown or out of range."""
        fields: Any = {name: (kind, ...) for name, kind in self.inputs.items()}
        form = create_model(self.name, __config__=ConfigDict(extra="forbid", strict=True), **fields)
        return self.compute(dict(form.model_validate(dict(values))))


SCORES: dict[str, Score] = {}
"""All scores by name."""


def _score(name: str, title: str, unit: str, inputs: Inputs, source: str) -> Callable[[Compute], Compute]:
    """Declare the function below as the computation of a score."""

    def declare(compute: Compute) -> Compute:
        SCORES[name] = Score(name, title, unit, inputs, compute, source)
        return compute

    return declare


def _number(name: str, low: float, high: float) -> dict[str, Any]:
    return {name: Annotated[float, Field(ge=low, le=high)]}


def _whole(name: str, low: int, high: int) -> dict[str, Any]:
    return {name: Annotated[float, Field(ge=low, le=high, multiple_of=1)]}


def _yes_no(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, bool)


def _band(value: float, bands: tuple[tuple[float, str], ...], beyond: str) -> str:
    """Return the meaning of the first band that ends above `value`; `beyond` if there is none."""
    return next((meaning for end, meaning in bands if value < end), beyond)


def _step(value: float, steps: tuple[tuple[float, int], ...], beyond: int) -> int:
    """Return the points of the first step that ends at or above `value`; `beyond` if there is none."""
    return next((points for end, points in steps if value <= end), beyond)


def _points(points: Mapping[str, float], v: Values) -> float:
    return sum(worth for name, worth in points.items() if v[name])


AGE = _number("age_years", 18, 120)
SEX = {"sex": Literal["female", "male"]}
WEIGHT = _number("weight_kg", 2, 400)
HEIGHT = _number("height_cm", 40, 250)
CREATININE = _number("creatinine_mg_dl", 0.1, 30)
SODIUM = _number("sodium_mmol_l", 90, 200)
SYSTOLIC = _number("systolic_mmhg", 30, 300)
DIASTOLIC = _number("diastolic_mmhg", 10, 200)
BREATHS = _number("breaths_per_minute", 0, 90)

CHADS_POINTS = dict.fromkeys(("heart_failure", "hypertension", "diabetes", "vascular_disease"), 1)
CHADS_POINTS["stroke_or_tia_or_embolism"] = 2
_HAS_BLED = (
    *("uncontrolled_hypertension", "abnormal_kidney_function", "abnormal_liver_function", "stroke_history"),
    *("bleeding_history_or_tendency", "labile_inr", "antiplatelets_or_nsaids", "alcohol_excess"),
)
HAS_BLED_POINTS = dict.fromkeys(_HAS_BLED, 1)
_WELLS_DVT = (
    *("active_cancer", "paralysis_or_leg_immobilised", "bedridden_3_days_or_surgery_12_weeks"),
    *("tenderness_along_deep_veins", "entire_leg_swollen", "calf_swelling_over_3_cm", "pitting_oedema"),
    *("collateral_superficial_veins", "previous_dvt"),
)
WELLS_DVT_POINTS = dict.fromkeys(_WELLS_DVT, 1) | {"other_diagnosis_as_likely": -2}
WELLS_PE_POINTS = {
    **dict.fromkeys(("signs_of_dvt", "pe_most_likely_diagnosis"), 3.0),
    **dict.fromkeys(("heart_rate_over_100", "immobilised_or_surgery_4_weeks", "previous_dvt_or_pe"), 1.5),
    **dict.fromkeys(("coughing_blood", "cancer"), 1.0),
}


@_score("bmi", "Body mass index", "kg/m²", WEIGHT | HEIGHT, source="WHO Technical Report Series 894 (2000)")
def _bmi(v: Values) -> tuple[float, str]:
    bmi = v["weight_kg"] / (v["height_cm"] / 100) ** 2
    return round(bmi, 1), _band(bmi, ((18.5, "underweight"), (25, "normal weight"), (30, "overweight")), "obesity")


@_score("bsa", "Body surface area", "m²", WEIGHT | HEIGHT, source="Mosteller, N Engl J Med 1987;317:1098")
def _bsa(v: Values) -> tuple[float, str]:
    return round(math.sqrt(v["height_cm"] * v["weight_kg"] / 3600), 2), "body surface area"


@_score(
    "creatinine_clearance", "Creatinine clearance (Cockcroft-Gault)", "mL/min", AGE | SEX | WEIGHT | CREATININE,
    source="Cockcroft and Gault, Nephron 1976;16:31-41",
)  # fmt: skip
def _creatinine_clearance(v: Values) -> tuple[float, str]:
    clearance = (140 - v["age_years"]) * v["weight_kg"] / (72 * v["creatinine_mg_dl"])
    return round(clearance * (0.85 if v["sex"] == "female" else 1), 1), "estimated creatinine clearance"


@_score(
    "egfr", "eGFR (CKD-EPI 2021)", "mL/min per 1.73 m²", AGE | SEX | CREATININE,
    source="Inker et al., N Engl J Med 2021;385:1737-1749",
)  # fmt: skip
def _egfr(v: Values) -> tuple[float, str]:
    female = v["sex"] == "female"
    ratio = v["creatinine_mg_dl"] / (0.7 if female else 0.9)
    egfr = 142 * min(ratio, 1) ** (-0.241 if female else -0.302) * max(ratio, 1) ** -1.2 * 0.9938 ** v["age_years"]
    egfr = round(egfr * (1.012 if female else 1))
    bands = ((15, "stage G5"), (30, "stage G4"), (45, "stage G3b"), (60, "stage G3a"), (90, "stage G2"))
    return egfr, _band(egfr, bands, "stage G1")


@_score(
    "cha2ds2_vasc", "CHA2DS2-VASc", "points", AGE | SEX | _yes_no(*CHADS_POINTS),
    source="Lip et al., Chest 2010;137:263-272",
)  # fmt: skip
def _cha2ds2_vasc(v: Values) -> tuple[float, str]:
    age = 2 if v["age_years"] >= 75 else 1 if v["age_years"] >= 65 else 0
    score = _points(CHADS_POINTS, v) + age + (v["sex"] == "female")
    return score, "points of 9 for the risk of stroke in atrial fibrillation"


@_score(
    "has_bled", "HAS-BLED", "points", AGE | _yes_no(*HAS_BLED_POINTS),
    source="Pisters et al., Chest 2010;138:1093-1100",
)  # fmt: skip
def _has_bled(v: Values) -> tuple[float, str]:
    score = _points(HAS_BLED_POINTS, v) + (v["age_years"] > 65)
    return score, "high risk of bleeding" if score >= 3 else "low to moderate risk of bleeding"


@_score(
    "wells_dvt", "Wells score for deep vein thrombosis", "points", _yes_no(*WELLS_DVT_POINTS),
    source="Wells et al., N Engl J Med 2003;349:1227-1235",
)  # fmt: skip
def _wells_dvt(v: Values) -> tuple[float, str]:
    score = _points(WELLS_DVT_POINTS, v)
    return score, "deep vein thrombosis likely" if score >= 2 else "deep vein thrombosis unlikely"


@_score(
    "wells_pe", "Wells score for pulmonary embolism", "points", _yes_no(*WELLS_PE_POINTS),
    source="Wells et al., Thromb Haemost 2000;83:416-420",
)  # fmt: skip
def _wells_pe(v: Values) -> tuple[float, str]:
    score = _points(WELLS_PE_POINTS, v)
    return score, "pulmonary embolism likely" if score > 4 else "pulmonary embolism unlikely"


@_score(
    "curb_65", "CURB-65", "points",
    AGE | _yes_no("confusion") | _number("urea_mmol_l", 0.5, 100) | BREATHS | SYSTOLIC | DIASTOLIC,
    source="Lim et al., Thorax 2003;58:377-382",
)  # fmt: skip
def _curb_65(v: Values) -> tuple[float, str]:
    low_pressure = v["systolic_mmhg"] < 90 or v["diastolic_mmhg"] <= 60
    signs = v["confusion"], v["urea_mmol_l"] > 7, v["breaths_per_minute"] >= 30, low_pressure, v["age_years"] >= 65
    return sum(signs), _band(sum(signs), ((2, "low severity"), (3, "moderate severity")), "high severity")


@_score(
    "qsofa", "qSOFA", "points", BREATHS | _yes_no("altered_mental_state") | SYSTOLIC,
    source="Singer et al., JAMA 2016;315:801-810",
)  # fmt: skip
def _qsofa(v: Values) -> tuple[float, str]:
    score = (v["breaths_per_minute"] >= 22) + v["altered_mental_state"] + (v["systolic_mmhg"] <= 100)
    return score, "positive: higher risk of a poor outcome with infection" if score >= 2 else "negative"


@_score(
    "meld_na", "MELD-Na", "points",
    CREATININE | _number("bilirubin_mg_dl", 0.1, 80) | _number("inr", 0.5, 20) | SODIUM
    | _yes_no("dialysis_twice_last_week"),
    source="OPTN policy 9 (2016); Kim et al., N Engl J Med 2008;359:1018-1026",
)  # fmt: skip
def _meld_na(v: Values) -> tuple[float, str]:
    creatinine = 4.0 if v["dialysis_twice_last_week"] else min(max(v["creatinine_mg_dl"], 1.0), 4.0)
    bilirubin, inr = max(v["bilirubin_mg_dl"], 1.0), max(v["inr"], 1.0)
    initial = 0.957 * math.log(creatinine) + 0.378 * math.log(bilirubin) + 1.120 * math.log(inr) + 0.643
    meld: float = round(initial * 10)
    if meld > 11:
        lack = 137 - min(max(v["sodium_mmol_l"], 125), 137)
        meld = meld + 1.32 * lack - 0.033 * meld * lack
    return min(round(meld), 40), "points from 6 to 40 for the severity of liver disease"


@_score(
    "news2", "NEWS2", "points", BREATHS | _whole("oxygen_saturation_percent", 30, 100)
    | _yes_no("hypercapnic_respiratory_failure", "supplemental_oxygen") | SYSTOLIC
    | _number("pulse_per_minute", 10, 300) | _yes_no("alert_and_not_newly_confused")
    | _number("temperature_celsius", 25, 45),
    source="Royal College of Physicians, National Early Warning Score 2 (2017)",
)  # fmt: skip
def _news2(v: Values) -> tuple[float, str]:
    oxygen, saturation = v["supplemental_oxygen"], v["oxygen_saturation_percent"]
    if not v["hypercapnic_respiratory_failure"]:
        saturated = _step(saturation, ((91, 3), (93, 2), (95, 1)), 0)
    elif oxygen:
        saturated = _step(saturation, ((83, 3), (85, 2), (87, 1), (92, 0), (94, 1), (96, 2)), 3)
    else:
        saturated = _step(saturation, ((83, 3), (85, 2), (87, 1)), 0)
    parts = (
        _step(v["breaths_per_minute"], ((8, 3), (11, 1), (20, 0), (24, 2)), 3),
        saturated,
        2 if oxygen else 0,
        _step(v["systolic_mmhg"], ((90, 3), (100, 2), (110, 1), (219, 0)), 3),
        _step(v["pulse_per_minute"], ((40, 3), (50, 1), (90, 0), (110, 1), (130, 2)), 3),
        0 if v["alert_and_not_newly_confused"] else 3,
        _step(round(v["temperature_celsius"], 1), ((35.0, 3), (36.0, 1), (38.0, 0), (39.0, 1)), 2),
    )
    low = "low to medium clinical risk: one finding alone has three points" if 3 in parts else "low clinical risk"
    return sum(parts), _band(sum(parts), ((5, low), (7, "medium clinical risk")), "high clinical risk")


@_score(
    "fib_4", "FIB-4", "points", AGE | _number("ast_u_l", 1, 10_000) | _number("alt_u_l", 1, 10_000)
    | _number("platelets_10e9_l", 1, 2_000),
    source="Sterling et al., Hepatology 2006;43:1317-1325",
)  # fmt: skip
def _fib_4(v: Values) -> tuple[float, str]:
    index = v["age_years"] * v["ast_u_l"] / (v["platelets_10e9_l"] * math.sqrt(v["alt_u_l"]))
    if index < 1.45:
        return round(index, 2), "advanced liver fibrosis unlikely"
    return round(index, 2), "advanced liver fibrosis likely" if index > 3.25 else "indeterminate"


@_score(
    "glasgow", "Glasgow Coma Scale", "points",
    _whole("eye", 1, 4) | _whole("verbal", 1, 5) | _whole("motor", 1, 6),
    source="Teasdale and Jennett, Lancet 1974;304:81-84",
)  # fmt: skip
def _glasgow(v: Values) -> tuple[float, str]:
    score = v["eye"] + v["verbal"] + v["motor"]
    return score, _band(score, ((9, "severe"), (13, "moderate")), "mild or no impairment of consciousness")


@_score(
    "anion_gap", "Anion gap", "mmol/L",
    SODIUM | _number("chloride_mmol_l", 50, 160) | _number("bicarbonate_mmol_l", 1, 60),
    source="Emmett and Narins, Medicine 1977;56:38-54",
)  # fmt: skip
def _anion_gap(v: Values) -> tuple[float, str]:
    return round(v["sodium_mmol_l"] - v["chloride_mmol_l"] - v["bicarbonate_mmol_l"], 1), "anion gap without potassium"


@_score(
    "corrected_calcium", "Calcium corrected for albumin", "mg/dL",
    _number("calcium_mg_dl", 2, 25) | _number("albumin_g_dl", 0.5, 7),
    source="Payne et al., Br Med J 1973;4:643-646",
)  # fmt: skip
def _corrected_calcium(v: Values) -> tuple[float, str]:
    return round(v["calcium_mg_dl"] + 0.8 * (4.0 - v["albumin_g_dl"]), 2), "calcium corrected for albumin"


_CATALOGUE = "; ".join(f"{score.name}({', '.join(score.inputs)})" for score in SCORES.values())


@tool(
    "medical_calculator",
    "Computes a clinical score or formula. Every input must be given, numbers in the unit in their name, findings as "
    f"true or false, sex as 'female' or 'male'. The scores: {_CATALOGUE}.",
    guidance="Medical calculator: never compute a score yourself. Ask for values the user has not given; do not "
    "assume them. Say the value with its unit and what it means.",
    clients=EVERYONE,
)
async def medical_calculator(
    score: Annotated[str, Field(max_length=64, description="The score's name, as listed.")],
    values: Annotated[dict[str, float | bool | str], "The inputs by name."],
) -> Result:
    """Return a score's value, unit and meaning. Raise `ToolFailed` that names missing, unknown or impossible inputs."""
    chosen = SCORES.get(score.strip().lower())
    if chosen is None:
        raise refused(f"There is no score {score!r}. The scores are: {', '.join(SCORES)}.")
    try:
        value, meaning = chosen.calculate(values)
    except ValidationError as error:
        faults = "; ".join(f"{each['loc'][0]}: {each['msg']}" for each in error.errors())
        raise refused(f"{chosen.title} cannot be computed: {faults}.") from error
    data = {
        "score": chosen.title,
        "value": int(value) if value == int(value) else value,
        "unit": chosen.unit,
        "meaning": meaning,
        "inputs": dict(values),
        "source": chosen.source,
    }
    title = chosen.title[0].lower() + chosen.title[1:] if chosen.title[1].islower() else chosen.title
    spoken = f"The {title} is {f'{value:g} {chosen.unit}'.strip()}: {meaning}."
    return Result(data, spoken=spoken, citations=(Citation(f"{chosen.title}: {chosen.source}"),))
