"""What an owner uses, as HTTP has it."""

from pydantic import BaseModel, Field

from app.schemas.common import example


class Used(BaseModel):
    """How much is used, and how much of it is allowed."""

    used: int
    allowed: int | None = Field(description="Null: there is no limit.")


class UsageOut(BaseModel):
    """What an owner stores and has live, and how much of it the operator allows."""

    model_config = example(
        owner="ada",
        documents={"used": 12_000, "allowed": 100_000},
        bytes={"used": 34_567_890, "allowed": 1_000_000_000},
        live_jobs={"used": 1, "allowed": 20},
        live_chains={"used": 4, "allowed": None},
        tokens={"used": 1_564_156, "allowed": None},
        rate_limit="100/second;3000/minute",
    )

    owner: str
    documents: Used = Field(description="Stored, with earlier versions of corrected and deleted ones.")
    bytes: Used = Field(description="Of stored texts, fields, vectors and descriptions.")
    live_jobs: Used = Field(description="Jobs, extensions and power tests that are queued or running.")
    live_chains: Used = Field(description="Chains of these.")
    tokens: Used = Field(description="Of the corpora of these, each job's counted.")
    rate_limit: str = Field(description="Requests that each API key may send; `none`: as many as it likes.")
