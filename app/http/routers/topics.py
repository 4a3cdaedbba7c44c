"""The topics of a job's categories, once it has succeeded."""

from collections import defaultdict
from collections.abc import Sequence

from fastapi import APIRouter, Response
from sqlalchemy import select

from app.core.errors import JobNotFound, NoTopics, ResultsNotReady
from app.core.kinds import MODELS
from app.core.tables import Category, Topic
from app.http.dependencies import JobId, Readers, problems
from app.http.long_answers import written
from app.http.routers.results import find_concluded_job
from app.review.decided import categories_of
from app.schemas.topics import CategoryOfTopic, TopicOut, TopicsOut, TopicWord

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["results"])


@router.get(
    "/topics",
    operation_id="get_topics",
    summary="Read the topics",
    response_model=TopicsOut,
    responses=problems(JobNotFound, ResultsNotReady, NoTopics),
)
def get_topics(job_id: JobId, readers: Readers) -> Response:
    """Read the topics that categories are made of, the largest first, each with its categories."""
    with readers.begin() as session:
        job = find_concluded_job(session, job_id)
        if not MODELS[job.settings["model"]].has_topics:
            raise NoTopics(f"job {job_id} has the model {job.settings['model']}, which reports no topics")
        present = select(Topic).where(Topic.job_id == job_id, Topic.edition == job.edition)
        topics = session.scalars(present.order_by(Topic.topic)).all()
        categories = categories_of(session, job)
    found_in = by_topic(categories)
    return written(TopicsOut(topics=[topic_out(topic, found_in[topic.topic]) for topic in topics]))


def by_topic(categories: Sequence[Category]) -> dict[int, list[CategoryOfTopic]]:
    """For each topic the categories that have it among theirs, heaviest first."""
    found: dict[int, list[CategoryOfTopic]] = defaultdict(list)
    for category in categories:
        for part in category.topics or []:
            found[part["topic"]].append(
                CategoryOfTopic(category=category.category, name=category.name, weight=part["weight"])
            )
    for shares in found.values():
        shares.sort(key=lambda share: -share.weight)
    return found


def topic_out(topic: Topic, categories: list[CategoryOfTopic]) -> TopicOut:
    """A topic as HTTP reports it."""
    words = [TopicWord.model_validate(word) for word in topic.top_words]
    return TopicOut(topic=topic.topic, share=topic.share, top_words=words, categories=categories)
