"""Tables of names and values (in curator.toml, a request, the ledger) read through models, with our own messages.

Promise: no value is converted, a key that is not known is refused, and what is wrong is named with its place, such as
datasets.hospital.tables.visits.columns.cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictStr,
    ValidationError,
    WrapValidator,
    model_validator,
)
from pydantic import ValidatorFunctionWrapHandler as Handler

from discreet.errors import BadParameter

S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """A table whose keys are known."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _known_only(cls, data: Any) -> Any:
        return table_of(data, "", cls.model_fields)


def table_of(data: Any, place: str, allowed: Iterable[str] | None = None) -> dict[str, Any]:
    """A table of names and values whose keys are known; None: any."""
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise BadParameter(place, data, "must be a table of names and values")
    names = sorted(data if allowed is None else allowed)
    for key, value in data.items():
        if key not in names:
            raise BadParameter(f"{place}.{key}", value, f"must be left out; known are {', '.join(names)}")
    return data


def read_section(model: type[S], data: Any, place: str) -> S:
    """What a table holds, or ``BadParameter`` with the place of the first mistake."""
    try:
        return model.model_validate(data)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
    below = "".join(f".{part}" for part in first["loc"] if isinstance(part, str))
    cause = first.get("ctx", {}).get("error")
    if not isinstance(cause, BadParameter):
        cause = BadParameter("", first["input"], "must be of another type")
    raise cause.renamed(f"{place}{below}{cause.name}")


def must(words: str) -> WrapValidator:
    """What a value must be: the message for whatever is wrong with it."""

    def check(value: Any, handler: Handler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise BadParameter("", value, words) from None

    return WrapValidator(check)


def reads(read: Callable[[Any, str], Any]) -> PlainValidator:
    """A value that a function reads: ``read(value, place)``."""
    return PlainValidator(lambda value: read(value, ""))


Text = Annotated[StrictStr, Field(min_length=1), must("must be a text")]
OptionalText = Annotated[StrictStr | None, Field(min_length=1), must("must be a text")]
Flag = Annotated[StrictBool, must("must be true or false")]
