"""A job's answers against gold labels, which are uploaded for this and not stored."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.orm import Session, sessionmaker

from app.core.errors import JobNotFound, MalformedRequest, ResultsNotReady, UnsupportedUpload, UploadTooLarge
from app.core.tables import Job
from app.http.dependencies import JobId, Readers, ServiceSettings, problems
from app.http.files import file_body, look_at, received, with_form
from app.http.long_answers import written
from app.http.routers.results import find_concluded_job
from app.http.shown import Wanted
from app.review.shown import Shown
from app.schemas.scores import GoldChoices, MatchedOut, ScoreOut
from app.scores import gold
from app.scores.by_number import score_numbers
from app.scores.gold import Gold
from app.scores.measures import measure
from app.uploads import intake
from app.uploads.formats.reading import Reading
from app.uploads.rows import BadLine, Row

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])

EXAMPLE = "key,label\npaper-812,plasma\npaper-813,optics\n"
GOLD_BODY = file_body(
    "GoldForm",
    "A file of keys and labels, in any format of uploads that has keys: as the part `file` of a form, or as the body "
    "under whatever content type it has. Both may be compressed with gzip.",
    EXAMPLE,
    "text/csv",
)


@router.put("/score", include_in_schema=False)  # `curl -T FILE` says PUT
@router.post(
    "/score",
    operation_id="score_job",
    summary="Score the answers against gold labels",
    response_model=ScoreOut,
    responses=problems(JobNotFound, ResultsNotReady, UploadTooLarge, UnsupportedUpload, MalformedRequest),
    openapi_extra=GOLD_BODY,
)
async def score_job(
    job_id: JobId,
    request: Request,
    readers: Readers,
    settings: ServiceSettings,
    choices: Annotated[GoldChoices, Query()],
) -> Response:
    """Score the answers against gold labels from a file with the columns `key` and `label`. Nothing is stored.

    A gold label that is the name of a known category means that category; all others are new to the job. Scores are
    over the documents that have both a gold label and an answer.
    """
    await intake.patiently(partial(concluded, readers, job_id))
    async with received(request, settings) as spooled:
        choices = with_form(choices, spooled)
        reading = await intake.read(partial(look_at, spooled, choices, settings, needs_text=False))
        check_columns(reading)
        job, shown = await intake.patiently(partial(concluded, readers, job_id, decisions=choices.decisions))
        found = await read_gold(reading, job, shown, readers)
    return written(await to_thread.run_sync(partial(scored, readers, job, shown, found, reading, choices.all_cells)))


def concluded(readers: sessionmaker[Session], job_id: str, *, decisions: bool = True) -> tuple[Job, Shown]:
    """The job and what is shown of its answer. Raises JobNotFound, ResultsNotReady."""
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        return job, Wanted(None, decisions).show(session, job, counted=True)


def check_columns(reading: Reading) -> None:
    """Raise MalformedRequest unless the file has keys and labels."""
    for role in ("key", "label"):
        if reading.columns[role] is None:
            others = ", ".join(reading.columns["fields"][:20])
            named = f"; of its other columns, {others}, name the one that is, as in {role}=NAME" if others else ""
            raise MalformedRequest(f"the file has no column `{role}`, so its gold labels belong to nothing{named}")


async def read_gold(reading: Reading, job: Job, shown: Shown, readers: sessionmaker[Session]) -> Gold:
    """The gold labels beside the job's answers, batch by batch. Raises MalformedRequest."""
    names = gold.names_of(shown)
    found = Gold(names.names[: names.n_known])
    rows = reading.rows()
    while batch := await intake.read(partial(next_rows, rows)):
        await intake.patiently(partial(look_up, readers, job, shown, found, batch))
    return found


def next_rows(rows: Iterator[Row | BadLine]) -> list[Row | BadLine]:
    """The next rows; none at the end."""
    return list(islice(rows, gold.BATCH))


def look_up(
    readers: sessionmaker[Session], job: Job, shown: Shown, found: Gold, batch: list[Row | BadLine]
) -> None:  # fmt: skip
    """Put rows beside the answers for their documents."""
    with readers.begin() as session:
        answers = gold.answers(session, job, shown, batch)
    found.add(batch, answers)


def scored(
    readers: sessionmaker[Session], job: Job, shown: Shown, found: Gold, reading: Reading, all_cells: bool
) -> ScoreOut:  # fmt: skip
    """The answer to the request."""
    merged = gold.merged(found)
    measured = measure(merged.answered, gold.names_of(shown), all_cells=all_cells)
    n_scored = int(merged.answered.gold.size)
    n_answered = gold.count_answered(shown)
    with readers.begin() as session:
        contradictory_keys = gold.keys_of(session, merged.contradictory)
        numbers = score_numbers(session, job, merged, gold.names_of(shown).n_known)
    return ScoreOut(
        documents=MatchedOut(
            labels=merged.n_documents,
            scored=n_scored,
            without_answer=merged.n_without_answer,
            labeled=merged.n_labeled,
            missing=n_answered - n_scored - merged.n_contradictory_answered,
            unlabeled=found.n_unlabeled,
            unknown=found.n_unknown,
            contradictory=len(merged.contradictory),
            rejected=found.n_rejected,
        ),
        scores=measured.scores,
        undefined=measured.undefined,
        categories=measured.categories,
        known_categories=measured.known,
        new_categories=measured.new,
        numbers=numbers,
        confusion=measured.confusion,
        cells=measured.n_cells,
        unknown_keys=found.unknown_keys,
        contradictory_keys=contradictory_keys,
        errors=[{"line": line, "reason": reason} for line, reason in found.errors],
        format=reading.format,
        charset=reading.charset,
        delimiter=reading.delimiter,
        columns=reading.columns,
        warnings=reading.warnings,
    )
