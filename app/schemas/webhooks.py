"""Whom to tell when a job has ended."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from app.schemas.common import RequestBody, example, request_example, storable

MAX_URL, MAX_SECRET = 2_000, 100  # characters

WEBHOOK = {"url": "https://example.org/newfound"}


class WebhookIn(RequestBody):
    """Where to send a message when the job has ended."""

    model_config = request_example(**WEBHOOK)

    url: Annotated[str, Field(min_length=1, max_length=MAX_URL), AfterValidator(storable)] = Field(
        description="With https, and of a public address unless the operator allows it."
    )
    secret: Annotated[str, Field(min_length=1, max_length=MAX_SECRET)] | None = Field(
        default=None,
        description="`whsec_` and 24 to 64 bytes in Base64, with which messages are signed. Without it one is made, "
        "and shown once.",
    )


class WebhookOut(BaseModel):
    """What became of the message about a job's end."""

    model_config = example(
        **WEBHOOK, status="delivered", attempts=1, last_error=None, delivered_at="2026-11-27T23:32:09Z", secret=None
    )

    url: str
    status: Literal["waiting", "delivered", "failed"] = Field(
        description="`waiting` until the job has ended and the message is delivered; `failed` once it is given up."
    )
    attempts: int
    last_error: str | None
    delivered_at: datetime | None
    secret: str | None = Field(
        default=None, description="Only in the answer to the request that queued the job, if it was made there."
    )
