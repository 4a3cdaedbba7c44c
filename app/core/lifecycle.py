"""Jobs and their units, from submit to the end: everything that changes a status.

    run:   queued -> running -> succeeded | failed | cancelled
           queued | running -> paused by pause, paused -> cancelled by cancel
           paused | cancelled | failed -> queued by resume
    unit:  waiting -> ready -> running -> done;  running -> ready when a leg ends or its lease runs out
           a chain's done -> ready and conclude's done -> waiting by extend; begin_power_test adds `power`

A job has a main run, whose status is the job's, and may have side runs once it has succeeded: an extension and a
power test, each with a status of its own. What becomes of them changes neither the job nor what it answered.

A unit's status tells how far its work is, whatever becomes of its run: under a run that has ended or is
paused a unit keeps its status, but nobody claims it. So a resumed run goes on from where it was.

What owners ask for stands here; what legs and reapers do stands in app.core.leases; how a run ends, in app.core.ends.
On PostgreSQL rows are locked in one order, units by id, then their job, then its side run, and a job before those that
continue it, so that no two of these functions wait for each other.
Nothing in either commits: the caller does, and calls for workers for the returned unit ids afterwards.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, case, func, or_, select, update
from sqlalchemy.orm import Session

from app.core.db import now
from app.core.ends import check_source, end_run, let_heirs_begin, unfinished_heir, unfinished_run, waits_for
from app.core.errors import (
    CorpusNotFound,
    JobFinished,
    JobNotContinuable,
    JobNotExtendable,
    JobNotFinished,
    JobNotFound,
    JobNotPausable,
    JobNotResumable,
    JobNotTestable,
    SideRunNotFound,
)
from app.core.kinds import MODELS, SIDE_KINDS, SideKind, UnitKind, n_chains, preparations
from app.core.leases import CALL_SECONDS
from app.core.runs import LIVE, UNFINISHED, Run, change
from app.core.splits import SPLIT
from app.core.tables import MAX_SWEEPS, Corpus, Document, Encoding, Job, SideRun, Unit, is_part_of, is_visible_job

MIN_KNOWN = 2  # categories that a job must know for that: hide the only one, and nothing says how fine to be
RESUMABLE = ("paused", "failed", "cancelled")
# Put together once, for whoever follows a job asks for it again and again.
VISIBLE_JOB = (
    select(Job).where(Job.id == bindparam("job_id"), is_visible_job()).execution_options(populate_existing=True)
)


def submit(
    session: Session, corpus_id: str, settings: Mapping[str, Any], warnings: Sequence[str] = ()
) -> tuple[Job, list[int]]:
    """Queue a job over the corpus as it is now; returns the job and the unit ids that call for workers.

    `settings["model"]`, `chains` and `n_categories` say which units there are. Raises CorpusNotFound.
    """
    version = lock_corpus(session, corpus_id)
    job = Job(id=str(uuid.uuid4()), corpus_id=corpus_id, corpus_version=version, settings=dict(settings))
    job.warnings = list(warnings)
    return job, queue(session, job)


def lock_corpus(session: Session, corpus_id: str) -> int:
    """The version of a corpus, which is not deleted before the transaction ends. Raises CorpusNotFound."""
    version = session.scalar(
        select(Corpus.version)
        .where(Corpus.id == corpus_id, Corpus.deleted_at.is_(None))
        .with_for_update(read=True, key_share=True)
    )
    if version is None:
        raise CorpusNotFound(f"there is no corpus {corpus_id}")
    return version


def queue(session: Session, job: Job, *, waits: bool = False) -> list[int]:
    """Queue a job that is not there yet, with its units; returns the ids of those that call for workers.

    One that waits for the job that it continues calls for none.
    """
    settings, job.status, job.chains = job.settings, "queued", n_chains(job.settings)
    job.owner = session.scalars(select(Corpus.owner).where(Corpus.id == job.corpus_id)).one()
    session.add(job)
    session.flush()
    lease_until = None if waits else now() + CALL_SECONDS
    status = "waiting" if waits else "ready"
    encode = Unit(job_id=job.id, kind=UnitKind.ENCODE, status=status, lease_until=lease_until)
    before = [Unit(job_id=job.id, kind=kind, status="waiting") for kind in preparations(settings)]
    chains = [Unit(job_id=job.id, kind=UnitKind.CHAIN, chain=c, status="waiting") for c in range(job.chains)]
    session.add_all([encode, *before, *chains, Unit(job_id=job.id, kind=UnitKind.CONCLUDE, status="waiting")])
    session.flush()
    return [] if waits else [encode.id]


def continue_job(session: Session, source_id: str, sweeps: int | None, *, wait: bool = False) -> tuple[Job, Job]:
    """A job that goes on from where another one is, over the corpus as it is now; returns both. See `queue`.

    The source stays as it is until the job has ended: its chains are read. Raises JobNotFound, or JobNotContinuable for
    a job whose model begins anew or that is of a comparison of methods, that has failed or was cancelled, one whose
    documents have been erased, or whose checkpoints have expired, or, unless the other is to `wait`, one that has not
    ended or is being extended.
    """
    lock(session, source_id)
    source = find_job(session, source_id)
    if not MODELS[source.settings["model"]].can_continue:
        raise JobNotContinuable(
            f"job {source_id} has the model {source.settings['model']}, which begins anew each time: submit a new job"
        )
    if SPLIT in source.settings:
        raise JobNotContinuable(f"job {source_id} is of a comparison of methods, in which labels are hidden from it")
    if source.status not in (*UNFINISHED, "succeeded"):
        raise JobNotContinuable(f"job {source_id} is {source.status}; resume it, and continue it then")
    if not wait and (run := unfinished_run(session, source)):
        raise JobNotContinuable(f"{run}; ask again when it has ended, or with `wait` for it to be continued then")
    if reason := why_final(session, source):
        raise JobNotContinuable(reason)
    corpus = find_corpus(session, source.corpus_id)
    settings = {**source.settings, **({} if sweeps is None else with_sweeps(source.settings, sweeps))}
    job = Job(id=str(uuid.uuid4()), corpus_id=corpus.id, corpus_version=corpus.version, settings=settings)
    job.continues = source_id
    return job, source


def with_sweeps(settings: Mapping[str, Any], sweeps: int) -> dict[str, int]:
    """Another number of sweeps, with as large a part of them for the burn-in."""
    return {"sweeps": sweeps, "burn_in": min(sweeps * settings["burn_in"] // settings["sweeps"], sweeps - 1)}


def pause(session: Session, run: Run) -> Job:
    """Pause a live run; its legs stop within a sweep and keep what they have. Returns its job.

    Raises JobNotFound, SideRunNotFound, or JobNotPausable if it is paused or has ended.
    """
    paused = change(session, run.update(LIVE).values(status="paused"))
    job, status = find_run(session, run)
    if not paused:
        raise JobNotPausable(f"{run} is {status}, not queued or running")
    return job


def cancel(session: Session, run: Run) -> Job:
    """Cancel a run, live or paused; its legs stop within a sweep and keep what they have. Returns its job.

    Raises JobNotFound, SideRunNotFound, or JobFinished if it has already ended.
    """
    cancelled = end_run(session, run, "cancelled", among=UNFINISHED)
    job, status = find_run(session, run)
    if not cancelled:
        raise JobFinished(f"{run} has already ended ({status})")
    return job


def resume(session: Session, run: Run) -> tuple[Job, list[int]]:
    """Queue a paused, cancelled or failed run again, to go on from where it was.

    Returns its job and the unit ids that call for workers. A leg that still winds down keeps its unit: it goes on
    if it has not yet seen the run stop, or else its release lets another claim it. Should it be dead, its lease
    runs out. Attempts are counted from the start. Raises JobNotFound, SideRunNotFound, or JobNotResumable for a run
    that is live or has succeeded.
    """
    if run.side is None and (source_id := waits_for(session, run.job_id)):
        lock(session, source_id)
        check_source(session, source_id)
        let_heirs_begin(session, source_id)
    is_part = Unit.side.is_(None) if run.side is None else Unit.side == run.side
    unit_ids = list(
        session.scalars(
            select(Unit.id)
            .where(Unit.job_id == run.job_id, is_part, Unit.status.in_(("ready", "running")))
            .order_by(Unit.id)
            .with_for_update()
        )
    )
    change(
        session,
        update(Unit)
        .where(Unit.id.in_(unit_ids))
        .values(
            attempts=0,
            lease_until=case((Unit.status == "ready", now() + CALL_SECONDS), else_=Unit.lease_until),
        ),
    )
    if run.side == SideKind.EXTENSION and (heir := unfinished_heir(session, run.job_id)):
        raise JobNotResumable(
            f"job {heir} continues job {run.job_id} from where it is; wait until it ends, or cancel it"
        )
    resumed = change(session, run.update(RESUMABLE).values(status="queued", error=None, finished_at=None))
    job, status = find_run(session, run)
    if not resumed:
        raise JobNotResumable(f"{run} is {status}, not paused, cancelled or failed")
    if reason := why_final(session, job):
        raise JobNotResumable(reason)
    return job, unit_ids


def extend(session: Session, job_id: str, sweeps: int) -> tuple[Job, list[int]]:
    """Begin an extension of a succeeded job: more sweeps of each chain.

    Returns the job and the unit ids that call for workers. Chains go on from where they were and the burn-in stays,
    so the job ends as if it had been submitted with all its sweeps. Raises JobNotFound, or JobNotExtendable for a job
    that has not succeeded, is being extended, or would have too many sweeps.
    """
    units = select(Unit.id).where(Unit.job_id == job_id, Unit.kind.in_(SIDE_KINDS[SideKind.EXTENSION]))
    # Locked before the job, as everywhere; of two that extend at once the second waits here.
    session.execute(units.order_by(Unit.id).with_for_update())
    lock(session, job_id)  # what deletes it, or lets it expire, has seen this extension, or is seen here
    job = find_job(session, job_id)
    total = job.settings["sweeps"] + sweeps
    if total > MAX_SWEEPS:
        raise JobNotExtendable(f"job {job_id} would have {total} sweeps, more than {MAX_SWEEPS}")
    if job.status != "succeeded":
        raise JobNotExtendable(f"job {job_id} is {job.status}; only a succeeded job can be extended")
    if reason := why_final(session, job):
        raise JobNotExtendable(reason)
    if heir := unfinished_heir(session, job_id):
        raise JobNotExtendable(f"job {heir} continues job {job_id} from where it is; wait until it ends, or cancel it")
    side = session.get(SideRun, (job_id, SideKind.EXTENSION), populate_existing=True)
    if side is not None and side.status != "succeeded":
        raise JobNotExtendable(f"an extension of job {job_id} is {side.status}; resume it, or wait until it ends")
    if side is not None:
        session.delete(side)
        session.flush()
    session.add(SideRun(job_id=job_id, kind=SideKind.EXTENSION, status="queued", sweeps=total))
    is_chain = Unit.kind == UnitKind.CHAIN
    change(
        session,
        update(Unit)
        .where(Unit.id.in_(units), Unit.status == "done")
        .values(
            side=SideKind.EXTENSION,
            status=case((is_chain, "ready"), else_="waiting"),
            lease_until=case((is_chain, now() + CALL_SECONDS), else_=None),
        ),
    )
    session.flush()
    chains = session.scalars(units.where(is_chain).order_by(Unit.id))
    return find_job(session, job_id), list(chains)


def begin_power_test(session: Session, job_id: str) -> tuple[Job, list[int]]:
    """Begin a test of a succeeded job's power, or go on with one that has stopped.

    Returns the job and the unit ids that call for workers; none if the test is under way or done. The test belongs
    to labels and settings: no extension undoes it. Raises JobNotFound, or JobNotTestable for a job that has not
    succeeded, has another model or knows too little.
    """
    lock(session, job_id)
    job = find_job(session, job_id)
    if not MODELS[job.settings["model"]].has_power_test:
        raise JobNotTestable(f"job {job_id} has the model {job.settings['model']}, which has no power test")
    if job.status != "succeeded":
        raise JobNotTestable(f"job {job_id} is {job.status}; only a succeeded job can have a power test")
    if reason := why_final(session, job):
        raise JobNotTestable(reason)
    n_known = session.scalar(select(Encoding.n_known).where(Encoding.id == job.encoding_id)) or 0
    if n_known < MIN_KNOWN:
        raise JobNotTestable(
            f"job {job_id} has too few known categories for a power test: {n_known}, at least {MIN_KNOWN} are needed"
        )
    side = session.get(SideRun, (job_id, SideKind.POWER_TEST), populate_existing=True)
    if side is None:
        unit = Unit(
            job_id=job_id,
            kind=UnitKind.POWER,
            side=SideKind.POWER_TEST,
            status="ready",
            lease_until=now() + CALL_SECONDS,
        )
        session.add_all([SideRun(job_id=job_id, kind=SideKind.POWER_TEST, status="queued"), unit])
        session.flush()
        return job, [unit.id]
    return resume(session, Run(job_id, SideKind.POWER_TEST)) if side.status in RESUMABLE else (job, [])


def delete(session: Session, job_id: str) -> None:
    """Delete a job that has ended, with its side runs: it is gone for all, and its rows are removed later.

    Raises JobNotFound, or JobNotFinished while it or a side run is queued, running or paused.
    """
    lock(session, job_id)
    job = find_job(session, job_id)
    # Locked too: a side run that somebody resumes meanwhile is seen, or finds its job gone.
    sides = session.scalars(select(SideRun).where(SideRun.job_id == job_id).with_for_update()).all()
    for run, status in [(Run(job_id), job.status), *((Run(job_id, side.kind), side.status) for side in sides)]:
        if status in UNFINISHED:
            raise JobNotFinished(f"{run} is {status}; cancel it first")
    if heir := unfinished_heir(session, job_id):
        raise JobNotFinished(f"job {heir} continues job {job_id}; wait until it ends, or cancel it first")
    job.deleted_at = session.scalar(select(now()))


def lock(session: Session, job_id: str) -> None:
    """Lock a job's row, so that of two who ask at once the second sees what the first one did."""
    session.execute(select(Job.id).where(Job.id == job_id).with_for_update())


def find_run(session: Session, run: Run) -> tuple[Job, str]:
    """The job of a run as it is now, and the run's status. Raises JobNotFound, SideRunNotFound."""
    job = find_job(session, run.job_id)
    status = session.scalar(select(run.table.status).where(run.is_mine))
    if status is None:
        raise SideRunNotFound(f"there is no {run.side} of job {run.job_id}")
    return job, status


def side_runs(session: Session, job_id: str) -> Sequence[SideRun]:
    """The side runs of a job."""
    return session.scalars(select(SideRun).where(SideRun.job_id == job_id)).all()


def unfinished_job(session: Session, corpus_id: str) -> str | None:
    """The id of a job over the corpus that has not ended, or of which a side run has not; None if all have."""
    side = select(SideRun.job_id).where(SideRun.job_id == Job.id, SideRun.status.in_(UNFINISHED))
    is_unfinished = or_(Job.status.in_(UNFINISHED), side.exists())
    return session.scalar(select(Job.id).where(Job.corpus_id == corpus_id, is_unfinished).limit(1))


def why_final(session: Session, job: Job) -> str | None:
    """Why nothing more can be computed for a job; None if more can."""
    if job.expired_at is not None:
        return f"the checkpoints of job {job.id} have expired: its results can be read; submit a new job for others"
    return erased_texts(session, job)


def erased_texts(session: Session, job: Job) -> str | None:
    """Why nothing more can be computed for a job, if documents that it needs have been erased."""
    was_part = (Document.corpus_id == job.corpus_id, Document.erased, is_part_of(job.corpus_version))
    n_erased = session.scalar(select(func.count()).where(*was_part))
    return f"{n_erased} documents of job {job.id} have been erased; submit a new job" if n_erased else None


def find_corpus(session: Session, corpus_id: str) -> Corpus:
    """The corpus. Raises CorpusNotFound, also if it has been deleted."""
    corpus = session.get(Corpus, corpus_id)
    if corpus is None or corpus.deleted_at is not None:
        raise CorpusNotFound(f"there is no corpus {corpus_id}")
    return corpus


def find_job(session: Session, job_id: str) -> Job:
    """The job as it is now. Raises JobNotFound, also if it or its corpus has been deleted."""
    job = session.scalar(VISIBLE_JOB, {"job_id": job_id})
    if job is None:
        raise JobNotFound(f"there is no job {job_id}")
    return job
