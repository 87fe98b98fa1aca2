"""What routes ask for: the running cache, the caller, the role that a call needs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast

from fastapi import Depends, Request

from service.auth import Keys
from service.cache import Cache, Caller, Role
from service.errors import Forbidden


def get_cache(request: Request) -> Cache:
    """The cache that the lifespan built."""
    return cast(Cache, request.app.state.cache)


def get_keys(request: Request) -> Keys:
    """The API keys."""
    return cast(Keys, request.app.state.keys)


async def get_caller(request: Request, keys: Annotated[Keys, Depends(get_keys)]) -> Caller:
    """Who asks; raises Unauthorized."""
    return await keys.caller(request.headers.get("authorization"))


def at_least(role: Role) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """A dependency: the caller, if the key's role includes `role`; raises Forbidden."""

    async def check(caller: Annotated[Caller, Depends(get_caller)]) -> Caller:
        if not caller.may(role):
            raise Forbidden(f"this call needs the role {role}; the key has {caller.role}")
        return caller

    return check


CacheDep = Annotated[Cache, Depends(get_cache)]
User = Annotated[Caller, Depends(at_least("use"))]
Reviewer = Annotated[Caller, Depends(at_least("review"))]
Admin = Annotated[Caller, Depends(at_least("admin"))]
