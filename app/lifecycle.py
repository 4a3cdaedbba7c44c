"""Jobs and their units, from submit to the end: everything that changes a status.

    job:   queued -> running -> succeeded | failed | cancelled
           queued | running -> paused by pause, paused -> cancelled by cancel
           paused | cancelled | failed -> queued by resume, succeeded -> queued by extend and begin_power_test
    unit:  waiting -> ready -> running -> done;  running -> ready when a leg ends or its lease runs out
           a chain's done -> ready and conclude's done -> waiting by extend; begin_power_test adds `power`

A unit's status tells how far its work is, whatever becomes of the job: under a job that has ended or is
paused a unit keeps its status, but is neither claimed nor sent. So a resumed job goes on from where it was.

What owners ask for stands here; what legs and reapers do stands in app.leases. On PostgreSQL rows are
locked in one order, units by id and then their job, so that no two of these functions wait for each other.
Nothing in either commits: the caller does, and sends the returned unit ids afterwards.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from sqlalchemy import case, select, update
from sqlalchemy.orm import Session

from app.db import now
from app.errors import (
    CorpusNotFound,
    JobFinished,
    JobNotExtendable,
    JobNotFound,
    JobNotPausable,
    JobNotResumable,
    JobNotTestable,
)
from app.leases import LIVE, RESEND_SECONDS, changed, end_job
from app.models import MAX_SWEEPS, Corpus, Encoding, Job, Unit, is_visible

# Kinds of units between encode and the chains, one unit of each, by model.
PREPARATIONS: dict[str, tuple[str, ...]] = {"lbpl-ntm": (), "calibrated": ("atoms", "calibrate")}
AUDITING = ("calibrated",)  # models that look whether labels are right
WITH_TOPICS = ("calibrated",)  # models that tell the topics of their categories
TESTABLE = ("calibrated",)  # models whose power can be tested
MIN_KNOWN = 2  # categories that a job must know for that: hide the only one, and nothing says how fine to be
UNFINISHED = (*LIVE, "paused")
RESUMABLE = ("paused", "failed", "cancelled")


def submit(session: Session, corpus_id: str, settings: Mapping[str, Any]) -> tuple[Job, list[int]]:
    """Queue a job over the corpus as it is now; returns the job and the unit ids to send.

    `settings["model"]` and `settings["chains"]` say which units there are. Raises CorpusNotFound.
    """
    # The shared lock keeps the corpus from being deleted between this look and the commit.
    version = session.scalar(
        select(Corpus.version)
        .where(Corpus.id == corpus_id, Corpus.deleted_at.is_(None))
        .with_for_update(read=True, key_share=True)
    )
    if version is None:
        raise CorpusNotFound(f"there is no corpus {corpus_id}")
    job = Job(
        id=str(uuid.uuid4()), corpus_id=corpus_id, corpus_version=version, settings=dict(settings), status="queued"
    )
    session.add(job)
    session.flush()
    encode = Unit(job_id=job.id, kind="encode", status="ready", lease_until=now() + RESEND_SECONDS)
    before = [Unit(job_id=job.id, kind=kind, status="waiting") for kind in PREPARATIONS[settings["model"]]]
    chains = [Unit(job_id=job.id, kind="chain", chain=c, status="waiting") for c in range(settings["chains"])]
    session.add_all([encode, *before, *chains, Unit(job_id=job.id, kind="conclude", status="waiting")])
    session.flush()
    return job, [encode.id]


def pause(session: Session, job_id: str) -> Job:
    """Pause a live job; its legs stop within a sweep and keep what they have.

    Raises JobNotFound, or JobNotPausable if it is paused or has ended.
    """
    paused = changed(session, update(Job).where(Job.id == job_id, Job.status.in_(LIVE)).values(status="paused"))
    job = find_job(session, job_id)
    if not paused:
        raise JobNotPausable(f"job {job_id} is {job.status}, neither queued nor running")
    return job


def cancel(session: Session, job_id: str) -> Job:
    """Cancel a job, live or paused; its legs stop within a sweep and keep what they have.

    Raises JobNotFound, or JobFinished if it has already ended.
    """
    cancelled = end_job(session, job_id, "cancelled", among=UNFINISHED)
    job = find_job(session, job_id)
    if not cancelled:
        raise JobFinished(f"job {job_id} has already ended: {job.status}")
    return job


def resume(session: Session, job_id: str) -> tuple[Job, list[int]]:
    """Queue a paused, cancelled or failed job again, to go on from where it was; returns the unit ids to send.

    A leg that still winds down keeps its unit: it goes on if it has not yet seen the job stop, or else
    its release sends the unit again. Should it be dead, its lease runs out. Attempts are counted anew.
    Raises JobNotFound, or JobNotResumable for a job that is live or has succeeded.
    """
    unit_ids = list(
        session.scalars(
            select(Unit.id)
            .where(Unit.job_id == job_id, Unit.status.in_(("ready", "running")))
            .order_by(Unit.id)
            .with_for_update()
        )
    )
    changed(
        session,
        update(Unit)
        .where(Unit.id.in_(unit_ids))
        .values(
            attempts=0,
            lease_until=case((Unit.status == "ready", now() + RESEND_SECONDS), else_=Unit.lease_until),
        ),
    )
    resumed = changed(
        session,
        update(Job)
        .where(Job.id == job_id, Job.status.in_(RESUMABLE))
        .values(status="queued", error=None, finished_at=None),
    )
    job = find_job(session, job_id)
    if not resumed:
        raise JobNotResumable(f"job {job_id} is {job.status}, neither paused nor cancelled nor failed")
    return job, unit_ids


def extend(session: Session, job_id: str, sweeps: int) -> tuple[Job, list[int]]:
    """Queue a succeeded job again for more sweeps of each chain; returns the unit ids to send.

    Chains go on from where they were and the burn-in stays, so the job ends as if it had been submitted
    with all its sweeps. Raises JobNotFound, or JobNotExtendable for a job that has not succeeded or would
    have too many sweeps.
    """
    units = select(Unit.id).where(Unit.job_id == job_id, Unit.kind.in_(("chain", "conclude")))
    # Locked before the job, as everywhere; of two that extend at once the second waits here.
    session.execute(units.order_by(Unit.id).with_for_update())
    job = find_job(session, job_id)
    total = job.settings["sweeps"] + sweeps
    if total > MAX_SWEEPS:
        raise JobNotExtendable(f"job {job_id} would have {total} sweeps, more than {MAX_SWEEPS}")
    chains = list(session.scalars(units.where(Unit.kind == "chain").order_by(Unit.id)))
    is_chain = Unit.kind == "chain"
    changed(
        session,
        update(Unit)
        .where(Unit.id.in_(units), Unit.status == "done")
        .values(
            status=case((is_chain, "ready"), else_="waiting"),
            lease_until=case((is_chain, now() + RESEND_SECONDS), else_=None),
        ),
    )
    extended = changed(
        session,
        update(Job)
        .where(Job.id == job_id, Job.status == "succeeded")
        .values(status="queued", finished_at=None, settings={**job.settings, "sweeps": total}),
    )
    job = find_job(session, job_id)
    if not extended:
        raise JobNotExtendable(f"job {job_id} is {job.status}; only a succeeded job can be extended")
    return job, chains


def begin_power_test(session: Session, job_id: str) -> tuple[Job, list[int]]:
    """Queue a succeeded job again for a test of its power, unless one is done; returns the unit ids to send.

    Its answers stay as they are. The test belongs to labels and settings: no extension undoes it.
    Raises JobNotFound, or JobNotTestable for a job that has not succeeded, has another model or knows too little.
    """
    # Locked, so that of two who ask at once the second sees what the first one did.
    session.execute(select(Job.id).where(Job.id == job_id).with_for_update())
    job = find_job(session, job_id)
    if job.settings["model"] not in TESTABLE:
        raise JobNotTestable(f"job {job_id} has the model {job.settings['model']}; only a calibrated job can be tested")
    if job.status != "succeeded":
        raise JobNotTestable(f"job {job_id} is {job.status}; only a succeeded job can be tested")
    n_known = session.scalar(select(Encoding.n_known).where(Encoding.id == job.encoding_id)) or 0
    if n_known < MIN_KNOWN:
        raise JobNotTestable(
            f"job {job_id} has too few known categories, {n_known}: to hide one of them takes {MIN_KNOWN}"
        )
    if session.scalar(select(Unit.id).where(Unit.job_id == job_id, Unit.kind == "power")) is not None:
        return job, []
    unit = Unit(job_id=job_id, kind="power", status="ready", lease_until=now() + RESEND_SECONDS)
    session.add(unit)
    changed(session, update(Job).where(Job.id == job_id).values(status="queued", finished_at=None))
    session.flush()
    return find_job(session, job_id), [unit.id]


def find_job(session: Session, job_id: str) -> Job:
    """The job as it is now. Raises JobNotFound, also if its corpus has been deleted."""
    visible = select(Job).where(Job.id == job_id, is_visible(Job.corpus_id))
    job = session.scalar(visible.execution_options(populate_existing=True))
    if job is None:
        raise JobNotFound(f"there is no job {job_id}")
    return job
