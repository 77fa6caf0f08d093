"""What pyproject.toml cannot say: the wheel has programs, no module of one version of Python."""

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class WheelOfPrograms(bdist_wheel):
    """A wheel for every Python 3 on one platform."""

    def get_tag(self) -> tuple[str, str, str]:
        """Tags as in `py3-none-linux_x86_64`."""
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"bdist_wheel": WheelOfPrograms})
