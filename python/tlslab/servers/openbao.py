"""The set-up of a signing node over its API: the transit engine, a key, a token that may sign."""

import base64
import json
import os
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes, keywrap, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tlslab.domain.errors import CannotRunError

TOKEN_HEADER = "X-Vault-Token"
PATIENCE_S = 20

# The size limit of a foreign answer.
_ANSWER = 256 * 1024


@dataclass(frozen=True)
class NodeApi:
    """A node's API, with a token; `authority` is the trusted authority in PEM."""

    url: str
    token: str
    authority: str

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Makes one request. Raises CannotRunError with the node's own words."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/v1/{path}", data=data, method=method)
        request.add_header(TOKEN_HEADER, self.token)
        context = ssl.create_default_context(cadata=self.authority)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                text = answer.read(_ANSWER)
        except urllib.error.HTTPError as error:
            why = error.read(_ANSWER).decode("utf-8", "replace")
            raise CannotRunError(_refusal(self.url, path, f"{error.code} {why}")) from None
        except (OSError, ValueError) as error:
            raise CannotRunError(_refusal(self.url, path, str(error))) from None
        return dict(json.loads(text)) if text else {}


def _refusal(url: str, path: str, why: str) -> str:
    return f"signing node {url} refuses {path}: {' '.join(why.split())[:200]}"


def set_up(node: NodeApi, name: str, key_pem: bytes, token: str) -> None:
    """Imports the key under a name, and makes a token that may only sign with it.

    Revokes the node's own token. Raises CannotRunError.
    """
    node.ask("POST", "sys/mounts/transit", {"type": "transit"})
    wrapping = node.ask("GET", "transit/wrapping_key")["data"]["public_key"]
    node.ask(
        "POST",
        f"transit/keys/{name}/import",
        {"ciphertext": wrapped(key_pem, wrapping), "type": _kind(key_pem)},
    )
    policy = f'path "transit/sign/{name}/*" {{ capabilities = ["update"] }}'
    node.ask("POST", "sys/policies/acl/sign", {"policy": policy})
    leave = {
        "id": token,
        "policies": ["sign"],
        "no_default_policy": True,
        "no_parent": True,
        "ttl": "24h",
    }
    node.ask("POST", "auth/token/create", leave)
    node.ask("POST", "auth/token/revoke-self", {})


def wrapped(key_pem: bytes, wrapping_pem: str) -> str:
    """A private key in base64, in the form that the transit engine imports.

    An AES-256 key encrypted by RSA-OAEP with SHA-256, then the PKCS #8 key wrapped by that AES key
    (RFC 5649).
    """
    key = serialization.load_pem_private_key(key_pem, None)
    pkcs8 = key.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    wrapping = serialization.load_pem_public_key(wrapping_pem.encode())
    if not isinstance(wrapping, rsa.RSAPublicKey):
        raise CannotRunError("the signing node's wrapping key is no RSA key")
    between = os.urandom(32)
    mask = padding.MGF1(hashes.SHA256())
    oaep = padding.OAEP(mgf=mask, algorithm=hashes.SHA256(), label=None)
    parts = wrapping.encrypt(between, oaep) + keywrap.aes_key_wrap_with_padding(between, pkcs8)
    return base64.b64encode(parts).decode("ascii")


def _kind(key_pem: bytes) -> str:
    key = serialization.load_pem_private_key(key_pem, None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise CannotRunError("signing nodes are given RSA keys only", "use a key of kind rsa-2048")
    return f"rsa-{key.key_size}"
