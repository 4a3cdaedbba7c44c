"""A job with two known and two new categories, a tree over the new ones, and a doubtful label."""

import pytest
from sqlalchemy import insert, update

from app.core.db import Database
from app.core.tables import Answer, Category, Document, TreeNode
from tests.app.http.answered_jobs import Given, add_job

# Documents of new 1 are in the leaves 0 and 1, those of new 2 in leaf 2; node 3 is new 1, node 4 the root.
LEAVES = {0: 3, 1: 2, 2: 2}
PARENTS, OF, SIZES = (3, 3, 4, 4, None), (2, 2, 3, 2, None), (3, 2, 2, 5, 7)
TOGETHER = (0.9, 1.0, 0.8, 0.5, 0.1)
WORDS = ("plasma", "laser", "enzyme", "plasmas", "science")
PORTRAIT = {
    "size_interval_90": [4, 7],
    "by_probability": [{"word": "plasma", "share": 0.1, "lift": 4.0}],
    "by_lift": [{"word": "tokamak", "share": 0.01, "lift": 9.0}],
    "representative": ["p2", "gone", "p1"],
    "edge": ["p4"],
    "nearest": {
        "category": 3,
        "distance": 0.4,
        "words": [{"word": "plasma", "share": 0.1, "other_share": 0.0}],
        "its_words": [{"word": "enzyme", "share": 0.2, "other_share": 0.01}],
    },
}


@pytest.fixture
def job(database: Database) -> str:
    """Address of a job with five documents of new 1, two of new 2, one of a known category and one without any."""
    given = [Given(f"p{n}", category=2, probability=0.7, known_probability=0.1) for n in range(5)]
    given += [Given(f"e{n}", category=3, probability=0.6, known_probability=0.1) for n in range(2)]
    given += [Given("star", category=0, probability=0.9, known_probability=0.95), Given("blank")]
    given += [Given("mirror", label="astronomy", quality=0.2, suggested=1, probability=0.7)]
    made = add_job(database, given)
    job_id = made.job.rpartition("/")[2]
    nodes = [
        {
            "job_id": job_id,
            "edition": edition,
            "node": node,
            "parent": PARENTS[node],
            "category": OF[node],
            "n_documents": SIZES[node],
            "together": TOGETHER[node],
            "top_words": [{"word": WORDS[node], "documents": 2}],
        }
        for edition in (1, 2)  # the second is read by nobody
        for node in range(4 + (edition == 1))
    ]
    leaves = {**dict.fromkeys(("p0", "p1", "p2"), 0), "p3": 1, "p4": 1, "e0": 2, "e1": 2}
    named = {2: ("new 1: plasma, laser", "c-aaaaaa", 5), 3: ("new 2: enzyme", "c-bbbbbb", 2)}
    with database.sessions.begin() as session:
        session.execute(insert(TreeNode), nodes)
        ids = dict(session.query(Document.key, Document.id).all())
        for key, leaf in leaves.items():
            of_key = (Answer.job_id == job_id, Answer.document_id == ids[key])
            session.execute(update(Answer).where(*of_key).values(leaf=leaf, runner_up=5 - (leaf // 2 + 2)))
            session.execute(update(Answer).where(*of_key).values(runner_up_probability=0.2))
        for category, (name, short_id, n_documents) in named.items():
            values = {"name": name, "short_id": short_id, "n_documents": n_documents}
            session.execute(update(Category).where(Category.category == category).values(**values))
        session.execute(update(Category).where(Category.category.in_((0, 2))).values(portrait=PORTRAIT))
        session.execute(update(Document).where(Document.key == "p1").values(text="x" * 600))
        session.execute(update(Document).where(Document.key == "p2").values(text="", erased=True))
    return made.job
