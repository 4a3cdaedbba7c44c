"""A client of a Newfound service: the standard library alone, and pandas if it is there."""

from newfound_client.client import Client
from newfound_client.errors import JobNotSucceeded, NewfoundError, NoAnswer, Refused
from newfound_client.tables import flat, to_frame

__all__ = ["Client", "JobNotSucceeded", "NewfoundError", "NoAnswer", "Refused", "flat", "to_frame"]
