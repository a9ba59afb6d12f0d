"""A Kafka cluster: its address and its security."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.errors import ConnectorError
from headrace.ports import Secret
from headrace.ports.options import choice, texts, wrong
from headrace.ports.secrets import secret_of, with_secrets

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_SECURITY = ("protocol", "mechanism", "user", "password", "ca", "certificate", "key", "key_password")
_SECRETS = ("password", "key_password")
# Parts of the names of settings that hold secrets.
_TELLING = ("password", "passphrase", "jaas", "secret", "token")

# The timeout for checking whether the cluster answers; a run uses Kafka's own.
ANSWER_MS = 10_000


@dataclass(frozen=True)
class Cluster:
    """Servers, their security, and further settings of Kafka's clients."""

    servers: str
    security: Mapping[str, Any] = field(default_factory=dict)
    clients: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, verb: str, servers: Any, security: Any, options: Any) -> Cluster:
        """The cluster from the options of a source or sink, each checked."""
        addresses = [servers] if isinstance(servers, str) else servers
        if not isinstance(addresses, Sequence) or not addresses or not all(isinstance(one, str) and ":" in one for one in addresses):
            raise wrong(f"{verb}: servers cannot be {servers!r}", 'it is "host:9092", or several of them')
        clients = texts(verb, "options", options or {})
        for name in clients:
            if _is_secret(name):
                raise wrong(f"{verb}: `{name}` cannot be set in options", 'use security={"password": hr.secret("NAME")}')
        return cls(",".join(one.strip() for text in addresses for one in text.split(",")), _security(verb, security), clients)

    def options(self) -> dict[str, Any]:
        """The options that a plan stores: of secrets, only their places."""
        options: dict[str, Any] = {"servers": self.servers}
        if self.security:
            options["security"] = {
                name: item.to_json() if isinstance(item, Secret) else item for name, item in sorted(self.security.items())
            }
        if self.clients:
            options["options"] = dict(sorted(self.clients.items()))
        return options

    def properties(self) -> dict[str, str]:
        """The properties of Kafka's clients, with the secrets themselves: never for text that is shown."""
        properties = {"bootstrap.servers": self.servers, **self.clients}
        has = {name: item.read() if isinstance(item, Secret) else str(item) for name, item in self.security.items()}
        if not has:
            return properties
        properties["security.protocol"] = has["protocol"]
        if "user" in has:
            module = MECHANISMS[has["mechanism"]]
            quoted = {name: has.get(name, "").replace("\\", "\\\\").replace('"', '\\"') for name in ("user", "password")}
            properties["sasl.mechanism"] = has["mechanism"]
            properties["sasl.jaas.config"] = f'{module} required username="{quoted["user"]}" password="{quoted["password"]}";'
        if "ca" in has:
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _pem("ca", has["ca"])}
        if "certificate" in has:
            properties |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": _pem("certificate", has["certificate"]),
                "ssl.keystore.key": _pem("key", has["key"]),
            }
            if "key_password" in has:
                properties["ssl.key.password"] = has["key_password"]
        return properties


def _security(verb: str, argument: Any) -> dict[str, Any]:
    argument = with_secrets(argument)
    if argument is None:
        return {}
    if not isinstance(argument, Mapping) or not set(argument) <= set(_SECURITY):
        unknown = (
            ", ".join(sorted(str(name) for name in set(argument) - set(_SECURITY))) if isinstance(argument, Mapping) else repr(argument)
        )
        raise wrong(f"{verb}: security cannot have {unknown}", f"it is a dict of: {', '.join(_SECURITY)}")
    settings: dict[str, Any] = {
        name: secret_of(verb, name, item) if name in _SECRETS else item for name, item in argument.items() if item is not None
    }
    if ("user" in settings) != ("password" in settings):
        raise wrong(f"{verb}: security needs both a user and a password, or neither", "give both")
    if ("certificate" in settings) != ("key" in settings):
        raise wrong(f"{verb}: security needs both a certificate and a key, or neither", "give the files of both")
    settings["protocol"] = choice(verb, "protocol", settings.get("protocol", "SASL_SSL" if "user" in settings else "SSL"), PROTOCOLS)
    if settings["protocol"].startswith("SASL"):
        if "user" not in settings:
            raise wrong(
                f"{verb}: {settings['protocol']} needs a user and a password", 'security={"user": ..., "password": hr.secret("NAME")}'
            )
        settings["mechanism"] = choice(verb, "mechanism", settings.get("mechanism", "PLAIN"), tuple(MECHANISMS))
    return settings


def _is_secret(name: str) -> bool:
    # The address of a token endpoint is not a secret: sasl.oauthbearer.token.endpoint.url
    return name == "ssl.keystore.key" or (any(word in name for word in _TELLING) and not name.endswith(".url"))


def _pem(what: str, file: str) -> str:
    try:
        return Path(file).expanduser().read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is not PEM text"
        raise ConnectorError("KAFKA_TLS", f"the file {file} of `{what}` cannot be read: {reason}", hint="it must be a PEM file") from None
