"""Refusals, each with its status; `problems` renders them for HTTP."""

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

PROBLEM = "application/problem+json"


class ServiceError(Exception):
    """The service refuses the request."""

    status = HTTPStatus.CONFLICT

    def __init__(
        self,
        detail: str,
        errors: Sequence[Mapping[str, str]] = (),
        members: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        """`errors` are the parts of the request that are at fault, each with `where` and `reason`.

        `members` are facts that a program reads alongside the detail, such as how much of an upload is stored;
        `retry_after` is after how many seconds the same request may be granted, if that is known.
        """
        super().__init__(detail)
        self.detail = detail
        self.errors = errors
        self.members = members or {}
        self.retry_after = retry_after


class BadRequest(ServiceError):
    """The request is not valid HTTP."""

    status = HTTPStatus.BAD_REQUEST


class KeyMissing(ServiceError):
    """The request needs an API key."""

    status = HTTPStatus.UNAUTHORIZED


class ScopeMissing(ServiceError):
    """The API key does not allow this."""

    status = HTTPStatus.FORBIDDEN


class CrossSite(ServiceError):
    """The request comes from a page of another site."""

    status = HTTPStatus.FORBIDDEN


class TooManyRequests(ServiceError):
    """More requests have come than the service answers in that time; try again later."""

    status = HTTPStatus.TOO_MANY_REQUESTS


class QuotaExceeded(ServiceError):
    """The owner would store more than the operator allows."""

    status = HTTPStatus.FORBIDDEN


class MisdirectedRequest(ServiceError):
    """The service does not answer to this host name."""

    status = HTTPStatus.MISDIRECTED_REQUEST


class RequestTimeout(ServiceError):
    """The client was silent for too long."""

    status = HTTPStatus.REQUEST_TIMEOUT


class HeadTooLarge(ServiceError):
    """The head of the request is larger than the service accepts."""

    status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE


class TooManyConnections(ServiceError):
    """The service has as many connections as it accepts; try again later."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class TooManyListeners(ServiceError):
    """As many event streams are open as the service allows; poll instead, or try again later."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class CorpusNotFound(ServiceError):
    """There is no such corpus."""

    status = HTTPStatus.NOT_FOUND


class DocumentNotFound(ServiceError):
    """The corpus has no such document."""

    status = HTTPStatus.NOT_FOUND


class DescriptionNotFound(ServiceError):
    """The corpus has no such description."""

    status = HTTPStatus.NOT_FOUND


class DescriptionVectorsUnfit(ServiceError):
    """The vectors of descriptions cannot be compared with those of the corpus' documents."""


class JobNotFound(ServiceError):
    """There is no such job."""

    status = HTTPStatus.NOT_FOUND


class ModelNotFound(ServiceError):
    """There is no such model."""

    status = HTTPStatus.NOT_FOUND


class ComparisonNotFound(ServiceError):
    """There is no such comparison of methods."""

    status = HTTPStatus.NOT_FOUND


class ComparisonFinished(ServiceError):
    """All jobs of the comparison have already ended, so it can no longer be cancelled."""


class ComparisonNotFinished(ServiceError):
    """A job of the comparison has not ended, so it cannot be deleted."""


class LabelsNotSplittable(ServiceError):
    """The labels of the corpus cannot be split in the way that was requested."""


class SideRunNotFound(ServiceError):
    """The job has no such side run."""

    status = HTTPStatus.NOT_FOUND


class CorpusInUse(ServiceError):
    """A job over the corpus is queued, running or paused."""


class NothingToCategorize(ServiceError):
    """The corpus has no document that a job could categorize."""


class NoLabels(ServiceError):
    """The corpus has no label, so a job could only discover categories; it must be asked for."""


class TooFewCategories(ServiceError):
    """A job was told a number of categories that is below the number of the known ones."""


class JobFinished(ServiceError):
    """The job has already ended, so it can no longer be cancelled."""


class JobNotFinished(ServiceError):
    """The job, its extension or its power test has not ended, so it cannot be deleted."""


class JobNotPausable(ServiceError):
    """Only a queued or running job can be paused."""


class JobNotResumable(ServiceError):
    """Only a paused, cancelled or failed job can be resumed."""


class JobNotExtendable(ServiceError):
    """Only a succeeded job can be extended, up to a limit."""


class ResultsNotReady(ServiceError):
    """The job has not succeeded, so it has no results."""


class JobsNotComparable(ServiceError):
    """The jobs are over different corpora, so they have no documents in common."""


class NoModel(ServiceError):
    """The job has no model, so it cannot categorize new documents."""


class ModelDamaged(ServiceError):
    """The stored model is damaged."""


class ModelOfJob(ServiceError):
    """The model belongs to a job, and goes with it."""


class UnusableModel(ServiceError):
    """The file is not a model that this version reads."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class CategoryNotFound(ServiceError):
    """There is no such category."""

    status = HTTPStatus.NOT_FOUND


class DecisionNotFound(ServiceError):
    """There is no such decision."""

    status = HTTPStatus.NOT_FOUND


class DecisionRefused(ServiceError):
    """The decision does not apply to the answer as it is."""


class AnswerChanged(ServiceError):
    """The answer has changed since the client read it."""

    status = HTTPStatus.PRECONDITION_FAILED


class ChangedSince(ServiceError):
    """What the request would change is not as the client has seen it."""

    status = HTTPStatus.PRECONDITION_FAILED


class NotAcceptable(ServiceError):
    """The service has this in none of the formats that the client accepts."""

    status = HTTPStatus.NOT_ACCEPTABLE


class JobNotContinuable(ServiceError):
    """The job cannot be continued as it is."""


class NotSuggested(ServiceError):
    """The job does not suggest this label."""


class NoTopics(ServiceError):
    """The job's model has no topics."""


class JobNotTestable(ServiceError):
    """Only a succeeded calibrated job with at least two known categories can have a power test."""


class NoPowerTest(ServiceError):
    """Nobody has requested a power test of the job."""


class BodyTooLarge(ServiceError):
    """The body of the request is larger than the service accepts."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class UploadTooLarge(ServiceError):
    """The upload is larger than the service accepts."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class UnsupportedUpload(ServiceError):
    """The upload is in a format that the service does not read."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class UnsupportedBody(ServiceError):
    """The body is in a format that the operation does not read."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


class NothingAccepted(ServiceError):
    """No row of the upload could be used."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class UploadAborted(ServiceError):
    """The upload has rows that cannot be used, so nothing of it is stored."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class MalformedRequest(ServiceError):
    """The request is malformed."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class IdempotencyKeyReused(ServiceError):
    """The idempotency key belongs to a request with another body."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class ResourceDeleted(ServiceError):
    """What the first request under this idempotency key created has been deleted."""

    status = HTTPStatus.GONE


class DatabaseUnavailable(ServiceError):
    """The database does not answer; try again later."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class NotReady(ServiceError):
    """Part of the service is not ready for jobs."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class StorageFull(ServiceError):
    """The disk of the service is full."""

    status = HTTPStatus.INSUFFICIENT_STORAGE


class InternalError(ServiceError):
    """Internal error."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR


class NoSourceField(ServiceError):
    """The field does not say where documents come from: too few documents share a value of it, or none has one."""


class JobTooLarge(ServiceError):
    """The job would take more time or memory than the operator allows."""


class TooManyJobs(ServiceError):
    """As many jobs are queued or running as the operator allows; try again later."""

    status = HTTPStatus.TOO_MANY_REQUESTS


class LeaseLost(Exception):
    """The leg no longer holds its unit: nothing that it did since its last save may be written."""


def type_of(name: str) -> str:
    """The stable identifier of a kind of problem: JobFinished is urn:newfound:problem:job-finished."""
    return "urn:newfound:problem:" + re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", "-", name).lower()


def title_of(kind: type[ServiceError]) -> str:
    """The title of a kind of refusal: the first line of its docstring."""
    return (kind.__doc__ or kind.__name__).splitlines()[0].rstrip(".")


def no_word_left(corpus_id: str, min_document_frequency: float, min_word_length: int) -> NothingToCategorize:
    """A job over the corpus could answer no document under these text options, and what to do."""
    return NothingToCategorize(
        f"no unlabeled document of corpus {corpus_id} keeps a word under these text options; "
        f"lower min_document_frequency (now {min_document_frequency}) or "
        f"min_word_length (now {min_word_length}), or drop fewer stop words"
    )
