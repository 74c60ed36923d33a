"""Variants of a world: more of the same on further servers, or with every server up."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from discovercall.gateway.catalog import World


def online(world: World) -> World:
    """The same world with every server up."""
    return replace(
        world,
        servers=tuple(replace(server, status="online") for server in world.servers),
        tools=tuple(replace(tool, server_status="online") for tool in world.tools),
    )


def copies(world: World, factor: int) -> World:
    """The world `factor` times over: each further copy has the same tools on servers of its own."""
    return grown(world, factor * len(world.tools))


def grown(world: World, tools: int) -> World:
    """As many tools as asked for: the world's own, then further copies on servers of their own.

    Args:
        world: what is repeated.
        tools: how many to have; fewer than the world has cut it short.
    """
    made = list(world.tools[:tools])
    servers = {server.server_id: server for server in world.servers}
    known = set(servers) | {tool.server_id for tool in world.tools}
    for number in count(2):
        if len(made) >= tools:
            break
        suffix = f"-{number}"
        while any(f"{server_id}{suffix}" in known for server_id in known):
            suffix += "x"
        for tool in world.tools[: tools - len(made)]:
            server_id = tool.server_id + suffix
            if tool.server_id in servers:
                servers[server_id] = replace(servers[tool.server_id], server_id=server_id)
            made.append(replace(tool, tool_ref=f"{server_id}.{tool.name}", server_id=server_id))
    ordered = sorted(made, key=lambda tool: tool.tool_ref)
    return replace(world, servers=tuple(servers.values()), tools=tuple(ordered))
