"""How the texts of a corpus become words, before a job is submitted."""

from anyio import to_thread
from fastapi import APIRouter, Request
from sqlalchemy.orm import Session, sessionmaker

from app.core.errors import BodyTooLarge, CorpusNotFound, MalformedRequest
from app.core.lifecycle import find_corpus
from app.forecasts.advice import warnings
from app.forecasts.corpus_sample import read_sample
from app.forecasts.preview import Preview, preview
from app.http.dependencies import MAX_BODY_BYTES, CorpusId, Readers, known_counts, problems
from app.http.routers.jobs import checks
from app.schemas.preview import (
    SHOWN_CHARACTERS,
    PreviewDocument,
    PreviewDroppedWord,
    PreviewIn,
    PreviewLanguage,
    PreviewLengths,
    PreviewOut,
    PreviewScript,
    PreviewWord,
)
from app.uploads.corpus_counts import Counts, KnownCounts

router = APIRouter(prefix="/v1/corpora/{corpus_id}", tags=["corpora"])


@router.post(
    "/preview",
    operation_id="preview_corpus",
    summary="Try text options",
    responses=problems(CorpusNotFound, BodyTooLarge, MalformedRequest),
    max_body_size=MAX_BODY_BYTES,
)
async def preview_corpus(corpus_id: CorpusId, body: PreviewIn, request: Request, readers: Readers) -> PreviewOut:
    """Try text options on a sample of a corpus: the words of some documents, the vocabulary, and what to change."""
    return await to_thread.run_sync(look, corpus_id, body, readers, known_counts(request), limiter=checks())


def look(corpus_id: str, body: PreviewIn, readers: sessionmaker[Session], known: KnownCounts) -> PreviewOut:
    """Read a sample and encode it."""
    with readers.begin() as session:
        corpus = find_corpus(session, corpus_id)
        sample = read_sample(session, corpus_id)
        counts = known.of(session, [corpus])[corpus_id]
    options = body.text.options()
    found = preview(sample, options, body.documents, SHOWN_CHARACTERS)
    return preview_out(found, counts, warnings(found, options, counts.documents, counts.copies))


def preview_out(found: Preview, counts: Counts, warnings: list[str]) -> PreviewOut:
    """A preview as HTTP reports it."""
    facts = found.encoded.facts
    return PreviewOut(
        corpus_documents=counts.documents,
        sampled_documents=found.n_sampled,
        documents=[PreviewDocument(**document._asdict()) for document in found.documents],
        vocabulary=found.n_words,
        tokens_per_document=PreviewLengths(
            **dict(zip(PreviewLengths.model_fields, found.n_tokens, strict=True)),
        ),
        empty=found.n_empty,
        scripts=[PreviewScript(script=name or "", share=share) for name, share in found.scripts],
        languages=[PreviewLanguage(language=name, share=share) for name, share in found.languages],
        language=facts.language,
        stop_words=list(facts.stop_words),
        stemming=facts.stemming,
        top_words=[PreviewWord(word=word, count=n) for word, n in found.top_words],
        dropped_words=[
            PreviewDroppedWord(word=word, count=n, reason=reason) for word, n, reason in found.dropped_words
        ],
        copies=counts.copies,
        distinct_texts=counts.distinct_texts,
        warnings=warnings,
    )
