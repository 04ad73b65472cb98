"""Errors keep their message, hint and attributes on their way between processes."""

import pickle

import pytest

from prefdex_shared import errors
from prefdex_shared.errors import EngineError, MissingExtraError, PrefdexError

KINDS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, PrefdexError)]


@pytest.mark.parametrize(
    "error",
    [
        *(kind("What.", hint="Do.") for kind in KINDS if kind not in {EngineError, MissingExtraError}),
        EngineError("What.", retryable=True, hint="Do."),
        MissingExtraError("tokenizers", "client"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_pickled(error: PrefdexError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def test_the_tree_in_the_docstring_is_whole() -> None:
    assert all(kind.__name__ in str(errors.__doc__) for kind in KINDS)


def test_a_missing_package_names_its_extra() -> None:
    assert MissingExtraError("tokenizers", "client").hint == "Install it with: pip install 'prefdex[client]'"
