"""The unit `encode`: documents to token arrays, once for all jobs over a corpus version under the same text options.

Other units load what it stored. What turns out damaged is made again from the documents, to the same bytes.
"""

import logging
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from app.core.errors import no_word_left
from app.core.lifecycle import erased_texts
from app.core.sources import SOURCE_FIELD
from app.core.tables import Job
from app.review.clamped import clamp
from sampler import text
from sampler.copies import find_copies
from worker import encodings, store
from worker.corpus_file import CorpusFileError
from worker.encodings import Draft
from worker.leg import NO_ROOM, Leg, Stopped
from worker.store import Stored

logger = logging.getLogger(__name__)


class SourceGone(Exception):
    """The job that is continued has been deleted."""


def encode(leg: Leg) -> list[int]:
    """Turn the corpus version into token arrays, unless an earlier job has done so under the same options."""
    if leg.job.continues is not None and leg.job.continued is None:
        begin_to_continue(leg)
    with leg.database.readers.begin() as session:
        is_there = encodings.find(session, leg.job) is not None
    if not is_there:
        store_encoding(leg)
    check_usable(leg, load_corpus(leg))
    return leg.end(lambda session: encodings.point_to(session, leg.job))


def source_of(session: Session, job: Job) -> Job:
    """The job that a job continues. Raises SourceGone."""
    source = session.get(Job, job.continues)
    if source is None or source.deleted_at is not None:
        raise SourceGone(f"job {job.continues}, which this one continues, has been deleted; submit a new job")
    return source


def begin_to_continue(leg: Leg) -> None:
    """Give a job that has waited for the one that it continues what was decided about that. Raises SourceGone."""

    def clamp_now(session: Session) -> dict[str, Any] | None:
        leg.record_progress(session)
        job, source = session.get_one(Job, leg.job.id), source_of(session, leg.job)
        if reason := erased_texts(session, source):
            raise SourceGone(reason)
        clamp(session, job, source)
        return job.continued

    leg.job.continued = leg.write(clamp_now)


def check_usable(leg: Leg, stored: Stored) -> None:
    """Raise NothingToCategorize, with what to do, if no unlabeled document keeps a word: no answer could be given.

    Those that somebody decided about are answered with that.
    """
    with leg.database.readers.begin() as session:
        is_asked = store.clamped(session, leg.job, stored).is_free
    if not bool((is_asked & (stored.texts.corpus.lengths[stored.texts.text_of] > 0)).any()):
        options = store.text_options(leg.job)
        raise no_word_left(leg.job.corpus_id, options.min_document_frequency, options.min_word_length)


def store_encoding(leg: Leg) -> None:
    """Encode the corpus and save it, in transactions that let others in between. Raises Stopped."""
    draft = encode_documents(leg)
    encoding_id = leg.write(partial(begin_encoding, leg, draft))
    for rows in encodings.part_rows(encoding_id, draft):
        goes_on = leg.save(partial(encodings.save_parts, rows=rows))
        if not goes_on or leg.must_stop():
            raise Stopped(f"job {leg.job.id}: after part {rows[-1]['number']} of the encoding")
    leg.save(lambda session: encodings.complete(session, encoding_id, draft))


def encode_documents(leg: Leg) -> Draft:
    """The encoded corpus version. Raises Stopped."""

    def check() -> None:
        if leg.must_stop():
            raise Stopped(f"job {leg.job.id}: while its documents were read")

    with leg.database.readers.begin() as session:
        documents, options = store.Documents(session, leg.job, check), store.text_options(leg.job)
        with leg.threads() as threads:
            look = partial(find_copies, threads=threads) if options.join_copies else None
            encoded = text.encode(documents.texts(), documents.labels, options, look)
    return encodings.draft(encoded, documents.ids, documents.sources if SOURCE_FIELD in leg.job.settings else None)


def begin_encoding(leg: Leg, draft: Draft, session: Session) -> int:
    """Make the encoding's row; returns its id."""
    leg.record_progress(session)
    return encodings.begin(session, leg.job, draft)


def load_corpus(leg: Leg) -> Stored:
    """The corpus of the leg's job; encoded again if it is damaged. Waits for room on the disk. Raises Stopped."""
    is_mended = False
    while True:
        try:
            with leg.database.readers.begin() as session:
                return encodings.load(session, leg.job, leg.files)
        except CorpusFileError as error:
            if is_mended:
                raise
            logger.warning("job %s: the encoded corpus is damaged and computed again: %s", leg.job.id, error)
            store_encoding(leg)
            is_mended = True
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            if leg.must_stop():
                raise Stopped(f"job {leg.job.id}: while it waited for room") from error
            leg.wait(f"the folder of encoded corpora is full: {error}")
