"""What Redis as a broker needs; imported where the broker is Redis alone, since its client takes a while."""

from kombu.transport import redis


class ForgivingQoS(redis.QoS):
    """Forgets a delivery even if Redis, being away, does not take its acknowledgement.

    Kombu's own keeps it then, and a worker that holds one message at a time takes no other for ever.
    Redis may deliver the message again; the claim makes that harmless.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a delivery."""
        try:
            self._remove_from_indices(delivery_tag).execute()  # type: ignore[no-untyped-call]
        finally:
            super(redis.QoS, self).ack(delivery_tag)  # type: ignore[no-untyped-call]


redis.Channel.QoS = ForgivingQoS
