"""Watching a job: how far it is, its trace, whether its chains agree, and what can be done with it."""

from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import Request, Response

from app.core.kinds import MODELS
from app.core.runs import UNFINISHED
from app.page.api import Api, PublicApi
from app.page.diagnosis import LEVELS, MOST_CHAINS, VERDICTS, findings
from app.page.progress_words import announcement_of, is_live, memory, sentence_of, steps_of
from app.page.rendering import page_router
from app.page.views.of_job import has_results, job_page

router = page_router()

MOST_ROWS = 100  # of a table of categories; the API has them all
CHAIN_STATES = {"waiting": "not yet", "ready": "waits for a worker", "running": "sampling", "done": "done"}
SIDES = (("extension", "extension", "extension"), ("power_test", "power-test", "power test"))


@router.get("/jobs/{job_id}/chains")
async def chains(request: Request, api: PublicApi, job_id: str) -> Response:
    """The chains of a job, while it runs and afterwards."""
    job = await api.get(f"/v1/jobs/{job_id}")
    answer = await api.get_or_none(f"/v1/jobs/{job_id}/categories") if has_results(job) else None
    hidden = await hidden_categories(api, job)
    return await job_page(
        request, api, job_id, "chains.html", "Chains",
        job=job,
        model=MODELS[job["settings"]["model"]],
        watched=any(map(is_live, (job, job["extension"], job["power_test"]))),
        sentence=sentence_of(job),
        announcement=" ".join(
            [announcement_of(job), *(announcement_of(job[name], title) for name, _, title in SIDES if job[name])]
        ),
        steps=steps_of(job),
        sides=[side for side in (side_run(job, *names) for names in SIDES) if side],
        sides_first=any(job[name] and job[name]["status"] != "succeeded" for name, _, _ in SIDES),
        chain_rows=chain_rows(job),
        last_sweep=max(job["settings"]["sweeps"], (job["extension"] or {}).get("sweeps") or 0),
        actions=actions_of(job),
        memory=memory(job["forecast"]["peak_bytes"]),
        answer=answer,
        diagnosis=diagnosis_of(job, answer),
        hidden=hidden,
        rates=list(((answer or {}).get("calibration") or {}).get("labeling_rates", {}).items())[:MOST_ROWS],
        settings=list(flat(job["settings"])),
        MOST_ROWS=MOST_ROWS,
    )  # fmt: skip


async def hidden_categories(api: Api, job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the power test has found so far, what it missed first; nothing if there was no test."""
    if job["power_test"] is None:
        return []
    found = await api.get(f"/v1/jobs/{job['id']}/power-test")
    return sorted(found["categories"], key=lambda each: each["noticed"])


def side_run(job: Mapping[str, Any], name: str, address: str, title: str) -> dict[str, Any] | None:
    """A side run of a job with its sentence and what can be done with it; None if there is none."""
    run = job[name]
    if run is None:
        return None
    base = f"/v1/jobs/{job['id']}/{address}"
    return {"name": name, "title": title, "run": run, "sentence": sentence_of(run), "actions": stops(run, base)}


def chain_rows(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The chains of a job; while it is extended, those of the extension, which go on."""
    extension = job["extension"]
    run = extension if is_live(extension) else job
    states = CHAIN_STATES if is_live(run) else {"done": "done"}
    return [{**row, "state": states.get(row["status"], "stopped")} for row in run["progress"]["chains"]]


def stops(run: Mapping[str, Any], base: str) -> list[tuple[str, str]]:
    """Which of pause, cancel and resume the state of a run allows, each with the address that is asked for it."""
    status = run["status"]
    allowed = {
        "pause": is_live(run),
        "resume": status in ("paused", "failed", "cancelled"),
        "cancel": status in UNFINISHED,
    }
    return [(verb, f"POST {base}/{verb}") for verb, is_allowed in allowed.items() if is_allowed]


def actions_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """What the state of a job allows, as docs/api.md says."""
    model = MODELS[job["settings"]["model"]]
    succeeded, is_kept = job["status"] == "succeeded", job["expired_at"] is None
    extension, test = job["extension"], job["power_test"]
    sides = [run["status"] for run in (extension, test) if run is not None]
    extending = extension is not None and extension["status"] in UNFINISHED
    return {
        "stops": stops(job, f"/v1/jobs/{job['id']}") if is_kept else [],
        "extend": is_kept and succeeded and (extension is None or extension["status"] == "succeeded"),
        "test": is_kept and succeeded and model.has_power_test and test is None,
        "continue": is_kept and model.can_continue and succeeded and not extending,
        "wait": model.can_continue and (extending or job["status"] in UNFINISHED),
        "delete": not any(status in UNFINISHED for status in (job["status"], *sides)),
    }


def diagnosis_of(job: Mapping[str, Any], answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The verdict about an answer and what it rests on; None if there is no answer, or no verdict about it."""
    told = answer and answer["diagnostics"]
    if not told:
        return None
    n_chains = len(told["agreement"])
    settings = job["settings"]
    return {
        "level": LEVELS[told["verdict"]],
        "verdict": told["verdict"],
        "sentence": VERDICTS[told["verdict"]],
        "reasons": told["reasons"],
        "findings": findings(told, (settings["sweeps"] - settings["burn_in"]) * n_chains, n_chains),
        "agreement": told["agreement"] if 1 < n_chains <= MOST_CHAINS else [],
    }


def flat(settings: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, str]]:
    """Settings that are set, by their names, `calibrated.power` within `calibrated`."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{within}{name}.")
        elif value is not None:
            yield f"{within}{name}", ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
