"""Additional parts that benchmarks need: the benchmarks in Java, a signing node, a token."""

import shutil
from collections.abc import Iterator

from tlslab.domain.benchmark import ENGINE
from tlslab.lab.benchmark.jmh import has_jar
from tlslab.lab.request import Request
from tlslab.lab.required_parts import Part
from tlslab.servers.signer import find_signer


def benchmark_parts(request: Request) -> Iterator[Part]:
    """The parts of a request that are missing."""
    levels = request.experiment.levels("runtime")
    if any(level != ENGINE for level in levels) and not has_jar():
        needed = ("install-debian.sh", "only", "mvn", "javac")
        yield Part("benchmarks.jar", "the benchmarks in Java", 2, (needed, ("build-java.sh",)))
    keys = request.experiment.levels("keys")
    if "cluster" in keys and find_signer() is None:
        yield Part("tlslab-signer", "the signing node (needs Go 1.24)", 3, (("build-signer.sh",),))
    if "pkcs11" in keys and not (shutil.which("softhsm2-util") and shutil.which("pkcs11-tool")):
        needed = ("install-debian.sh", "only", "softhsm2-util", "pkcs11-tool")
        yield Part("softhsm2", "the Debian packages softhsm2 and opensc", 1, (needed,))
