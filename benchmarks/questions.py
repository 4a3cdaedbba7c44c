"""What the triage of a run is made of: the same as `app.review.candidates` reads from the tables of a job."""

from collections import Counter

import numpy as np

from app.core.certainty import UNSURE
from app.review.triage import Answered, CategorySize, Doubted, Found, unsure_of_each
from benchmarks.calibrated import Run
from sampler.answers.consensus import Consensus, consensus_of_documents
from sampler.answers.portraits import Portrait, portraits
from sampler.answers.words import distances, group_words, word_counts
from sampler.corpus import NO_CATEGORY, UNLABELED, Array
from worker.conclusions import JobConclusion
from worker.results import label_scores


def found_in(run: Run, asked: Array) -> Found:
    """What candidates are made of, as the tables of a job have it; documents bool[D] that were asked about left out."""
    texts, consensus = run.texts, consensus_of_documents(run.conclusion.consensus, run.texts)
    is_free = (texts.labels == UNLABELED) & (consensus.category != NO_CATEGORY)
    sizes = np.bincount(consensus.category[is_free], minlength=consensus.n_categories)
    n_known = texts.corpus.n_known
    pictures = portraits_of(run)
    doubted = [each for each in doubts(run) if not asked[each.document]]
    of_new = [text for picture in pictures[n_known:] for text in picture.representative.tolist()]
    at_edge = [text for picture in pictures for text in picture.edge.tolist()]
    pairs = zip(consensus.category.tolist(), consensus.runner_up.tolist(), strict=True)
    is_unsure = is_free & (consensus.probability < UNSURE) & (consensus.runner_up != NO_CATEGORY)
    return Found(
        {k: CategorySize(k < n_known, int(size)) for k, size in enumerate(sizes)},
        [answered(run, consensus, d) for d in least_sure(consensus, is_free & ~asked)],
        [answered(run, consensus, d) for d in texts.first[at_edge].tolist() if is_free[d] and not asked[d]],
        [answered(run, consensus, d) for d in texts.first[of_new].tolist() if is_free[d] and not asked[d]],
        doubted,
        Counter(pair for pair, unsure in zip(pairs, is_unsure.tolist(), strict=True) if unsure),
        Counter((each.category, each.other) for each in doubts(run)),
    )


def portraits_of(run: Run) -> list[Portrait]:
    """The portraits of a job's categories; documents in them are texts."""
    consensus, texts = run.conclusion.consensus, run.texts
    counts = word_counts(texts.corpus)
    words = group_words(counts, consensus.category, consensus.n_categories)
    weight = np.bincount(texts.text_of[texts.labels == UNLABELED], minlength=texts.corpus.n_documents)
    return portraits(counts, words, distances(words), texts.corpus.labels, consensus, weight)


def least_sure(consensus: Consensus, is_candidate: Array) -> list[int]:
    """The candidates of each category that are least probable."""
    n, found = unsure_of_each(consensus.n_categories), []
    for category in range(consensus.n_categories):
        members = np.flatnonzero(is_candidate & (consensus.category == category))
        found += members[np.argsort(consensus.probability[members], kind="stable")[:n]].tolist()
    return found


def answered(run: Run, consensus: Consensus, document: int) -> Answered:
    """The answer of an unlabeled document, as a row has it."""
    other = int(consensus.runner_up[document])
    return Answered(
        document,
        int(run.texts.first[run.texts.text_of[document]]),
        int(consensus.category[document]),
        float(consensus.probability[document]),
        None if other == NO_CATEGORY else other,
        float(np.nan_to_num(consensus.runner_up_probability[document])),
    )


def doubts(run: Run) -> list[Doubted]:
    """The labeled documents whose label the audit doubts."""
    found = run.conclusion
    scores = label_scores(
        run.texts, JobConclusion(found.consensus, audit=found.audit, label_probability=found.label_probability)
    )
    return [
        Doubted(
            d,
            int(run.texts.labels[d]),
            float(scores.probability[d]),
            int(scores.suggested[d]),
            float(scores.suggested_probability[d]),
        )
        for d in np.flatnonzero(scores.suggested != NO_CATEGORY).tolist()
    ]
