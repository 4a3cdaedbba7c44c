"""A job whose answer has everything that views show, with texts that must be escaped; put straight into the tables."""

import uuid
from typing import Any

from sqlalchemy import insert

from app.core import lifecycle
from app.core.db import Database
from app.core.tables import Answer, Audit, Category, Corpus, Document, Job, Summary, Topic, TreeNode
from tests.app.rows import OF_MODEL, SETTINGS, add_draws, end

SCRIPT = "<script>alert(1)</script>"
NAMES = ("astronomy", "optics & light", f"new 1: {SCRIPT}", "new 2: pin, card")
KNOWN = (True, True, False, False)
SIZES = (4, 3, 2, 1)
DIAGNOSTICS: dict[str, Any] = {
    "verdict": "mixed", "reasons": [f"Chains differ about {SCRIPT}.", "Second."], "agreement": [[1.0, 0.8], [0.8, 1.0]],
    "mean_agreement": 0.8, "r_hat": {"n_categories": 1.005}, "effective_size": {"n_categories": 240.5},
}  # fmt: skip


def key_of(number: int) -> str:
    """The key of a document, with what addresses and markup must quote."""
    return f"paper {number}/a&b?{SCRIPT}" if number == 0 else f"paper-{number}"


def add_answered(database: Database, model: str = "calibrated", **more: Any) -> str:
    """Id of a succeeded job: two known and two new categories over ten documents, two of which have labels.

    `more` are settings. A job of one of the paper's peers has neither probabilities nor topics nor diagnostics.
    """
    is_peer = model == "dpgm"
    corpus_id = str(uuid.uuid4())
    with database.sessions.begin() as session:
        session.add(Corpus(id=corpus_id, name=f"corpus {SCRIPT}", version=1))
        session.flush()
        for n in range(12):
            fields = {"received": f"2024-0{1 + n % 3}-11", "source": SCRIPT if n % 2 else "mail", "stars": n % 5}
            session.add(
                Document(
                    corpus_id=corpus_id,
                    version=1,
                    key=key_of(n),
                    text=f"text {n} {SCRIPT} " + "word " * 60,
                    label=NAMES[n - 10] if n >= 10 else None,
                    fields=fields,
                )
            )
    with database.sessions.begin() as session:
        settings = {**SETTINGS, **OF_MODEL[model], "model": model, **more}
        job, _ = lifecycle.submit(session, corpus_id, settings)
    add_draws(database, job.id, chains=2, sweeps=10)
    with database.sessions.begin() as session:
        session.get_one(Job, job.id).edition = 1
        session.add_all(category(job.id, index, is_peer) for index in range(4))
        data: dict[str, Any] = {"n_new": {"2": 60, "3": 40}, "n_new_with_documents": {"2": 100}}
        session.add(Summary(job_id=job.id, data=data if is_peer else {**data, "diagnostics": DIAGNOSTICS}))
        session.flush()
        add_answers(session, job.id, corpus_id, is_peer)
        if not is_peer:
            add_tree(session, job.id)
            words = [{"word": f"topic{SCRIPT}", "probability": 0.1}]
            session.add_all(Topic(job_id=job.id, topic=topic, share=0.5, top_words=words) for topic in range(2))
    end(database, job.id)
    return str(job.id)


def category(job_id: str, index: int, is_peer: bool) -> Category:
    """A category with its portrait."""
    own = [{"word": f"word{index}{each}", "documents": 9 - each} for each in range(3)]
    ranked = [{"word": f"ranked{index}", "share": 0.25, "lift": 3.5}]
    telling = {"word": "telling", "share": 0.2, "other_share": 0.1}
    portrait = {
        "size_interval_90": None if is_peer else [SIZES[index] - 1, SIZES[index] + 1],
        "by_probability": ranked,
        "by_lift": ranked,
        "nearest": {"category": (index + 1) % 4, "name": "", "distance": 0.5, "words": [telling], "its_words": []},
        "representative": [key_of(0)] if index == 2 else [],
        "edge": [] if is_peer else [key_of(3)],
    }
    return Category(
        job_id=job_id, edition=1, category=index, name=NAMES[index], known=KNOWN[index], n_documents=SIZES[index],
        n_labeled=int(KNOWN[index]), share=SIZES[index] / 10, top_words=own, stability=None if is_peer else 0.97,
        short_id=f"c-{'abcdef'[index] * 6}", portrait=portrait,
        topics=None if is_peer else [{"topic": index % 2, "weight": 0.4}],
    )  # fmt: skip


def add_answers(session: Any, job_id: str, corpus_id: str, is_peer: bool) -> None:
    """An answer for each unlabeled document, the last of which is unsure, and a label that is doubtful."""
    ids = dict(session.query(Document.key, Document.id).filter_by(corpus_id=corpus_id).all())
    answered = [index for index, size in enumerate(SIZES) for _ in range(size)]
    answered = answered[4:] + answered[:4]  # document 0 is not of the first category
    rows: list[dict[str, Any]] = []
    for n, index in enumerate(answered):
        sure = {"probability": 0.4 if n == 9 else 0.9, "known_probability": 0.5}
        second = {"runner_up": (index + 1) % 4, "runner_up_probability": 0.05}
        rows.append({"job_id": job_id, "edition": 1, "document_id": ids[key_of(n)], "category": index,
                     **({} if is_peer else {**sure, **second})})  # fmt: skip
    session.execute(insert(Answer), rows)
    audit = {"category": 0, "probability": 0.08, "suggested": 2, "suggested_probability": 0.9, "by_copies": False}
    if not is_peer:
        session.execute(insert(Audit), [{"job_id": job_id, "edition": 1, "document_id": ids[key_of(10)], **audit}])


def add_tree(session: Any, job_id: str) -> None:
    """Two leaves of the first new category, one of the second; the answer is the cut into two."""
    parents, categories, sizes = (3, 3, 4, 4, None), (2, 2, 3, 2, None), (1, 1, 1, 2, 3)
    for node in range(5):
        session.add(
            TreeNode(
                job_id=job_id,
                edition=1,
                node=node,
                parent=parents[node],
                category=categories[node],
                n_documents=sizes[node],
                together=0.5,
                top_words=[{"word": f"leaf{node}", "documents": 1}],
            )
        )
