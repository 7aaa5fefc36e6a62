"""Reference cases worked out by hand from the published definitions, edges of every band, and refusals."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from backend.citations import Citation
from backend.errors import ToolFailed
from backend.extensions.medical.calculator import (
    CHADS_POINTS,
    HAS_BLED_POINTS,
    SCORES,
    WELLS_DVT_POINTS,
    WELLS_PE_POINTS,
    medical_calculator,
)
from backend.tools.base import EVERYONE
from tests.support.agents import toolbox
from tests.support.consent import tool_context
from tests.support.examples import examples


def none_of(points: dict[str, Any], **given: Any) -> dict[str, Any]:
    return dict.fromkeys(points, False) | given


def of(score: str, *given: Any, **more: Any) -> dict[str, Any]:
    """The inputs of a score, in their order, and further ones."""
    return dict(zip(SCORES[score].inputs, given, strict=True)) | more


def news2(**given: float) -> dict[str, Any]:
    """Observations without a single point, except for those given."""
    nothing = {
        "breaths_per_minute": 12,
        "oxygen_saturation_percent": 96,
        "hypercapnic_respiratory_failure": False,
        "supplemental_oxygen": False,
        "systolic_mmhg": 111,
        "pulse_per_minute": 51,
        "alert_and_not_newly_confused": True,
        "temperature_celsius": 36.1,
    }
    assert set(given) <= set(nothing)
    return nothing | given


CASES: list[tuple[str, dict[str, Any], float, str]] = [
    ("bmi", of("bmi", 70, 175), 22.9, "normal weight"),
    ("bmi", of("bmi", 100, 180), 30.9, "obesity"),
    ("bmi", of("bmi", 72.25, 170), 25.0, "overweight"),
    ("bmi", of("bmi", 50, 170), 17.3, "underweight"),
    ("bsa", of("bmi", 70, 175), 1.84, ""),
    ("bsa", of("bmi", 80, 180), 2.0, ""),
    ("bsa", of("bmi", 10, 76), 0.46, ""),
    ("creatinine_clearance", of("egfr", 60, "male", 1.0, weight_kg=72), 80, ""),
    ("creatinine_clearance", of("egfr", 60, "female", 1.0, weight_kg=72), 68, ""),
    ("creatinine_clearance", of("egfr", 80, "male", 2.0, weight_kg=60), 25, ""),
    ("egfr", of("egfr", 50, "male", 1.0), 92, "stage G1"),
    ("egfr", of("egfr", 50, "female", 1.0), 69, "stage G2"),
    ("egfr", of("egfr", 60, "female", 0.8), 84, "stage G2"),
    ("egfr", of("egfr", 70, "male", 2.5), 27, "stage G4"),
    ("egfr", of("egfr", 30, "female", 0.6), 124, "stage G1"),
    ("cha2ds2_vasc", none_of(CHADS_POINTS, age_years=40, sex="male"), 0, ""),
    ("cha2ds2_vasc", none_of(CHADS_POINTS, age_years=64, sex="female"), 1, ""),
    ("cha2ds2_vasc", none_of(CHADS_POINTS, age_years=65, sex="male"), 1, ""),
    ("cha2ds2_vasc", none_of(CHADS_POINTS, age_years=75, sex="male"), 2, ""),
    ("cha2ds2_vasc", none_of(CHADS_POINTS, age_years=70, sex="female", stroke_or_tia_or_embolism=True), 4, ""),
    ("cha2ds2_vasc", dict.fromkeys(CHADS_POINTS, True) | {"age_years": 80, "sex": "female"}, 9, ""),
    ("has_bled", none_of(HAS_BLED_POINTS, age_years=65), 0, "low to moderate"),
    ("has_bled", none_of(HAS_BLED_POINTS, age_years=66, labile_inr=True), 2, "low to moderate"),
    ("has_bled", none_of(HAS_BLED_POINTS, age_years=66, labile_inr=True, alcohol_excess=True), 3, "high"),
    ("has_bled", dict.fromkeys(HAS_BLED_POINTS, True) | {"age_years": 70}, 9, "high"),
    ("wells_dvt", none_of(WELLS_DVT_POINTS), 0, "unlikely"),
    ("wells_dvt", none_of(WELLS_DVT_POINTS, active_cancer=True, pitting_oedema=True), 2, "likely"),
    ("wells_dvt", none_of(WELLS_DVT_POINTS, other_diagnosis_as_likely=True), -2, "unlikely"),
    ("wells_dvt", dict.fromkeys(WELLS_DVT_POINTS, True) | {"other_diagnosis_as_likely": False}, 9, "likely"),
    ("wells_pe", none_of(WELLS_PE_POINTS), 0, "unlikely"),
    ("wells_pe", none_of(WELLS_PE_POINTS, signs_of_dvt=True, cancer=True), 4, "unlikely"),
    ("wells_pe", none_of(WELLS_PE_POINTS, signs_of_dvt=True, heart_rate_over_100=True), 4.5, "likely"),
    ("wells_pe", dict.fromkeys(WELLS_PE_POINTS, True), 12.5, "likely"),
    ("curb_65", of("curb_65", 40, False, 7.0, 29, 90, 61), 0, "low"),
    ("curb_65", of("curb_65", 65, False, 7.1, 29, 90, 61), 2, "moderate"),
    ("curb_65", of("curb_65", 64, False, 7.0, 30, 89, 61), 2, "moderate"),
    ("curb_65", of("curb_65", 40, False, 7.0, 29, 90, 60), 1, "low"),
    ("curb_65", of("curb_65", 80, True, 20, 35, 80, 40), 5, "high"),
    ("qsofa", of("qsofa", 21, False, 101), 0, "negative"),
    ("qsofa", of("qsofa", 22, False, 101), 1, "negative"),
    ("qsofa", of("qsofa", 22, False, 100), 2, "positive"),
    ("qsofa", of("qsofa", 30, True, 80), 3, "positive"),
    ("meld_na", of("meld_na", 1.0, 1.0, 1.0, 140, False), 6, ""),
    ("meld_na", of("meld_na", 0.5, 0.3, 0.9, 140, False), 6, ""),
    ("meld_na", of("meld_na", 2.0, 3.0, 1.5, 137, False), 22, ""),
    ("meld_na", of("meld_na", 2.0, 3.0, 1.5, 130, False), 26, ""),
    ("meld_na", of("meld_na", 2.0, 3.0, 1.5, 120, False), 29, ""),
    ("meld_na", of("meld_na", 9.0, 40.0, 6.0, 120, False), 40, ""),
    ("meld_na", of("meld_na", 1.0, 1.0, 1.0, 120, True), 28, ""),
    ("news2", news2(), 0, "low clinical risk"),
    ("news2", news2(pulse_per_minute=131), 3, "low to medium"),
    ("news2", news2(pulse_per_minute=91, breaths_per_minute=21, systolic_mmhg=110), 4, "low clinical risk"),
    ("news2", news2(supplemental_oxygen=True, temperature_celsius=39.1, pulse_per_minute=91), 5, "medium clinical"),
    ("news2", news2(supplemental_oxygen=True, breaths_per_minute=25, oxygen_saturation_percent=93), 7, "high"),
    (
        "news2",
        news2(
            breaths_per_minute=25,
            oxygen_saturation_percent=91,
            supplemental_oxygen=True,
            systolic_mmhg=90,
            pulse_per_minute=131,
            alert_and_not_newly_confused=False,
            temperature_celsius=35.0,
        ),
        20,
        "high",
    ),
    ("fib_4", of("fib_4", 40, 50, 100, 200), 1.0, "unlikely"),
    ("fib_4", of("fib_4", 29, 100, 100, 200), 1.45, "indeterminate"),
    ("fib_4", of("fib_4", 65, 100, 100, 200), 3.25, "indeterminate"),
    ("fib_4", of("fib_4", 66, 100, 100, 200), 3.3, "liver fibrosis likely"),
    ("glasgow", of("glasgow", 4, 5, 6), 15, "mild"),
    ("glasgow", of("glasgow", 3, 4, 6), 13, "mild"),
    ("glasgow", of("glasgow", 3, 3, 6), 12, "moderate"),
    ("glasgow", of("glasgow", 2, 2, 4), 8, "severe"),
    ("glasgow", of("glasgow", 1, 1, 1), 3, "severe"),
    ("anion_gap", {"sodium_mmol_l": 140, "chloride_mmol_l": 104, "bicarbonate_mmol_l": 24}, 12, ""),
    ("corrected_calcium", {"calcium_mg_dl": 8.0, "albumin_g_dl": 2.0}, 9.6, ""),
]


@pytest.mark.parametrize(("score", "values", "value", "meaning"), CASES)
async def test_a_reference_case_has_its_value(score: str, values: dict[str, Any], value: float, meaning: str) -> None:
    result = await medical_calculator(score, values)
    assert result.data["value"] == value
    assert meaning in result.data["meaning"]


@pytest.mark.document("000", "eight tools")
async def test_a_score_is_given_with_its_unit_and_its_meaning() -> None:
    bmi = await medical_calculator("bmi", {"weight_kg": 80, "height_cm": 180})
    assert bmi.spoken == "The body mass index is 24.7 kg/m²: normal weight."
    curb = await medical_calculator("curb_65", of("curb_65", 80, False, 7.0, 29, 90, 61))
    assert curb.spoken.startswith("The CURB-65 is 1 points: ")


@pytest.mark.parametrize(
    ("finding", "chart"),
    [
        ("breaths_per_minute", {8: 3, 9: 1, 11: 1, 12: 0, 20: 0, 21: 2, 24: 2, 25: 3}),
        ("oxygen_saturation_percent", {91: 3, 92: 2, 93: 2, 94: 1, 95: 1, 96: 0}),
        ("systolic_mmhg", {90: 3, 91: 2, 100: 2, 101: 1, 110: 1, 111: 0, 219: 0, 220: 3}),
        ("pulse_per_minute", {40: 3, 41: 1, 50: 1, 51: 0, 90: 0, 91: 1, 110: 1, 111: 2, 130: 2, 131: 3}),
        ("alert_and_not_newly_confused", {True: 0, False: 3}),
        ("temperature_celsius", {35.0: 3, 35.1: 1, 36.0: 1, 36.1: 0, 38.0: 0, 38.1: 1, 39.0: 1, 39.1: 2}),
    ],
)
def test_news2_follows_the_published_chart(finding: str, chart: dict[float, int]) -> None:
    score = SCORES["news2"].calculate
    assert {value: score(news2(**{finding: value}))[0] for value in chart} == chart


@pytest.mark.parametrize(
    ("oxygen", "chart"),
    [
        (False, {83: 3, 84: 2, 85: 2, 86: 1, 87: 1, 88: 0, 92: 0, 93: 0, 100: 0}),
        (True, {83: 5, 84: 4, 86: 3, 88: 2, 92: 2, 93: 3, 94: 3, 95: 4, 96: 4, 97: 5}),
    ],
)
def test_news2_has_another_scale_of_saturation_in_hypercapnic_failure(oxygen: bool, chart: dict[float, int]) -> None:
    def points(saturation: float) -> float:
        given = {"hypercapnic_respiratory_failure": True, "supplemental_oxygen": oxygen}
        return SCORES["news2"].calculate(news2(**given, oxygen_saturation_percent=saturation))[0]

    assert {value: points(value) for value in chart} == chart


def test_every_score_has_reference_cases_a_source_and_a_unit() -> None:
    assert {case[0] for case in CASES} == set(SCORES)
    assert len(SCORES) == 16
    assert all(score.source and score.unit and score.inputs for score in SCORES.values())


@pytest.mark.parametrize(
    ("score", "values", "complaint"),
    [
        ("nonsense", {}, "There is no score"),
        ("bmi", {"weight_kg": 70.0}, "height_cm: Field required"),
        ("bmi", of("bmi", 70, 175) | {"age": 3.0}, "age: "),
        ("bmi", of("bmi", 70, 1.75), "height_cm: .* 40"),
        ("bmi", of("bmi", float("nan"), 175), "weight_kg"),
        ("bmi", {"weight_kg": True, "height_cm": 175}, "weight_kg"),
        ("egfr", of("egfr", 17, "male", 1.0), "age_years"),
        ("egfr", of("egfr", 50, "other", 1.0), "'female' or 'male'"),
        ("glasgow", of("glasgow", 4, 6, 6), "verbal"),
        ("glasgow", of("glasgow", 1.5, 2, 3), "eye"),
        (
            "qsofa",
            {"breaths_per_minute": 20, "altered_mental_state": 1.0, "systolic_mmhg": 100},
            "altered_mental_state",
        ),
    ],
)
async def test_an_impossible_computation_is_refused_with_the_reason(
    score: str, values: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ToolFailed, match=complaint) as caught:
        await medical_calculator(score, values)
    assert not caught.value.retryable


async def test_json_keeps_booleans_apart_from_numbers() -> None:
    arguments = json.dumps({"score": "qsofa", "values": of("qsofa", 22, True, 100)})
    result = await toolbox(medical_calculator).run("medical_calculator", arguments, tool_context("ada"))
    content = json.loads(result.content)
    assert content["value"] == 3
    assert content["inputs"]["altered_mental_state"] is True
    assert result.citations == (Citation("qSOFA: Singer et al., JAMA 2016;315:801-810"),)


def within(kind: Any) -> st.SearchStrategy[Any]:
    form = TypeAdapter(kind).json_schema()
    if form["type"] != "number":
        return st.from_type(kind)
    floats = st.floats(form["minimum"], form["maximum"])
    return floats.map(round) if "multipleOf" in form else floats


@examples(100)
@given(st.data())
def test_every_value_in_range_gives_a_number(data: st.DataObject) -> None:
    score = data.draw(st.sampled_from(list(SCORES.values())))
    value, meaning = score.calculate({name: data.draw(within(kind)) for name, kind in score.inputs.items()})
    assert value == value and abs(value) < 1e6
    assert meaning


def test_a_score_is_computed_for_programs_of_others_too() -> None:
    assert medical_calculator.__tool__.clients == EVERYONE  # type: ignore[attr-defined]
