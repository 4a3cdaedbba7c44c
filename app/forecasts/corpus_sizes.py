"""How large the corpus of a job is: as its encoding has it, and before there is one as a sample makes it likely."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from app.core.splits import split_of
from app.core.tables import Encoding, Job
from app.forecasts.corpus_sample import Sample, estimated_sizes, read_sample
from app.forecasts.sizes import Sizes
from app.schemas.text import TextIn

MAX_KEPT = 1_000  # estimates that this process remembers


class Estimates:
    """Estimates of corpora under text options, so that a job that is followed is not sampled at every look."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.kept: OrderedDict[tuple[str, ...], Sizes] = OrderedDict()

    def find(self, key: tuple[str, ...]) -> Sizes | None:
        """The estimate, if it is remembered."""
        with self.lock:
            return self.kept.get(key)

    def keep(self, key: tuple[str, ...], sizes: Sizes) -> None:
        """Remember an estimate; the oldest one may be forgotten for it."""
        with self.lock:
            self.kept[key] = sizes
            if len(self.kept) > MAX_KEPT:
                self.kept.popitem(last=False)


ESTIMATES = Estimates()


def sizes_of(session: Session, job: Job) -> Sizes:
    """The sizes of the job's corpus."""
    if job.encoding_id is not None:
        return sizes_where(session, Encoding.id == job.encoding_id) or Sizes(0, 0, 0, 0)
    expected = expected_sizes(session, job.corpus_id, job.corpus_version, job.settings["text"])
    split = split_of(job)
    return expected if split is None else expected._replace(n_known=len(split.known))


def expected_sizes(
    session: Session, corpus_id: str, version: int, text: Mapping[str, Any], sample: Sample | None = None
) -> Sizes:
    """The sizes that a corpus version will have under text options; `sample` is of its corpus, if there is one."""
    options = json.dumps(text, sort_keys=True)  # as encodings are named
    key = (str(session.get_bind().engine.url), corpus_id, str(version), hashlib.sha256(options.encode()).hexdigest())
    kept = ESTIMATES.find(key)
    if kept is not None:
        return kept
    is_encoded = (
        (Encoding.corpus_id == corpus_id) & (Encoding.corpus_version == version) & (Encoding.options == options)
    )
    sizes = sizes_where(session, is_encoded & Encoding.digest.is_not(None))
    if sizes is None:
        sizes = estimated_sizes(sample or read_sample(session, corpus_id), TextIn.model_validate(text).options())
    ESTIMATES.keep(key, sizes)
    return sizes


def sizes_where(session: Session, condition: ColumnElement[bool]) -> Sizes | None:
    """The sizes of the encoding that meets a condition."""
    columns = (Encoding.n_documents, Encoding.n_tokens, Encoding.n_words, Encoding.n_known)
    found = session.execute(select(*columns).where(condition)).one_or_none()
    return None if found is None else Sizes(*found)
