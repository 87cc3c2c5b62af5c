"""The plan interpreter: one kernel evaluates every rule, a block of bindings at a time.

A plan is an int64 array of steps. Step k reads a block of bindings and fills the next block; when
that is full, step k + 1 runs on it before step k goes on, so that memory stays bounded whatever
the size of the join. All cursors live in `state`: the kernel can stop anywhere (buffer full, time
slice over) and resume.
"""

from __future__ import annotations

import time

import numpy as np

from stratalog.kernels.closure.steps import no_closure, read_closure
from stratalog.kernels.forms import primitive
from stratalog.kernels.jit import kernel, variant
from stratalog.kernels.memory import CLOSURE, i64
from stratalog.kernels.plan.intersect import meet
from stratalog.kernels.plan.steps import (
    ABSENT,
    BLOCK,
    DESCRIPTOR,
    EXHAUSTED,
    LEVEL,
    LEVEL_STATE,
    MEET,
    MEMBER,
    N_IN,
    N_OUT,
    OPERATION,
    PROBE,
    READY,
    RELATION,
    RUN_STATE,
    SCAN_ALL,
    SCAN_TABLE,
    SET,
    WORK,
    look_up,
    probe,
    scan_rows,
    scan_table,
)
from stratalog.kernels.relation.merge import merge
from stratalog.kernels.status import DONE, FULL, PAUSED, STUCK

__all__ = [  # of the steps, what others need too
    "BLOCK",
    "DESCRIPTOR",
    "DONE",
    "FULL",
    "LEVEL_STATE",
    "MEMBER",
    "N_OUT",
    "PAUSED",
    "PROBE",
    "RUN_STATE",
    "SCAN_ALL",
    "STUCK",
    "WORK",
]


@primitive
def clock():
    """Return the CPU time of this process in microseconds, like the function of C."""
    return time.process_time_ns() // 1000


# A plan: [steps, variables, head relation, count mode, offset of each step ..., offset of the
# output].
PLAN_STEPS, PLAN_VARIABLES, PLAN_HEAD, PLAN_MODE, PLAN_OFFSETS = 0, 1, 2, 3, 4


@kernel
def start(state):
    """Set the state to the beginning of a plan: one empty binding."""
    state[LEVEL] = 0
    state[N_OUT] = 0
    state[RUN_STATE + N_IN] = 1
    state[RUN_STATE + READY] = 0


@kernel
def _emit(plan, at, state, s, bind, source, out):
    """Append the output of the last level's bindings to `out`."""
    n, begin = state[s + N_IN], state[N_OUT]
    for c in range(plan[at]):
        value = plan[at + 2 + 2 * c]
        if plan[at + 1 + 2 * c]:
            out[c, begin : begin + n] = np.uint32(value)
        else:
            for i in range(n):
                out[c, begin + i] = bind[source + value, i]
    state[N_OUT] = begin + n


def _until(most, *arguments):
    """Return the arguments of `evaluate` with which it takes so many steps at most."""
    *others, slice_end = arguments
    return (*others, min(slice_end, others[3][WORK] + most))


@kernel(steps=_until)
def evaluate(plan, relations, sets, state, bind, active, key, table, n_table, out, slice_end):
    """Run a plan until it is done, `out` cannot take another block, or the time slice is over."""
    steps, variables = plan[PLAN_STEPS], plan[PLAN_VARIABLES]
    level = state[LEVEL]
    while level >= 0:
        s = RUN_STATE + level * LEVEL_STATE
        at = plan[PLAN_OFFSETS + level]
        source = level * variables
        if level == steps:
            if state[N_OUT] + state[s + N_IN] > out.shape[1]:
                state[LEVEL] = level
                return FULL
            _emit(plan, at, state, s, bind, source, out)
            level -= 1
            if level >= 0 and state[s - LEVEL_STATE + EXHAUSTED] != 0:
                level = _climb(state, level)
            continue
        operation = plan[at + OPERATION]
        target = source + variables
        if operation == SCAN_TABLE:
            m = scan_table(plan, at, state, s, table, n_table, bind, target)
        elif operation == MEET:
            m = meet(
                plan,
                at,
                relations,
                sets,
                state,
                s,
                bind,
                source,
                target,
                active,
                level,
                key,
                slice_end,
            )
        else:
            d = i64(relations[plan[at + RELATION]], DESCRIPTOR)
            member = sets[plan[at + SET]]
            if d[CLOSURE] != 0:
                m = read_closure(plan, at, d, state, s, member, bind, source, target, active, level)
            elif operation == PROBE:
                m = probe(
                    plan,
                    at,
                    d,
                    state,
                    s,
                    member,
                    bind,
                    source,
                    target,
                    active,
                    level,
                    key,
                    slice_end,
                )
            elif operation in (MEMBER, ABSENT):
                m = look_up(plan, at, d, state, s, member, bind, source, target, active, level, key)
            else:
                m = scan_rows(
                    plan, at, d, state, s, member, bind, source, target, active, level, slice_end
                )
        if m > 0:
            level += 1
            state[s + LEVEL_STATE + N_IN] = m
            state[s + LEVEL_STATE + READY] = 0
        elif state[s + EXHAUSTED] != 0:
            level = _climb(state, level)
        if state[WORK] >= slice_end:
            state[LEVEL] = level
            return PAUSED if level >= 0 else DONE
    state[LEVEL] = level
    return DONE


@kernel
def _climb(state, level):
    """Return the nearest level, from `level` up, whose input is not used up, or -1."""
    while level >= 0 and state[RUN_STATE + level * LEVEL_STATE + EXHAUSTED] != 0:
        level -= 1
    return level


# The state of a run over several plans.
PLAN_NUMBER, PENDING, LAST_STATUS, MERGED, SINCE, BATCH_STATE = range(6)


@kernel(resumes=True)
def evaluate_all(
    plans,
    offsets,
    relations,
    sets,
    batch,
    state,
    bind,
    active,
    key,
    out,
    ahead,
    profile,
    stop,
    work,
):
    """Run plans one after the other and merge what they derive into their head relations.

    Returns DONE, PAUSED, or that a merge into the head relation of plan batch[PLAN_NUMBER] is
    STUCK. profile[p] gains the derivations, rows visited and microseconds of plan p.
    """
    nothing = out[:, :0]
    weights = profile[0, :0]
    slice_end = state[WORK] + work
    while batch[PLAN_NUMBER] < offsets.size - 1:
        p = batch[PLAN_NUMBER]
        plan = plans[offsets[p] : offsets[p + 1]]
        if batch[PENDING] == 0:
            if stop[0] != 0:
                return PAUSED
            before = state[WORK]
            batch[LAST_STATUS] = evaluate(
                plan, relations, sets, state, bind, active, key, nothing, 0, out, slice_end
            )
            profile[p, 1] += state[WORK] - before
            batch[PENDING] = 1
            batch[MERGED] = 0
        n = state[N_OUT]
        if n > batch[MERGED]:
            d = i64(relations[plan[PLAN_HEAD]], DESCRIPTOR)
            batch[MERGED] = merge(d, 0, out, weights, batch[MERGED], n, plan[PLAN_MODE], ahead)
            if batch[MERGED] < n:
                return STUCK
            profile[p, 0] += n
        state[N_OUT] = 0
        batch[PENDING] = 0
        now = clock()
        profile[p, 2] += now - batch[SINCE]
        batch[SINCE] = now
        if batch[LAST_STATUS] == DONE:
            batch[PLAN_NUMBER] += 1
            start(state)
        elif batch[LAST_STATUS] == PAUSED:
            return PAUSED
    return DONE


evaluate_rows = variant(evaluate, "evaluate_rows", read_closure=no_closure)
evaluate_all_rows = variant(evaluate_all, "evaluate_all_rows", usual=True, evaluate=evaluate_rows)
"""The same where no relation is read from a closure: a third less to compile."""
