"""The annealing loop and its estimate of a schedule, compiled to machine code.

The estimate follows `compiler.schedulers.placement` node by node: it adds the measured cycles of bodies and transfers
and charges heavily for words that do not fit.  It does not know how far packing overlaps neighbours; the time model
decides between the best few afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable

_SPILL, _RECOMPUTE = 1, 2
#: Charge per long word beyond local memory, and for a value that is nowhere: above any real cost.
_OVERFLOW, _LOST = 1_000.0, 1_000_000.0


@register_jitable
def _drop(v: int, place: Any, root: Any, aliases: Any, lws: Any, used: Any) -> None:
    if place[v] < 0:
        return
    r = root[v]
    aliases[r] -= 1
    if aliases[r] == 0:
        used[place[v]] -= lws[r]
    place[v] = -1


@register_jitable
def _hold(v: int, memory: int, place: Any, root: Any, aliases: Any, lws: Any, used: Any) -> None:
    place[v] = memory
    root[v] = v
    aliases[v] = 1
    used[memory] += lws[v]


@register_jitable
def evaluate(order: Any, policy: Any, home: Any, edges: Any, layers: Any, values: Any, capacity: int) -> float:
    """Estimated cycles of a schedule, with charges for what cannot be."""
    read_at, reads, stream_at, streams, make_at, makes = edges
    first_in, alias, in_place, to_dram, body = layers
    lws, down, up, ident, producer, begins_in_dram, is_output = values
    place = np.full(len(lws), -1)
    root = np.arange(len(lws))
    aliases = np.zeros(len(lws), np.int64)
    in_dram = begins_in_dram.copy()
    left = np.zeros(len(lws), np.int64)
    for value in reads:
        left[value] += 1
    for value in streams:
        left[value] += 1
    used = np.zeros(2, np.int64)
    cost = 0.0
    for node in order:
        begin, end = read_at[node], read_at[node + 1]
        for k in range(begin, end):
            v = reads[k]
            wanted = first_in[node] if k == begin else -1
            if place[v] < 0:
                memory = wanted if wanted >= 0 else home[v]
                if in_dram[v]:
                    cost += down[v]
                elif policy[v] == _RECOMPUTE and producer[v] >= 0:
                    p = producer[v]
                    cost += body[p, 0, 0]
                    for j in range(read_at[p], read_at[p + 1]):
                        u = reads[j]
                        if place[u] < 0:
                            cost += down[u] if in_dram[u] else _LOST
                else:
                    cost += _LOST
                _hold(v, memory, place, root, aliases, lws, used)
            elif wanted >= 0 and place[v] != wanted:
                cost += ident[v]
                _drop(v, place, root, aliases, lws, used)
                _hold(v, wanted, place, root, aliases, lws, used)
        first, second = 0, 0
        if end > begin:
            v = reads[begin]
            first = place[v]
            if in_place[node] and (left[v] > 1 or is_output[v]):
                cost += ident[v]
        if end > begin + 1:
            second = place[reads[begin + 1]]
        cost += body[node, first, second]
        for k in range(make_at[node], make_at[node + 1]):
            v = makes[k]
            if to_dram[node]:
                in_dram[v] = 1
            elif alias[node] and end > begin:
                source = reads[begin]
                place[v] = place[source]
                root[v] = root[source]
                aliases[root[v]] += 1
            else:
                _hold(v, 1 - first if end > begin else 0, place, root, aliases, lws, used)
        for memory in range(2):
            if used[memory] > capacity:
                cost += (used[memory] - capacity) * _OVERFLOW
        for k in range(stream_at[node], stream_at[node + 1]):
            v = streams[k]
            left[v] -= 1
            if not in_dram[v]:
                cost += _LOST
        for k in range(begin, end):
            v = reads[k]
            left[v] -= 1
            if left[v] == 0 or policy[v] != 0:
                _drop(v, place, root, aliases, lws, used)
        for k in range(make_at[node], make_at[node + 1]):
            v = makes[k]
            if not in_dram[v] and (is_output[v] or (policy[v] == _SPILL and left[v] > 0)):
                cost += up[v]
                in_dram[v] = 1
            if left[v] == 0 or policy[v] == _SPILL:
                _drop(v, place, root, aliases, lws, used)
    return cost


@register_jitable
def _random(state: Any) -> Any:
    """The next 31 random bits of xorshift64*: the same on every machine."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64((x * np.uint64(2685821657736338717)) >> np.uint64(33))


@register_jitable
def _below(state: Any, limit: int) -> Any:
    return _random(state) % limit


@register_jitable
def move_range(at: int, order: Any, edges: Any, producer: Any, position: Any) -> tuple[int, int]:
    """The places to which the node at `at` can move without passing what it reads or who reads it."""
    read_at, reads, stream_at, streams, _, _ = edges
    node = order[at]
    low, high = 0, len(order) - 1
    for k in range(read_at[node], read_at[node + 1]):
        p = producer[reads[k]]
        if p >= 0:
            low = max(low, position[p] + 1)
    for k in range(stream_at[node], stream_at[node + 1]):
        p = producer[streams[k]]
        if p >= 0:
            low = max(low, position[p] + 1)
    for other in range(at + 1, high + 1):
        if _reads_from(order[other], node, edges):
            high = other - 1
            break
    return low, high


@register_jitable
def _reads_from(reader: int, node: int, edges: Any) -> bool:
    read_at, reads, stream_at, streams, make_at, makes = edges
    for m in range(make_at[node], make_at[node + 1]):
        for k in range(read_at[reader], read_at[reader + 1]):
            if reads[k] == makes[m]:
                return True
        for k in range(stream_at[reader], stream_at[reader + 1]):
            if streams[k] == makes[m]:
                return True
    return False


@register_jitable
def shift(order: Any, position: Any, source: int, target: int) -> None:
    """Move the node at `source` to `target`, those between by one."""
    node = order[source]
    step = 1 if target > source else -1
    for k in range(source, target, step):
        order[k] = order[k + step]
        position[order[k]] = k
    order[target] = node
    position[node] = target


def _anneal(
    order: Any,
    policy: Any,
    home: Any,
    edges: Any,
    layers: Any,
    values: Any,
    capacity: int,
    recomputable: Any,
    free_policy: Any,
    free_home: Any,
    steps: int,
    seed: int,
) -> float:
    """Anneal in place: order, policy and home become the best state found; returns its estimate (with no steps: that
    of the state as it is).
    """
    producer = values[4]
    random = np.empty(1, np.uint64)
    random[0] = np.uint64(seed)
    position = np.empty(len(order), np.int64)
    for k in range(len(order)):
        position[order[k]] = k
    now = evaluate(order, policy, home, edges, layers, values, capacity)
    best = now
    best_order, best_policy, best_home = order.copy(), policy.copy(), home.copy()
    hot = 0.05 * min(now, 1e6) + 1.0
    cooling = (0.01 / hot) ** (1.0 / max(1, steps))
    for _ in range(steps):
        hot *= cooling
        kind = _below(random, 3)
        source = target = value = old = 0
        if kind == 0:
            source = _below(random, len(order))
            low, high = move_range(source, order, edges, producer, position)
            target = low + _below(random, high - low + 1)
            if target == source:
                continue
            shift(order, position, source, target)
        elif kind == 1:
            if len(free_policy) == 0:
                continue
            value = free_policy[_below(random, len(free_policy))]
            old = policy[value]
            policy[value] = (old + 1 + _below(random, 2)) % 3
            if policy[value] == _RECOMPUTE and not recomputable[value]:
                policy[value] = old
                continue
        else:
            if len(free_home) == 0:
                continue
            value = free_home[_below(random, len(free_home))]
            home[value] = 1 - home[value]
        then = evaluate(order, policy, home, edges, layers, values, capacity)
        if then <= now or _below(random, 1 << 30) < np.exp((now - then) / hot) * (1 << 30):
            now = then
            if now < best:
                best = now
                best_order[:], best_policy[:], best_home[:] = order, policy, home
        elif kind == 0:
            shift(order, position, target, source)
        elif kind == 1:
            policy[value] = old
        else:
            home[value] = 1 - home[value]
    order[:], policy[:], home[:] = best_order, best_policy, best_home
    return best


anneal_once: Any = njit(cache=True, nogil=True, error_model="numpy")(_anneal)
