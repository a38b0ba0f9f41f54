"""Signs the statement about a bundle, and checks a signature: a DSSE envelope, by a library that the extra `evidence` brings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proofs.evidence.strict import parsed

PAYLOAD = "application/vnd.in-toto+json"


class NoSignature(Exception):
    """The envelope is not signed with this key, or there is no way to tell; the message says which."""


def _library() -> tuple[Any, Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from securesystemslib import dsse, signer
    except ImportError as absent:
        raise NoSignature(f"{absent.name} is not installed; install draftproof[evidence]") from absent
    return serialization, dsse, signer


def signed(statement: dict[str, Any], key: Path) -> dict[str, Any]:
    """The envelope of the statement, signed with the private key (PEM, without a password) in the file."""
    serialization, dsse, signer = _library()
    try:
        private = serialization.load_pem_private_key(key.read_bytes(), password=None)
        by = signer.CryptoSigner(private)
    except (ValueError, TypeError) as broken:
        raise NoSignature(f"{key}: it is no private key that can sign ({broken})") from broken
    payload = json.dumps(statement, indent=1, sort_keys=True, ensure_ascii=False).encode()
    envelope = dsse.Envelope(payload, PAYLOAD, {})
    envelope.sign(by)
    return dict(envelope.to_dict())


def opened(envelope: str, key: Path) -> dict[str, Any]:
    """The statement in the envelope, if the public key (PEM) in the file has signed it. NoSignature if it has not."""
    serialization, dsse, signer = _library()
    from securesystemslib.exceptions import VerificationError

    try:
        public = signer.SSlibKey.from_crypto(serialization.load_pem_public_key(key.read_bytes()))
    except ValueError as broken:
        raise NoSignature(f"{key}: it is no public key ({broken})") from broken
    try:
        found = dsse.Envelope.from_dict(parsed(envelope))
        if found.payload_type != PAYLOAD:
            raise NoSignature(f"the envelope holds {found.payload_type}, not {PAYLOAD}")
        found.verify([public], 1)
    except VerificationError as wrong:
        raise NoSignature(f"it is not signed with this key ({wrong})") from wrong
    except NoSignature:
        raise
    except Exception as broken:
        raise NoSignature(f"it is no envelope ({type(broken).__name__}: {broken})") from broken
    statement = parsed(found.payload.decode("utf-8"))
    if not isinstance(statement, dict):
        raise NoSignature("the envelope holds no statement")
    return statement
