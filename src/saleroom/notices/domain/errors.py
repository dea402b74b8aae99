"""Refusals of notices; their kinds are in `kernel/errors.py`."""

from __future__ import annotations

from saleroom.kernel.errors import Conflict, Unknown


class UnknownWord(Unknown):
    """No word with this number waits or was given up."""

    code = "unknown_word"


class UnknownSubscription(Unknown):
    """You have no browser with this number that gets messages."""

    code = "unknown_subscription"


class UnknownWebhook(Unknown):
    """You have no webhook with this number."""

    code = "unknown_webhook"


class TooManyWebhooks(Conflict):
    """You have as many webhooks as one user may have; delete one first."""

    code = "too_many_webhooks"


class WebhookOff(Conflict):
    """This webhook is switched off; switch it on first."""

    code = "webhook_off"
