"""Where a listener to a job is: the draws that it has been sent, which the ids of events say, and those it lacks."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter
from pydantic_core import to_json
from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from app.core.errors import MalformedRequest
from app.core.tables import Draw
from app.http.pages import from_cursor, to_cursor
from app.schemas.common import MAX_INTEGER
from app.schemas.results import DrawOut

MAX_DRAWS = 1_000  # of a message

Number = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Sweeps = Mapping[int, int]  # of each chain
PlaceAsSent = TypeAdapter(tuple[list[tuple[Number, Number]], str, bool])


class Place(NamedTuple):
    """What a listener has been sent."""

    sweeps: Sweeps  # of each chain, up to which it has the draws
    digest: str  # of the job as it was last sent
    is_end: bool  # the end of the job, too

    def id(self) -> str:
        """As the id of an event, opaque to clients."""
        return to_cursor((sorted(self.sweeps.items()), self.digest, self.is_end))


def place_of(last_event_id: str | None) -> Place:
    """The place that a client comes back from. Raises MalformedRequest for what is no id of an event."""
    try:
        found = from_cursor(last_event_id or None, PlaceAsSent)
    except MalformedRequest as error:
        reason = "this is not the id of an event of this stream"
        raise MalformedRequest(reason, [{"where": "header.last-event-id", "reason": reason}]) from error
    return Place({}, "", False) if found is None else Place(dict(found[0]), found[1], found[2])


def is_level(sweeps: Sweeps, others: Sweeps) -> bool:
    """Whether a listener has just the draws that the others have."""
    return all(sweeps.get(chain, 0) == last for chain, last in others.items())


def lacking(sweeps: Sweeps, until: Sweeps) -> dict[int, int]:
    """The chains of which a listener lacks draws, and up to which sweep."""
    return {chain: last for chain, last in until.items() if sweeps.get(chain, 0) < last}


def draws_between(session: Session, job_id: str, after: Sweeps, until: Sweeps) -> list[DrawOut]:
    """Draws by chain and sweep, as many as go into a message."""
    missing = lacking(after, until)
    if not missing:
        return []
    columns = [getattr(Draw, name) for name in DrawOut.model_fields]
    ranges = (
        and_(Draw.chain == chain, Draw.sweep > after.get(chain, 0), Draw.sweep <= last)
        for chain, last in missing.items()
    )
    query = select(*columns).where(Draw.job_id == job_id, or_(*ranges)).order_by(Draw.chain, Draw.sweep)
    return [DrawOut.model_construct(**row._mapping) for row in session.execute(query.limit(MAX_DRAWS))]


def as_json(draws: list[DrawOut]) -> str:
    """Draws as they are sent."""
    return to_json(draws, by_alias=True).decode()
