"""How a sink connects to a server, and the errors for a server that refuses."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from headrace.errors import ConnectorError, HeadraceError
from headrace.ports.options import certificates, wrong
from headrace.ports.secrets import Secret


def check_authority(verb: str, url: str) -> None:
    """Refuse a certificate authority for a server without TLS, or for an address that names one."""
    if urlsplit(url).scheme != "rediss":
        raise wrong(f"{verb}: ca= is for TLS, but the address is without TLS", 'write "rediss://host:6379/0"')
    if "ssl_ca_certs" in parse_qs(urlsplit(url).query):
        raise wrong(f"{verb}: both ca= and the address set an authority", "remove ssl_ca_certs from the address")


def connected(verb: str, url: str, user: str | None, password: Secret | None, ca: str | None) -> Any:
    """A client, which connects on first use. Retries are left to the sink, which knows the steps that are safe to repeat."""
    import redis

    tls: dict[str, Any] = {}
    if urlsplit(url).scheme == "rediss":
        # Before version 6 the client accepted a certificate of any host.
        tls = {"ssl_check_hostname": parse_qs(urlsplit(url).query).get("ssl_cert_reqs") != ["none"]}
    if ca is not None:
        tls["ssl_ca_data"] = certificates(verb, "ca", ca)
    word = password.read() if password is not None else None
    return redis.Redis.from_url(url, username=user, password=word, socket_timeout=60, retry=None, **tls)


def refusal(name: str, url: str, problem: Exception) -> HeadraceError:
    """The error for a server's refusal of the sink of this name."""
    import redis

    message = str(problem)
    if isinstance(problem, redis.AuthenticationError | redis.exceptions.NoPermissionError) or message.startswith(("NOAUTH", "WRONGPASS")):
        hint = 'check user= and password=hr.secret("REDIS_PASSWORD")'
        return ConnectorError("DATABASE_REFUSED", f"{url} rejected the request: {message}", hint=hint)
    if isinstance(problem, redis.ConnectionError | redis.TimeoutError):
        hint = "check that the server runs and that its port can be reached from here"
        if "certificate" in message.lower():
            hint = 'check that the certificate is for the host in the address, and that ca="ca.pem" names the authority that signed it'
            return ConnectorError("DATABASE_UNREACHABLE", f"no TLS connection to {url}: {message}", hint=hint)
        return ConnectorError("DATABASE_UNREACHABLE", f"{url} cannot be reached: {message}", hint=hint)
    if "maxmemory" in message:
        hint = "give the server more memory (maxmemory) and start again: no row is lost or duplicated"
        return HeadraceError("DISK_FULL", f"{name}: {url} reported: {message}", hint=hint)
    return HeadraceError(
        "SINK_FAILED", f"{name}: {url} reported: {message}", hint="fix the cause and start again: no row is lost or duplicated"
    )
