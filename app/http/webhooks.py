"""The webhook of a job, from the request to the answer."""

from sqlalchemy.orm import Session

from app.core.errors import MalformedRequest
from app.core.settings import Settings
from app.core.tables import Webhook
from app.schemas.webhooks import WebhookIn, WebhookOut
from app.webhooks import sending, signing
from app.webhooks.addresses import Refused, networks_of, target_of


def check_webhook(webhook: WebhookIn | None, settings: Settings) -> None:
    """Raise MalformedRequest for an address or a secret that cannot be used.

    A name is not resolved yet: that may take long, and says nothing of what it is when the job has ended.
    """
    if webhook is None:
        return
    try:
        target_of(webhook.url, networks_of(settings.webhook_networks))
    except Refused as error:
        raise unusable("url", f"the webhook cannot be used: {error}") from error
    try:
        signing.key_of(webhook.secret or signing.new_secret())
    except ValueError as error:
        raise unusable("secret", str(error)) from error


def unusable(part: str, reason: str) -> MalformedRequest:
    """The refusal of a part of a webhook."""
    return MalformedRequest(reason, [{"where": f"body.webhook.{part}", "reason": reason}])


def write_webhook(session: Session, job_id: str, webhook: WebhookIn | None) -> str | None:
    """Note the webhook of a new job; returns its secret if it was made here."""
    return None if webhook is None else sending.add(session, job_id, webhook.url, webhook.secret)


def webhook_out(found: Webhook | None) -> WebhookOut | None:
    """The webhook of a job as HTTP has it, without its secret."""
    if found is None:
        return None
    told = {name: getattr(found, name) for name in ("url", "attempts", "last_error", "delivered_at")}
    return WebhookOut.model_validate({**told, "status": found.state})
