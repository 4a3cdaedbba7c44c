"""What an owner uses, and what the operator allows."""

from fastapi import APIRouter

from app.core import quotas
from app.core.quotas import StorageQuota
from app.http.dependencies import OnBehalfOf, Readers, ServiceSettings, problems
from app.schemas.usage import UsageOut, Used

router = APIRouter(prefix="/v1/usage", tags=["service"])


@router.get("", operation_id="get_usage", summary="Read what is used and allowed", responses=problems())
def get_usage(readers: Readers, settings: ServiceSettings, caller: OnBehalfOf) -> UsageOut:
    """Read what the owner of the API key stores and has live, and how much of each is allowed; null is no limit.

    Without keys it is what everybody has made who had none.
    """
    with readers.begin() as session:
        stored, live = quotas.stored_by(session, caller.owner), quotas.live_of(session, caller.owner)
    may_store = StorageQuota.of(settings)
    return UsageOut(
        owner=caller.owner,
        documents=Used(used=stored.documents, allowed=may_store.documents),
        bytes=Used(used=stored.n_bytes, allowed=may_store.n_bytes),
        live_jobs=Used(used=live.jobs, allowed=settings.owner_live_jobs),
        live_chains=Used(used=live.chains, allowed=settings.owner_live_chains),
        tokens=Used(used=live.tokens, allowed=settings.owner_tokens),
        rate_limit=settings.rate_limit,
    )
