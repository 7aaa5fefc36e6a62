"""Well-known clinical scores and formulas: inputs with units and valid ranges, computation, meaning, source. Pure.

Every input of a score must be given: a finding that nobody mentioned is not the same as one that is absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Value = float | bool | str
Values = Mapping[str, Any]


class BadInput(ValueError):
    """The values do not fit the score; `str(error)` names the value and the reason."""


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a score: a number with unit and range, a yes or no, or one of some words."""

    name: str
    kind: Literal["number", "yes_no", "choice"]
    unit: str = ""
    low: float = 0.0
    high: float = 0.0
    whole: bool = False
    choices: tuple[str, ...] = ()

    def checked(self, value: Any) -> Value:
        """Return `value` converted and checked for this input. Raise `BadInput`."""
        match self.kind:
            case "yes_no" if isinstance(value, bool):
                return value
            case "choice" if isinstance(value, str) and value.lower() in self.choices:
                return value.lower()
            case "number" if isinstance(value, (int, float)) and not isinstance(value, bool):
                if self.low <= value <= self.high and (not self.whole or value == int(value)):
                    return float(value)
        raise BadInput(f"{self.name} must be {self.wanted}")

    @property
    def wanted(self) -> str:
        """Return the expected value in words."""
        if self.kind == "yes_no":
            return "true or false"
        if self.kind == "choice":
            return " or ".join(self.choices)
        return f"a {'whole ' if self.whole else ''}number from {self.low:g} to {self.high:g} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Score:
    """One score. `compute` receives checked values and returns the number and its meaning."""

    name: str
    title: str
    unit: str
    inputs: tuple[Input, ...]
    compute: Callable[[Values], tuple[float, str]]
    source: str

    def calculate(self, values: Values) -> tuple[float, str]:
        """Return number and meaning. Raise `BadInput` for values that are missing, unknown or out of range."""
        known = {one.name for one in self.inputs}
        if missing := [f"{one.name} ({one.wanted})" for one in self.inputs if values.get(one.name) is None]:
            raise BadInput(f"missing: {', '.join(missing)}")
        if unknown := sorted(set(values) - known):
            raise BadInput(f"not an input of {self.title}: {', '.join(unknown)}")
        return self.compute({one.name: one.checked(values[one.name]) for one in self.inputs})


def _number(name: str, unit: str, low: float, high: float) -> Input:
    return Input(name, "number", unit, low, high)


def _yes_no(*names: str) -> tuple[Input, ...]:
    return tuple(Input(name, "yes_no") for name in names)


AGE = _number("age_years", "years", 18, 120)
SEX = Input("sex", "choice", choices=("female", "male"))
WEIGHT = _number("weight_kg", "kg", 2, 400)
HEIGHT = _number("height_cm", "cm", 40, 250)
CREATININE = _number("creatinine_mg_dl", "mg/dL", 0.1, 30)
SYSTOLIC = _number("systolic_mmhg", "mmHg", 30, 300)
DIASTOLIC = _number("diastolic_mmhg", "mmHg", 10, 200)
BREATHS = _number("breaths_per_minute", "per minute", 0, 90)


def _band(value: float, bands: tuple[tuple[float, str], ...], beyond: str) -> str:
    """Return the meaning of the first band whose (exclusive) upper end is above `value`."""
    return next((meaning for end, meaning in bands if value < end), beyond)


def _bmi(v: Values) -> tuple[float, str]:
    bmi = v["weight_kg"] / (v["height_cm"] / 100) ** 2
    return round(bmi, 1), _band(bmi, ((18.5, "underweight"), (25, "normal weight"), (30, "overweight")), "obesity")


def _bsa(v: Values) -> tuple[float, str]:
    return round(math.sqrt(v["height_cm"] * v["weight_kg"] / 3600), 2), "body surface area"


def _creatinine_clearance(v: Values) -> tuple[float, str]:
    clearance = (140 - v["age_years"]) * v["weight_kg"] / (72 * v["creatinine_mg_dl"])
    return round(clearance * (0.85 if v["sex"] == "female" else 1), 1), "estimated creatinine clearance"


def _egfr(v: Values) -> tuple[float, str]:
    female = v["sex"] == "female"
    ratio = v["creatinine_mg_dl"] / (0.7 if female else 0.9)
    egfr = 142 * min(ratio, 1) ** (-0.241 if female else -0.302) * max(ratio, 1) ** -1.2 * 0.9938 ** v["age_years"]
    egfr = round(egfr * (1.012 if female else 1))
    bands = ((15, "stage G5"), (30, "stage G4"), (45, "stage G3b"), (60, "stage G3a"), (90, "stage G2"))
    return egfr, _band(egfr, bands, "stage G1")


def _points(points: Mapping[str, float], v: Values) -> float:
    return sum(worth for name, worth in points.items() if v[name])


CHADS_POINTS = {
    "heart_failure": 1,
    "hypertension": 1,
    "diabetes": 1,
    "stroke_or_tia_or_embolism": 2,
    "vascular_disease": 1,
}
HAS_BLED_POINTS = {
    "uncontrolled_hypertension": 1,
    "abnormal_kidney_function": 1,
    "abnormal_liver_function": 1,
    "stroke_history": 1,
    "bleeding_history_or_tendency": 1,
    "labile_inr": 1,
    "antiplatelets_or_nsaids": 1,
    "alcohol_excess": 1,
}
WELLS_DVT_POINTS = {
    "active_cancer": 1,
    "paralysis_or_leg_immobilised": 1,
    "bedridden_3_days_or_surgery_12_weeks": 1,
    "tenderness_along_deep_veins": 1,
    "entire_leg_swollen": 1,
    "calf_swelling_over_3_cm": 1,
    "pitting_oedema": 1,
    "collateral_superficial_veins": 1,
    "previous_dvt": 1,
    "other_diagnosis_as_likely": -2,
}
WELLS_PE_POINTS = {
    "signs_of_dvt": 3,
    "pe_most_likely_diagnosis": 3,
    "heart_rate_over_100": 1.5,
    "immobilised_or_surgery_4_weeks": 1.5,
    "previous_dvt_or_pe": 1.5,
    "coughing_blood": 1,
    "cancer": 1,
}


def _cha2ds2_vasc(v: Values) -> tuple[float, str]:
    age = 2 if v["age_years"] >= 75 else 1 if v["age_years"] >= 65 else 0
    score = _points(CHADS_POINTS, v) + age + (v["sex"] == "female")
    return score, "points of 9 for the risk of stroke in atrial fibrillation"


def _has_bled(v: Values) -> tuple[float, str]:
    score = _points(HAS_BLED_POINTS, v) + (v["age_years"] > 65)
    return score, "high risk of bleeding" if score >= 3 else "low to moderate risk of bleeding"


def _wells_dvt(v: Values) -> tuple[float, str]:
    score = _points(WELLS_DVT_POINTS, v)
    return score, "deep vein thrombosis likely" if score >= 2 else "deep vein thrombosis unlikely"


def _wells_pe(v: Values) -> tuple[float, str]:
    score = _points(WELLS_PE_POINTS, v)
    return score, "pulmonary embolism likely" if score > 4 else "pulmonary embolism unlikely"


def _curb_65(v: Values) -> tuple[float, str]:
    score = (
        v["confusion"]
        + (v["urea_mmol_l"] > 7)
        + (v["breaths_per_minute"] >= 30)
        + (v["systolic_mmhg"] < 90 or v["diastolic_mmhg"] <= 60)
        + (v["age_years"] >= 65)
    )
    return score, _band(score, ((2, "low severity"), (3, "moderate severity")), "high severity")


def _qsofa(v: Values) -> tuple[float, str]:
    score = (v["breaths_per_minute"] >= 22) + v["altered_mental_state"] + (v["systolic_mmhg"] <= 100)
    return score, "positive: higher risk of a poor outcome with infection" if score >= 2 else "negative"


def _meld_na(v: Values) -> tuple[float, str]:
    creatinine = 4.0 if v["dialysis_twice_last_week"] else min(max(v["creatinine_mg_dl"], 1.0), 4.0)
    bilirubin, inr = max(v["bilirubin_mg_dl"], 1.0), max(v["inr"], 1.0)
    initial = 0.957 * math.log(creatinine) + 0.378 * math.log(bilirubin) + 1.120 * math.log(inr) + 0.643
    meld: float = round(initial * 10)
    if meld > 11:
        lack = 137 - min(max(v["sodium_mmol_l"], 125), 137)
        meld = meld + 1.32 * lack - 0.033 * meld * lack
    return min(round(meld), 40), "points from 6 to 40 for the severity of liver disease"


def _glasgow(v: Values) -> tuple[float, str]:
    score = v["eye"] + v["verbal"] + v["motor"]
    return score, _band(score, ((9, "severe"), (13, "moderate")), "mild or no impairment of consciousness")


def _anion_gap(v: Values) -> tuple[float, str]:
    return round(v["sodium_mmol_l"] - v["chloride_mmol_l"] - v["bicarbonate_mmol_l"], 1), "anion gap without potassium"


def _corrected_calcium(v: Values) -> tuple[float, str]:
    return round(v["calcium_mg_dl"] + 0.8 * (4.0 - v["albumin_g_dl"]), 2), "calcium corrected for albumin"


SODIUM = _number("sodium_mmol_l", "mmol/L", 90, 200)
BODY = (WEIGHT, HEIGHT)

SCORES = {
    score.name: score
    for score in (
        Score("bmi", "Body mass index", "kg/m²", BODY, _bmi, "WHO Technical Report Series 894 (2000)"),
        Score("bsa", "Body surface area", "m²", BODY, _bsa, "Mosteller, N Engl J Med 1987;317:1098"),
        Score(
            "creatinine_clearance",
            "Creatinine clearance (Cockcroft-Gault)",
            "mL/min",
            (AGE, SEX, WEIGHT, CREATININE),
            _creatinine_clearance,
            "Cockcroft and Gault, Nephron 1976;16:31-41",
        ),
        Score(
            "egfr",
            "eGFR (CKD-EPI 2021)",
            "mL/min per 1.73 m²",
            (AGE, SEX, CREATININE),
            _egfr,
            "Inker et al., N Engl J Med 2021;385:1737-1749",
        ),
        Score(
            "cha2ds2_vasc",
            "CHA2DS2-VASc",
            "points",
            (AGE, SEX, *_yes_no(*CHADS_POINTS)),
            _cha2ds2_vasc,
            "Lip et al., Chest 2010;137:263-272",
        ),
        Score(
            "has_bled",
            "HAS-BLED",
            "points",
            (AGE, *_yes_no(*HAS_BLED_POINTS)),
            _has_bled,
            "Pisters et al., Chest 2010;138:1093-1100",
        ),
        Score(
            "wells_dvt",
            "Wells score for deep vein thrombosis",
            "points",
            _yes_no(*WELLS_DVT_POINTS),
            _wells_dvt,
            "Wells et al., N Engl J Med 2003;349:1227-1235",
        ),
        Score(
            "wells_pe",
            "Wells score for pulmonary embolism",
            "points",
            _yes_no(*WELLS_PE_POINTS),
            _wells_pe,
            "Wells et al., Thromb Haemost 2000;83:416-420",
        ),
        Score(
            "curb_65",
            "CURB-65",
            "points",
            (AGE, *_yes_no("confusion"), _number("urea_mmol_l", "mmol/L", 0.5, 100), BREATHS, SYSTOLIC, DIASTOLIC),
            _curb_65,
            "Lim et al., Thorax 2003;58:377-382",
        ),
        Score(
            "qsofa",
            "qSOFA",
            "points",
            (BREATHS, *_yes_no("altered_mental_state"), SYSTOLIC),
            _qsofa,
            "Singer et al., JAMA 2016;315:801-810",
        ),
        Score(
            "meld_na",
            "MELD-Na",
            "points",
            (
                CREATININE,
                _number("bilirubin_mg_dl", "mg/dL", 0.1, 80),
                _number("inr", "", 0.5, 20),
                SODIUM,
                *_yes_no("dialysis_twice_last_week"),
            ),
            _meld_na,
            "OPTN policy 9 (2016); Kim et al., N Engl J Med 2008;359:1018-1026",
        ),
        Score(
            "glasgow",
            "Glasgow Coma Scale",
            "points",
            (
                Input("eye", "number", "points", 1, 4, whole=True),
                Input("verbal", "number", "points", 1, 5, whole=True),
                Input("motor", "number", "points", 1, 6, whole=True),
            ),
            _glasgow,
            "Teasdale and Jennett, Lancet 1974;304:81-84",
        ),
        Score(
            "anion_gap",
            "Anion gap",
            "mmol/L",
            (
                SODIUM,
                _number("chloride_mmol_l", "mmol/L", 50, 160),
                _number("bicarbonate_mmol_l", "mmol/L", 1, 60),
            ),
            _anion_gap,
            "Emmett and Narins, Medicine 1977;56:38-54",
        ),
        Score(
            "corrected_calcium",
            "Calcium corrected for albumin",
            "mg/dL",
            (_number("calcium_mg_dl", "mg/dL", 2, 25), _number("albumin_g_dl", "g/dL", 0.5, 7)),
            _corrected_calcium,
            "Payne et al., Br Med J 1973;4:643-646",
        ),
    )
}
