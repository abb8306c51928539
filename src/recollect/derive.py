"""What turns the signature of a Python method into a call of its operation."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from recollect.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")


def method_of(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function that returns its arguments a method that does the operation *name* with them.

    A call that does not fit its signature is an InputError, as is a value that does not fit the request.
    """

    def decorate(signature: Callable[P, T]) -> Callable[P, T]:
        @wraps(signature)
        def method(*args: P.args, **kwargs: P.kwargs) -> T:
            from recollect.operations.answer import call_operation  # noqa: PLC0415  (a start loads no operation)

            given: Any
            try:
                given = signature(*args, **kwargs)
            except TypeError as error:
                raise _misfit(signature, error) from error
            done: T = call_operation(given.pop("self"), name, given)
            return done

        return method

    return decorate


def given(values: dict[str, Any]) -> Any:
    """Return the arguments of a call, for `method_of`."""
    return values


def _misfit(signature: Callable[..., Any], error: TypeError) -> InputError:
    from inspect import signature as signature_of  # noqa: PLC0415  (only an error reads it)

    names = [each for each in signature_of(signature).parameters if each != "self"]
    told = str(error).replace("Methods.", "").replace("()", "", 1)
    return InputError(told, hint=f"it takes {', '.join(names)}")
