"""What is wrong with data that msgspec refuses: every field by its name, with what it may hold."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from service.errors import FieldError, InvalidRequest

_BOUNDS = (("ge", "at least"), ("gt", "over"), ("le", "at most"), ("lt", "under"))


def invalid(error: msgspec.ValidationError) -> InvalidRequest:
    """msgspec's message already names a limit; its path `$.a.b` becomes the field's name."""
    message, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".") or "body"
    for pattern, said in (
        (r"unknown field `(.+?)`", "is not a known field"),
        (r"missing required field `(.+?)`", "is required"),
    ):
        found = re.search(pattern, message)
        if found:
            field = f"{field}.{found[1]}" if path.rstrip("`") else found[1]
            message = said
    return InvalidRequest(f"{field}: {message}", errors=(FieldError(field, message),))


def every_fault(
    settings: dict[str, Any],
    into: type[msgspec.Struct],
    first: msgspec.ValidationError,
    *,
    groups: Collection[str] = (),
) -> InvalidRequest:
    """What is wrong with each of the settings of a struct, not only with the first.

    Each member of a group (a mapping with names of any kind) is looked at by itself, since msgspec does not name it.
    """
    errors = []
    for name, value in settings.items():
        is_group = name in groups and isinstance(value, dict)
        for part in [{member: given} for member, given in value.items()] if is_group else [value]:
            try:
                msgspec.convert({name: part}, into)
            except msgspec.ValidationError as error:
                found = invalid(error).errors[0]
                member = f".{next(iter(part))}" if is_group else "[...]"
                field = found.field.replace("[...]", member)
                errors.append(FieldError(field, _with_range(found, into)))
    if not errors:
        return invalid(first)
    detail = "; ".join(f"{e.field}: {e.message}" for e in errors)
    return InvalidRequest(detail, errors=tuple(errors))


def _with_range(error: FieldError, into: type[msgspec.Struct]) -> str:
    """The message, with the whole range or all choices where the field has some."""
    kind = _type_of(into, error.field)
    if isinstance(kind, inspect.LiteralType):
        choices = ", ".join(map(str, kind.values))
        _, is_a_word, given = error.message.partition("Invalid enum value ")
        if is_a_word:
            return f"must be one of {choices}, not {given}"
        return f"{error.message} (allowed: {choices})"
    if isinstance(kind, inspect.FloatType | inspect.IntType):
        limits = [
            f"{words} {limit}"
            for name, words in _BOUNDS
            if (limit := getattr(kind, name)) is not None
        ]
        if limits:
            return f"{error.message} (allowed: {' and '.join(limits)})"
    return error.message


@lru_cache(256)
def _type_of(into: type[msgspec.Struct], field: str) -> inspect.Type | None:
    """The type of a field, of which an optional one is what it is when it is given."""
    kind: inspect.Type | None = inspect.type_info(into)
    for part in field.split("."):
        name, _, place = part.partition("[")
        members = kind.fields if isinstance(kind, inspect.StructType) else ()
        kind = next((_given(member.type) for member in members if member.name == name), None)
        if place and isinstance(kind, inspect.VarTupleType | inspect.ListType):
            kind = _given(kind.item_type)
        if kind is None:
            return None
    return kind


def _given(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.UnionType):
        return next(t for t in kind.types if not isinstance(t, inspect.NoneType))
    return kind
