"""Signatures of messages by the Standard Webhooks (standardwebhooks.com), so that receivers need no code of ours."""

import base64
import binascii
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
MIN_BYTES, MAX_BYTES = 24, 64  # of a key


def new_secret() -> str:
    """A secret that nobody knows yet."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def key_of(secret: str) -> bytes:
    """The key that a secret stands for. Raises ValueError."""
    try:
        if not secret.startswith(PREFIX):
            raise ValueError
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (ValueError, binascii.Error):
        raise ValueError(f"the secret must be {PREFIX} and the key in Base64") from None
    if not MIN_BYTES <= len(key) <= MAX_BYTES:
        raise ValueError(f"the key of the secret must have {MIN_BYTES} to {MAX_BYTES} bytes; it has {len(key)}")
    return key


def headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers that prove who has sent a message, and when."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.new(key_of(secret), signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{signature}"}
