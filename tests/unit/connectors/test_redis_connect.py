"""How the Redis sink connects: what its client is told of TLS, whichever version of it is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.redis.connect import connected

pytest.importorskip("redis")


def tls_options(url: str, ca: str | None = None) -> dict[str, Any]:
    options = connected("write.redis", url, None, None, ca).connection_pool.connection_kwargs
    return {name: value for name, value in options.items() if name.startswith("ssl")}


def test_the_host_of_a_certificate_is_checked(tmp_path: Path) -> None:
    """Clients before version 6 check none of their own motion."""
    text = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
    (tmp_path / "ca.pem").write_text(text)
    assert tls_options("redis://cache") == {}
    assert tls_options("rediss://cache") == {"ssl_check_hostname": True}
    assert tls_options("rediss://cache", str(tmp_path / "ca.pem")) == {"ssl_check_hostname": True, "ssl_ca_data": text}
    # Who asks for no certificate asks for no host of it, which Python's TLS refuses to put together.
    assert tls_options("rediss://cache?ssl_cert_reqs=none") == {"ssl_cert_reqs": "none", "ssl_check_hostname": False}
