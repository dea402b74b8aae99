"""Ceremonies: what a browser is asked about a passkey, and whether its answer is right, by the library `webauthn`.

The library takes a third of a second to load, so it is loaded by the first who needs it, and each function is to be called in
a thread. An answer comes from a stranger. Whatever the library makes of a strange one, the answer is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from saleroom.accounts.domain.passkeys import CHALLENGE_LIFETIME, Party

if TYPE_CHECKING:
    from webauthn.helpers.structs import AuthenticationCredential, RegistrationCredential

MILLISECONDS = int(CHALLENGE_LIFETIME.total_seconds() * 1000)
CREDENTIAL_BYTES_MAX = 1023
"""Of the number of a passkey (section 4, "Credential ID")."""


class NewPasskey(Struct, frozen=True):
    """A new passkey as its device has made it."""

    credential_id: bytes
    public_key: bytes
    sign_count: int


class Claim(Struct, frozen=True):
    """The passkey that an answer says it is from, and the number of its user on the device."""

    credential_id: bytes
    handle: bytes


def creation_options(
    party: Party, house: str, username: str, handle: bytes, known: Iterable[bytes], challenge: bytes
) -> str:
    """Return what a browser is asked for a new passkey, as JSON. A device that has one of the `known` makes no other."""
    import webauthn
    from webauthn.helpers import structs

    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name=house,
        user_id=handle,
        user_name=username,
        challenge=challenge,
        timeout=MILLISECONDS,
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[structs.PublicKeyCredentialDescriptor(id=one) for one in known],
    )
    return webauthn.options_to_json(options)


def request_options(party: Party, challenge: bytes) -> str:
    """Return what a browser is asked for a login by any passkey of the house that it has, as JSON."""
    import webauthn
    from webauthn.helpers.structs import UserVerificationRequirement

    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=MILLISECONDS,
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


def made(answer: str, party: Party, challenge: bytes) -> NewPasskey | None:
    """Return the new passkey in an answer; None if the answer is wrong.

    The house asks for no attestation, so browsers send none, or one that the passkey itself has signed.
    """
    import webauthn
    from webauthn.helpers import parse_attestation_object, parse_registration_credential_json
    from webauthn.helpers.structs import AttestationFormat

    try:
        credential = parse_registration_credential_json(answer)
        form = parse_attestation_object(credential.response.attestation_object).fmt
        if form not in (AttestationFormat.NONE, AttestationFormat.PACKED) or _is_framed(credential):
            return None
        found = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception:  # noqa: BLE001  # a stranger chooses what the library meets
        return None
    if not 0 < len(found.credential_id) <= CREDENTIAL_BYTES_MAX or found.credential_id != credential.raw_id:
        return None
    return NewPasskey(found.credential_id, found.credential_public_key, found.sign_count)


def claim(answer: str) -> Claim | None:
    """Return what an answer to a login says of itself, which nothing has proven yet; None if it is malformed."""
    from webauthn.helpers import parse_authentication_credential_json

    try:
        credential = parse_authentication_credential_json(answer)
    except Exception:  # noqa: BLE001  # a stranger chooses what the library meets
        return None
    handle = credential.response.user_handle
    if handle is None or not 0 < len(credential.raw_id) <= CREDENTIAL_BYTES_MAX:
        return None
    return Claim(credential.raw_id, handle)


def signed(answer: str, party: Party, challenge: bytes, public_key: bytes) -> int | None:
    """Return the counter in the answer to a login if this key has signed it for this challenge; None if it is wrong.

    Judging the counter is left to the caller, who holds the lock.
    """
    import webauthn
    from webauthn.helpers import parse_authentication_credential_json

    try:
        credential = parse_authentication_credential_json(answer)
        if _is_framed(credential):
            return None
        found = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except Exception:  # noqa: BLE001  # a stranger chooses what the library meets
        return None
    return found.new_sign_count


def _is_framed(credential: RegistrationCredential | AuthenticationCredential) -> bool:
    """Return whether the browser says that a page of somebody else had framed the page."""
    from webauthn.helpers import parse_client_data_json

    return bool(parse_client_data_json(credential.response.client_data_json).cross_origin)
