"""What FastAPI's own OpenAPI document leaves out: our errors, the settings of a line, the proxy's replies."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
from fastapi import FastAPI

from service.api import problem
from service.lines import SWITCHES, LineConfig
from service.proxy.serve import PREFIXES

_REF = "#/components/schemas/{name}"
_METHODS = frozenset({"get", "put", "post", "patch", "delete", "options", "head"})


def complete(app: FastAPI) -> None:
    """Let the application's document name every reply."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = made()
            _describe(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way


def _describe(document: dict[str, Any]) -> None:
    components = document.setdefault("components", {}).setdefault("schemas", {})
    _add_line_settings(document, components)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method in _METHODS:
                replies = operation.setdefault("responses", {})
                (_as_provider if path.startswith(PREFIXES) else _as_problem)(replies)


def _as_problem(replies: dict[str, Any]) -> None:
    """Errors of our own routes are RFC 9457 documents, whatever their status."""
    content = {problem.CONTENT_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}}
    for status, reply in replies.items():
        if status.isdigit() and int(status) >= 400:
            reply["content"] = content
    replies["default"] = {"description": "The request was not carried out.", "content": content}


def _as_provider(replies: dict[str, Any]) -> None:
    """The proxy's replies are the provider's, and its errors wear the provider's shape."""
    anything: dict[str, Any] = {
        "application/json": {"schema": {}},
        "text/event-stream": {"schema": {}},
    }
    replies["default"] = {
        "description": "The provider's reply, or an error of ours in the provider's shape.",
        "content": anything,
    }


def _add_line_settings(document: dict[str, Any], components: dict[str, Any]) -> None:
    _, found = msgspec.json.schema_components([LineConfig], ref_template=_REF)
    components |= found
    settings = components["LineConfig"]
    settings["properties"]["reason"] = {
        "type": "string",
        "maxLength": 1000,
        "description": "Why, for the line's history.",
    }
    settings["additionalProperties"] = False
    components["LineChange"] = change = copy.deepcopy(settings)
    for name in SWITCHES:
        group = change["properties"][name]
        member = {"anyOf": [group["additionalProperties"], {"type": "null"}]}
        change["properties"][name] = {
            "anyOf": [{**group, "additionalProperties": member}, {"type": "null"}],
            "description": "Null takes a member, or all of them, back to the default.",
        }
    operations = document["paths"].get("/v1/lines/{line}", {})
    for method, name in (("put", "LineConfig"), ("patch", "LineChange")):
        body = {"schema": {"$ref": _REF.format(name=name)}}
        operations[method]["requestBody"] = {
            "required": True,
            "content": {"application/json": body},
        }
