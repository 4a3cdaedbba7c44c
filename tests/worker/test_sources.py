"""Sources of texts in encodings: numbered by how frequent they are, stored and mapped with the rest."""

from typing import Any

import numpy as np
from sqlalchemy import select

from app.core.db import Database
from app.core.settings import Settings
from app.core.sources import MAX_SOURCES
from app.core.tables import Encoding
from sampler.calibrated.sources import NO_SOURCE, Sources
from tests.worker import jobs
from tests.worker.test_corpus_cache import load, made
from worker import corpus_file, encodings, runner
from worker.corpus_cache import CorpusCache
from worker.store import Stored

ALIKE = "stone sand clay loam silt chalk marl peat"  # of documents that are copies


def rows_of(values: list[Any]) -> list[dict[str, Any]]:
    """The documents of the other tests, in the order of their keys, with these values of a field."""
    rows = sorted(jobs.rows(), key=lambda row: row["key"])
    padded = values + [None] * (len(rows) - len(values))
    return [
        {**row, "fields": None if value is None else {"origin": value}} for row, value in zip(rows, padded, strict=True)
    ]


def encoded(database: Database, settings: Settings, corpus_id: str, **fields: Any) -> Stored:
    """The encoding of a calibrated job, as a leg loads it."""
    job_id, unit_ids = jobs.submit_calibrated(database, corpus_id, **fields)
    runner.run(database, settings, unit_ids[0], lambda: False)
    job, files = jobs.job(database, job_id), CorpusCache(settings.encodings, settings.max_encodings_bytes)
    with database.readers.begin() as session:
        return encodings.load(session, job, files)


def sources_of(stored: Stored) -> Sources:
    assert stored.sources is not None
    return stored.sources


def test_a_text_has_the_source_of_its_document(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, rows_of(["mail", "forum", "mail", None, 7, True, ["a"]]))
    stored = encoded(database, settings, corpus_id, source_field="origin")
    sources = sources_of(stored)
    # Two mails come first, then values that one document each has, in the order of their text.
    expected = [0, 3, 0, NO_SOURCE, 1, 4, 2]
    assert sources.of_text[stored.texts.text_of][:7].tolist() == expected
    assert (sources.of_text[stored.texts.text_of][7:] == NO_SOURCE).all()
    with database.readers.begin() as session:
        facts = session.scalars(select(Encoding.facts)).one()
    assert facts is not None and facts["sources"] == ["mail", "7", '["a"]', "forum", "true"]
    assert sources.n_sources == 6, "one more stands for others"


def test_a_text_that_several_documents_have_has_the_source_of_the_first(database: Database, settings: Settings) -> None:
    copies = [
        {"key": f"copy-{n}", "text": ALIKE, "label": None, "fields": {"origin": origin}}
        for n, origin in enumerate(["forum", "mail", "mail"])
    ]
    corpus_id = jobs.upload(database, rows_of(["mail"] * 3) + copies)
    text = {"min_document_frequency": 1}
    stored = encoded(database, settings, corpus_id, source_field="origin", text=text)
    sources = sources_of(stored)
    assert sources.of_text.size == stored.texts.corpus.n_documents < stored.document_ids.size
    [shared] = np.flatnonzero(np.bincount(stored.texts.text_of) == 3)
    assert sources.of_text[shared] == 1, "the forum's number"


def test_of_many_sources_the_rarest_are_one_together(database: Database, settings: Settings) -> None:
    rows = rows_of([])
    extra = [{**row, "key": f"more-{row['key']}", "text": row["text"][::-1]} for row in rows]
    documents = [
        {**row, "fields": {"origin": f"s{min(n // 2, MAX_SOURCES + 3 - n % 2):02}"}}
        for n, row in enumerate(sorted(rows + extra + [{**row, "key": f"z{row['key']}"} for row in extra],
                                       key=lambda row: row["key"]))
    ]  # fmt: skip
    corpus_id = jobs.upload(database, documents)
    sources = sources_of(encoded(database, settings, corpus_id, source_field="origin"))
    assert sources.n_sources == MAX_SOURCES
    assert set(sources.of_text.tolist()) <= set(range(MAX_SOURCES))
    assert np.count_nonzero(sources.of_text == MAX_SOURCES - 1) > 0


def test_without_a_field_the_encoding_has_the_bytes_that_it_had(database: Database, settings: Settings) -> None:
    corpus_id = jobs.upload(database, rows_of(["mail", "forum"]))
    plain = encoded(database, settings, corpus_id)
    assert plain.sources is None
    encoded(database, settings, corpus_id, source_field="origin")
    encoded(database, settings, corpus_id, source_field="nothing")
    with database.readers.begin() as session:
        found = dict(session.execute(select(Encoding.options, Encoding.digest)).all())
        facts = list(session.scalars(select(Encoding.facts).where(~Encoding.options.contains("source_field"))))
    assert len(set(found.values())) == 3, "each field has an encoding of its own"
    assert [sorted(each or {}) for each in facts] == [["language", "stemming", "stop_words"]]


def test_arrays_without_sources_are_laid_out_as_before() -> None:
    arrays = made(5)
    described, size = corpus_file.layout(corpus_file.sizes_of(arrays))
    assert [length for _, length, _ in described] == [5, 4, 4, 4, 4, 4, 0]
    assert size == 24 + 32 + 16 + 16 + 32 + 32
    assert size == sum(map(len, corpus_file.pieces(arrays)))


def test_sources_come_back_from_parts_and_file(tmp_path: Any) -> None:
    files = CorpusCache(tmp_path / "encodings", 2**30)
    arrays = made(5)._replace(sources=np.array([1, NO_SOURCE, 0], np.int16))
    assert corpus_file.digest(arrays) != corpus_file.digest(made(5))
    for _ in range(2):
        np.testing.assert_equal(load(files, arrays), arrays)
