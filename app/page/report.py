"""A job's report: one file that opens offline and prints, with everything that is said of the answer."""

from importlib.metadata import version
from pathlib import Path

from app.page.api import Api, at_once
from app.page.figures import Json, new_first, posterior_of, read_draws, sizes_of, trace_of, tree_of
from app.page.rendering import templates
from app.page.views.chains import diagnosis_of, flat
from app.page.views.of_job import job_name
from app.page.views.result import agreement, facts, portraits_of
from app.plots.style import STYLE

MOST_EXAMPLES = 100  # categories with documents that stand for them
LOOK = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")


async def read_report(api: Api, job_id: str) -> Json:
    """Everything that the report of a job says. Raises Refused."""
    job, answer, tree = await api.get_all(*(f"/v1/jobs/{job_id}{part}" for part in ("", "/categories", "/tree")))
    corpus, draws = await at_once(api.get(f"/v1/corpora/{job['corpus_id']}"), read_draws(api, job))
    ordered = new_first(answer["categories"])
    details = await portraits_of(api, job_id, ordered[:MOST_EXAMPLES], {})
    examples = {each["category"]: each["representative"] or [] for each in details}
    return {
        "job": job, "answer": answer, "corpus": corpus, "tree": tree, "draws": draws, "examples": examples,
        "categories": ordered,
    }  # fmt: skip


def write_report(read: Json) -> str:
    """The report as HTML, which is the same whenever it is written."""
    job, answer = read["job"], read["answer"]
    plots = {
        "posterior": posterior_of(answer),
        "sizes": sizes_of(read["categories"]),
        "tree": tree_of(read["tree"], read["categories"]),
        "trace": trace_of(job, read["draws"]),
    }
    return templates().get_template("report.html").render(
        **read, plots=plots, facts=facts(answer), name=job_name(job), agreement=agreement,
        settings=list(flat(job["settings"])), diagnosis=diagnosis_of(job, answer),
        version=version("newfound"), style=f"{STYLE}\n{LOOK}",
    )  # fmt: skip
