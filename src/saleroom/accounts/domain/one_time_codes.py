"""One-time codes: what an authenticator app shows (TOTP, RFC 6238), and the recovery codes for a lost one."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

SECRET_BYTES = 20
"""Of the secret that the house shares with an app (RFC 4226, 4: at least 16, better 20)."""
STEP_SECONDS = 30
DIGITS = 6
SKEW_STEPS = 1
"""A code counts for its own step of the clock and for as many steps before and after (RFC 6238, 5.2)."""
SET_BACK_STEPS = 2
"""By how many steps the clock may be set back without any code counting twice: so long the next code has to wait."""
SETUP_LIFETIME = timedelta(minutes=30)
"""How long a new secret waits for its first code. Its page shows it again, and only who gave the password may see it."""
RECOVERY_CODES = 10
RECOVERY_BYTES = 15
"""120 random bits, so that a plain digest keeps a code as well as a slow one would."""
FREE_FAILURES = 5
DELAY_SECONDS_MAX = 3600
CODE_MAX = 100
"""Characters of a code with all that people write between its letters."""

_APP_CODE = re.compile(rf"[0-9]{{{DIGITS}}}")
_RECOVERY_CODE = re.compile(r"[a-z2-7]{24}")
_GROUP = 6
_MISREAD = str.maketrans("018", "olb")
"""Digits that no recovery code has, and the letters that people take for them."""


def normalised(text: str) -> str:
    """Return a code as it is compared: without spaces and hyphens, in lower case."""
    return re.sub(r"[\s-]+", "", text[:CODE_MAX]).lower()


def is_app_code(code: str) -> bool:
    """Return whether a normalised code has the form of those that apps show."""
    return code.isascii() and _APP_CODE.fullmatch(code) is not None


def matching_step(secret: bytes, code: str, now: datetime, last_step: int) -> int | None:
    """Return the step of the clock that a code of the form of an app's belongs to, None if it is wrong or was used before.

    `last_step` is the step of the last code that was accepted. If it is further ahead than any code can be, the clock was set
    back, and no longer says which codes were used. Each step takes the same time, whether it matches or not.
    """
    totp = _totp(secret)
    today = int(now.timestamp()) // STEP_SECONDS
    if last_step > today + SKEW_STEPS + SET_BACK_STEPS:
        last_step = 0
    found = None
    for step in range(today - SKEW_STEPS, today + SKEW_STEPS + 1):
        same = hmac.compare_digest(totp.generate(step * STEP_SECONDS), code.encode())
        if same and step > last_step:
            found = step
    return found


def still_waits(made_at: datetime, now: datetime) -> bool:
    """Return whether a secret that nobody has confirmed still waits for its first code."""
    return now < made_at + SETUP_LIFETIME


def current_code(secret: bytes, now: datetime) -> str:
    """Return the code that an app with this secret shows at `now`."""
    return _totp(secret).generate(int(now.timestamp())).decode()


def delay(failures: int) -> timedelta:
    """Return how long the next code has to wait after so many wrong ones in a row.

    A thief who knows the password and fails once an hour for a year finds a code with a chance of three in a hundred.
    """
    if failures < FREE_FAILURES:
        return timedelta(0)
    return timedelta(seconds=min(2 ** min(failures - FREE_FAILURES, 16), DELAY_SECONDS_MAX))


def secret_text(secret: bytes) -> str:
    """Return a secret in Base32, as people type it into an app."""
    return base64.b32encode(secret).decode()


def app_address(secret: bytes, username: str, house: str) -> str:
    """Return the `otpauth:` address of a secret, which apps read from a QR code."""
    return _totp(secret).get_provisioning_uri(username, house)


def recovery_code(random: bytes) -> str:
    """Return a recovery code of these `RECOVERY_BYTES` random bytes, in groups for people."""
    text = base64.b32encode(random).decode().lower()
    return "-".join(text[i : i + _GROUP] for i in range(0, len(text), _GROUP))


def recovery_digest(code: str) -> str | None:
    """Return the digest of a normalised recovery code; None if the code has another form."""
    read = code.translate(_MISREAD)
    return hashlib.sha256(read.encode()).hexdigest() if read.isascii() and _RECOVERY_CODE.fullmatch(read) else None


def _totp(secret: bytes) -> TOTP:
    return TOTP(secret, DIGITS, SHA1(), STEP_SECONDS)  # noqa: S303  # apps know nothing else
