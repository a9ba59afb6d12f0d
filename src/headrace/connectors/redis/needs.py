"""The packages that are needed besides Spark: Jedis, the client, with its dependencies."""

from __future__ import annotations

from pathlib import Path

from headrace.packages import Jar, Packages

JVM = Packages(
    name="redis",
    scala=Path(__file__).parent / "scala",
    jars=(
        Jar("redis.clients:jedis:7.5.3", "37ce699cea551b7d7a80d7a5043304bce6a14d1eefd8301afdeb8cf1e0c9216b"),
        Jar("org.apache.commons:commons-pool2:2.13.1", "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f"),
        Jar("org.json:json:20251224", "2a3438fbf9293174ea82bdfa35e83d8b965cfe6bddc034a1ac5d60107174c209"),
        Jar(
            "redis.clients.authentication:redis-authx-core:0.1.1-beta2", "cc56edb08b3df8562cddac108dca61907d21cc4ad04de05e9f5d1b01058390af"
        ),
    ),
)
