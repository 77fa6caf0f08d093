"""What pyproject.toml cannot say: the tag of the wheel, and programs without OpenSSL."""

import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools_rust.build import build_rust

# Leaves OpenSSL out of the programs, if it is set; `make demo` sets it (scripts/set_up.py).
WITHOUT_OPENSSL = "TLSLAB_WITHOUT_OPENSSL"
NO_FEATURES = "--no-default-features"


class WheelOfPrograms(bdist_wheel):
    """A wheel for every Python 3 on one platform: it has programs, and no module of one version."""

    def get_tag(self) -> tuple[str, str, str]:
        """Tags as in `py3-none-linux_x86_64`."""
        return "py3", "none", super().get_tag()[2]


class BuildOfPrograms(build_rust):
    """Compiles the programs, with OpenSSL unless the environment says otherwise."""

    def run(self) -> None:
        """Calls cargo for each program."""
        if os.environ.get(WITHOUT_OPENSSL):
            for program in self.extensions:
                # An editable installation runs this twice.
                if NO_FEATURES not in program.args:
                    program.args = (*program.args, NO_FEATURES)
        super().run()


setup(cmdclass={"bdist_wheel": WheelOfPrograms, "build_rust": BuildOfPrograms})
