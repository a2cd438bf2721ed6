"""Uses of the type hints of tools/clients/python. test_hints_of_redis_py.py checks it; nothing runs it."""
from typing import Any, Dict, List, Optional, Tuple, Union

from typing_extensions import assert_type

import expired
import expired.asyncio
from expired import Bulk
from expired.replies import RedeInfoReply


def replies(client: expired.Redis) -> None:
    assert_type(client.rede_push("d", 50, "payload", b"id", postpone=True, postpone_atmost=500), Optional[bool])
    assert_type(client.rede_poll("d"), List[Bulk])
    assert_type(client.rede_poll("d", count=1, withids=True), List[Tuple[Bulk, Bulk]])
    assert_type(client.rede_claim("d", 50, count=1, block=0.5), List[Tuple[Bulk, Bulk, int]])
    assert_type(client.rede_claim("d", 50, tokens=True), List[Tuple[Bulk, Bulk, int, int]])
    assert_type(client.rede_info("d"), RedeInfoReply)
    assert_type(client.rede_info("d")["next-deadline"], Optional[int])
    assert_type(client.bztspop("z", 1, 0), Optional[List[Tuple[Bulk, float]]])
    assert_type(client.zaddex("z", (1, "a"), (2, b"b"), ex=5, nx=True), int)
    assert_type(client.hgetex("h", "a", "b", persist=True), List[Union[bytes, str, None]])
    assert_type(client.increx("n", ex=5), Tuple[int, int])
    assert_type(client.increx("n", byfloat=1.5), Tuple[float, float])
    assert_type(client.policy_list(), Dict[Bulk, Dict[Bulk, Union[int, bytes, str]]])
    with client.pipeline() as pipe:
        pipe.rede_push("d", 50, "payload", "id")


async def replies_of_asyncio(client: expired.asyncio.Redis) -> None:
    assert_type(await client.rede_poll("d", withids=True), List[Tuple[Bulk, Bulk]])
    assert_type(await client.sexpire("s", 5, "a", "b", nx=True), List[int])
    await client.policy_set("s:*", ttl="5m", refresh="WRITE", expired_to="log", expired_value=True)


def faults(client: expired.Redis) -> Any:
    client.rede_claim("d", "soon")  # type: ignore[call-overload]
    client.rede_push("d", 50, "payload")  # type: ignore[call-arg]
    client.rede_poll("d", counts=1)  # type: ignore[call-overload]
    client.xnack("x", "g", "OTHER", "1-1")  # type: ignore[arg-type]
