"""How far a job is, in words: the steps on its way, and one sentence about where it is."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from app.core.kinds import UNIT_KINDS, UnitKind, preparations
from app.core.runs import LIVE
from app.page.rendering import duration, number, plural, sentence_case

Run = Mapping[str, Any]  # a job or a side run, as the API has it


class StageWords(NamedTuple):
    """A stage as a step, what happens in it, and how it is said of a job that is at it."""

    step: str
    what: str
    doing: str


STAGES: Mapping[str, StageWords] = {
    "encode": StageWords("Encode", "texts become words", "encoding the texts"),
    "vectors": StageWords("Vectors", "texts become vectors", "preparing the vectors of the texts"),
    "atoms": StageWords("Find groups", "small groups of similar documents", "finding groups of similar documents"),
    "calibrate": StageWords("Learn", "from the labels", "learning from the labels"),
    "sample": StageWords("Sample", "categories, sweep by sweep", "sampling"),
    "conclude": StageWords("Conclude", "the answer is written", "concluding: the answer is being written"),
    "power": StageWords("Test", "hide each known category in turn", "hiding each known category in turn"),
}


class Step(NamedTuple):
    """A step on the way of a job, and whether it is done, present or ahead."""

    name: str
    what: str
    state: Literal["done", "present", "ahead"]


def steps_of(job: Run) -> list[Step]:
    """The steps of a job's main run, in order."""
    stages = [UNIT_KINDS[kind].stage for kind in kinds_of(job["settings"])]
    present = job["progress"]["stage"]
    at = stages.index(present) if present in stages else len(stages)
    return [
        Step(STAGES[stage].step, STAGES[stage].what, "done" if i < at else "present" if i == at else "ahead")
        for i, stage in enumerate(stages)
    ]


def kinds_of(settings: Mapping[str, Any]) -> list[UnitKind]:
    """The kinds of units that a job with these settings has."""
    return [UnitKind.ENCODE, *preparations(settings), UnitKind.CHAIN, UnitKind.CONCLUDE]


def is_live(run: Run | None) -> bool:
    """Whether a run is queued or running."""
    return run is not None and run["status"] in LIVE


def sentence_of(run: Run) -> str:
    """Where a run is: what it does, how much of that is done, and how long it will take."""
    progress = run["progress"]
    amount = amount_of(progress)
    doing = doing_of(progress)
    match run["status"]:
        case "queued":
            return "Waiting for a worker." if not amount else f"Waiting for a worker, after {amount}."
        case "running":
            return f"{sentence_case(doing)}{f': {amount}' if amount else ''}.{left_of(progress)}"
        case "paused":
            return f"Paused while {doing}{f', after {amount}' if amount else ''}. Resume continues from there."
        case "cancelled":
            return f"Cancelled while {doing}{f', after {amount}' if amount else ''}. What was drawn is kept."
        case "failed":
            return f"Failed while {doing}{f', after {amount}' if amount else ''}."
    return "Done."


def announcement_of(run: Run, what: str = "job") -> str:
    """The same without numbers: what a screen reader says only when it changes."""
    match run["status"]:
        case "queued":
            return f"The {what} is waiting for a worker."
        case "running":
            return f"The {what} is {doing_of(run['progress'])}."
        case "failed" | "succeeded" as ended:
            return f"The {what} has {ended}."
    return f"The {what} is {run['status']}."


def doing_of(progress: Mapping[str, Any]) -> str:
    """What is done in the present stage."""
    words = STAGES.get(progress["stage"])
    return words.doing if words else "concluding"


def amount_of(progress: Mapping[str, Any]) -> str:
    """How much of the present stage is done, if that is counted."""
    if progress["stage"] == "sample":
        return f"{number(progress['sweeps_done'])} of {plural(progress['sweeps_total'], 'sweep')}"
    if progress["steps_total"]:
        return f"{number(progress['steps_done'])} of {plural(progress['steps_total'], 'step')}"
    return ""


def left_of(progress: Mapping[str, Any]) -> str:
    """How long it will take, if that is known."""
    left = progress["seconds_left"]
    return "" if left is None else f" About {duration(left)} left."


def memory(n_bytes: int) -> str:
    """An amount of memory as people say it."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(n_bytes / 1e6, 1):.0f} MB"
