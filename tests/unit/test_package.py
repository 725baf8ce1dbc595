"""The package's own surface."""

import tpucompat
from tpucompat.environment import Environment, environment


def test_environment_is_a_function_and_a_module():
    assert isinstance(tpucompat.environment(), Environment)
    assert tpucompat.environment() is environment()
    assert tpucompat.environment.environment is environment


def test_unknown_names_are_attribute_errors():
    assert not hasattr(tpucompat, "nonsense")


def test_version():
    from tpucompat.version import VERSION

    assert tpucompat.__version__ == VERSION
