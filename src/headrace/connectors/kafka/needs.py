"""The packages for Kafka: `python tools/pins.py org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 --beside-spark`."""

from __future__ import annotations

from pathlib import Path

from headrace.packages import Jar, Packages

# 4.2.0 is the newest version of Spark's connector on Maven Central; it works with Spark 4.3.
KAFKA = Packages(
    jars=(
        Jar("org.apache.commons:commons-pool2:2.13.1", "f77a5060d6936a9144023584232f9de3f2248f1abfe156e9d31795f18770674f"),
        Jar("org.apache.kafka:kafka-clients:3.9.2", "014b4ef36884478a932641818b080c36a8f8e2e92dc771e800c9d2694f4f83d8"),
        Jar("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705"),
        Jar(
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.2.0",
            "641c7947afc8aa1189e433b7c2d305293993c8691bc1c2062d6d4f513b12518c",
        ),
    ),
    scala=Path(__file__).parent / "scala",
    name="kafka",
)
PACKAGES = (KAFKA,)
