"""Legs that encode a corpus, over real databases: once, piece by piece, and again where it is damaged."""

import json
import shutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from app.core import leases, lifecycle
from app.core.db import Database
from app.core.runs import Run
from app.core.settings import Settings
from app.core.tables import Document, Encoding, EncodingPart, Job, Unit
from tests.worker import jobs
from worker import corpus_file, encode, encodings, runner
from worker.corpus_cache import CorpusCache


def test_an_encoding_is_made_once_for_jobs_with_the_same_text_options(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    for options in ({}, {}, {"min_document_frequency": 2}):
        _, unit_ids = jobs.submit(database, corpus_id, text=options, sweeps=1)
        jobs.run_to_the_end(database, settings, unit_ids)
    with database.readers.begin() as session:
        assert len(list(session.scalars(select(Encoding.id)))) == 2


def test_an_encode_stores_the_documents_by_key_with_ascending_words(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    runner.run(database, settings, unit_ids[0], lambda: False)
    job, files = jobs.job(database, job_id), CorpusCache(settings.encodings, settings.max_encodings_bytes)
    with database.readers.begin() as session:
        texts_of_corpus, document_ids, *_ = encodings.load(session, job, files)
        names = encodings.names(session, job)
        keys = dict(session.execute(select(Document.id, Document.key)).all())
    corpus, texts = texts_of_corpus.corpus, {row["key"]: row["text"].split() for row in jobs.rows()}
    assert [keys[document_id] for document_id in document_ids] == sorted(texts)
    for key, words in zip(sorted(texts), np.split(corpus.words, corpus.offsets[1:-1]), strict=True):
        assert [names.vocabulary[word] for word in words] == sorted(texts[key])
    assert names.categories == ["fruit", "metal"]


def test_an_encoding_says_what_was_chosen_for_its_texts(database: Database, settings: Settings) -> None:
    german = "Der Bescheid kam heute nicht mit der Post und das ist für uns kein Problem weil wir sie noch haben"
    documents = [{"key": f"{n}", "text": german, "label": "x" if n % 2 else None} for n in range(12)]
    corpus_id = jobs.upload(database, documents)
    text = {"join_copies": False, "stemming": "auto", "language": "de"}
    _, unit_ids = jobs.submit(database, corpus_id, text=text)
    runner.run(database, settings, unit_ids[0], lambda: False)
    with database.readers.begin() as session:
        facts = session.scalars(select(Encoding.facts)).one()
    assert facts == {"language": "de", "stop_words": [], "stemming": "de"}, "short texts keep their stop words"


def test_ready_bags_of_words_are_taken_as_they_are(database: Database, settings: Settings) -> None:
    words = [(f"plum-{n % 2}", "Of") for n in range(12)]
    bags = [
        {"key": f"bag-{n}", "text": json.dumps({a: 2, b: 3}), "is_counts": True, "label": None}
        for n, (a, b) in enumerate(words)
    ]
    corpus_id = jobs.upload(database, [{"is_counts": False, **row} for row in jobs.rows()] + bags)
    job_id, unit_ids = jobs.submit(database, corpus_id, text={"join_copies": False})
    runner.run(database, settings, unit_ids[0], lambda: False)
    job, files = jobs.job(database, job_id), CorpusCache(settings.encodings, settings.max_encodings_bytes)
    with database.readers.begin() as session:
        encoded, document_ids, *_ = encodings.load(session, job, files)
        names = encodings.names(session, job)
        keys = dict(session.execute(select(Document.id, Document.key)).all())
    of_document = np.split(encoded.corpus.words, encoded.corpus.offsets[1:-1])
    for document_id, found in zip(document_ids, of_document, strict=True):
        if keys[document_id].startswith("bag-"):
            a, b = words[int(keys[document_id][4:])]
            assert [names.vocabulary[word] for word in found] == [b] * 3 + [a] * 2, "neither folded nor dropped"


def test_a_job_encodes_the_version_that_it_was_submitted_over(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    with database.sessions.begin() as session:
        session.execute(update(Document).where(Document.key == "fruit-1").values(until=2))
        session.execute(update(Document).where(Document.key == "fruit-2").values(version=2))
    runner.run(database, settings, unit_ids[0], lambda: False)
    job, files = jobs.job(database, job_id), CorpusCache(settings.encodings, settings.max_encodings_bytes)
    with database.readers.begin() as session:
        _, document_ids, *_ = encodings.load(session, job, files)
        keys = dict(session.execute(select(Document.id, Document.key)).all())
    assert {keys[document_id] for document_id in document_ids} == {row["key"] for row in jobs.rows()} - {"fruit-2"}


def test_an_encode_that_was_broken_off_goes_on_in_another_leg(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    with database.sessions.begin() as session:
        session.execute(update(Job).values(encoding_id=None))
        session.execute(delete(Encoding))

    monkeypatch.setattr(corpus_file, "PIECE_BYTES", 64)  # so that there are many parts
    monkeypatch.setattr(encodings, "PARTS_AT_ONCE", 5)
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    n_stored = []
    for n_questions in range(1, 4):  # before the first document; after the first parts, and after some more
        assert runner.run(database, settings, unit_ids[0], jobs.Asked(*[False] * (n_questions - 1), True)) == unit_ids
        with database.readers.begin() as session:
            unit = session.get_one(Unit, unit_ids[0])
            assert (unit.status, unit.token, unit.attempts) == ("ready", None, 0)
            assert encodings.find(session, session.get_one(Job, job_id)) is None, "it is not whole yet"
            n_stored.append(session.scalar(select(func.count()).select_from(EncodingPart)))
    assert n_stored == [0, 5, 10]
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_an_encode_whose_job_is_cancelled_stops(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id)
    save_parts = encodings.save_parts

    def save_and_be_cancelled(session: Session, rows: Any) -> None:
        save_parts(session, rows)
        lifecycle.cancel(session, Run(job_id))

    monkeypatch.setattr(corpus_file, "PIECE_BYTES", 64)
    monkeypatch.setattr(encodings, "save_parts", save_and_be_cancelled)
    assert runner.run(database, settings, unit_ids[0], jobs.Asked(False)) == []
    monkeypatch.setattr(encodings, "save_parts", save_parts)
    with database.sessions.begin() as session:
        _, unit_ids = lifecycle.resume(session, Run(job_id))
    jobs.run_to_the_end(database, settings, unit_ids)
    assert jobs.job(database, job_id).status == "succeeded"


def test_two_legs_that_encode_the_same_at_once_leave_one_encoding(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    (job_id, first), (other_id, second) = (jobs.submit(database, corpus_id, chains=1) for _ in range(2))

    def encode_twice(*arguments: Any) -> encodings.Draft:
        monkeypatch.setattr(encode, "encode_documents", encode_documents)
        draft = encode_documents(*arguments)
        jobs.run_to_the_end(database, settings, second)  # meanwhile the other one comes to its end
        return draft

    encode_documents = encode.encode_documents
    monkeypatch.setattr(encode, "encode_documents", encode_twice)
    jobs.run_to_the_end(database, settings, first)
    assert jobs.outcome(database, job_id) == jobs.outcome(database, other_id)
    with database.readers.begin() as session:
        assert len(list(session.scalars(select(Encoding.id)))) == 1
        assert len(set(session.scalars(select(Job.encoding_id)))) == 1


def turn_a_bit(session: Session) -> None:
    part = session.scalars(select(EncodingPart)).one()
    part.data = jobs.damaged(part.data)


def lose_a_part(session: Session) -> None:
    session.execute(delete(EncodingPart))


def miscount(session: Session) -> None:
    session.execute(update(Encoding).values(n_tokens=Encoding.n_tokens + 1))


@pytest.mark.parametrize("damage", [turn_a_bit, lose_a_part, miscount])
def test_an_encoding_that_is_damaged_is_made_again(
    database: Database, settings: Settings, damage: Callable[[Session], None]
) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    calm_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    jobs.run_to_the_end(database, settings, unit_ids)
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    chain_units = runner.run(database, settings, unit_ids[0], lambda: False)
    shutil.rmtree(settings.encodings)
    with database.sessions.begin() as session:
        damage(session)
    jobs.run_to_the_end(database, settings, chain_units)
    assert jobs.job(database, job_id).status == "succeeded"
    assert jobs.outcome(database, job_id) == jobs.outcome(database, calm_id)


def test_a_full_folder_of_encodings_makes_a_leg_wait_and_say_so(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, chains=1)
    [chain_unit] = runner.run(database, settings, unit_ids[0], lambda: False)
    shutil.rmtree(settings.encodings)
    full = jobs.with_changes(settings, min_free_bytes=2**60, save_seconds=0.01, database_url="postgresql://elsewhere")
    seen: list[str | None] = []

    def look() -> None:
        with database.readers.begin() as session:
            seen.append(session.get_one(Unit, chain_unit).error)

    assert runner.run(database, full, chain_unit, jobs.Asked(False, look, True)) == [chain_unit]
    [note] = seen
    assert note is not None and note.startswith(f"{leases.WAITS}the folder of encoded corpora is full")
    jobs.run_to_the_end(database, settings, [chain_unit])
    assert jobs.job(database, job_id).status == "succeeded"


def test_a_job_that_could_answer_no_document_fails_with_what_to_do(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, jobs.rows())
    job_id, unit_ids = jobs.submit(database, corpus_id, text={"min_document_frequency": 1_000})
    jobs.run_to_the_end(database, settings, unit_ids)
    job = jobs.job(database, job_id)
    assert job.status == "failed"
    assert job.error is not None and "lower min_document_frequency (now 1000)" in job.error
