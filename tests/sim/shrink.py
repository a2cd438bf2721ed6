"""shrink: makes a failing plan smaller, as long as it fails: fewer faults, workloads and nodes, a shorter
span, calmer settings."""
from scenario import play

CALM = {"latency": 0.0001, "yield": 0, "small_reads": 0, "rewrite_at": "64mb", "backlog": "1mb", "apart": 0}


def smaller(plan):
    """Plans that are a step smaller, the largest steps first."""
    found = plan["faults"]
    for size in (len(found) // 2, len(found) // 4, 1):
        for at in range(0, len(found), max(1, size)) if size else ():
            yield {**plan, "faults": found[:at] + found[at + size:]}
    for name in plan["works"] if len(plan["works"]) > 1 else ():
        yield {**plan, "works": [work for work in plan["works"] if work != name]}
    if plan["nodes"] > 2:
        yield {**plan, "nodes": plan["nodes"] - 1}
    if plan["span"] > 1:
        span = plan["span"] / 2
        yield {**plan, "span": span, "faults": [one for one in found if one[0] < span]}
    for name, calm in CALM.items():
        if plan.get(name, calm) != calm:
            yield {**plan, name: calm}


def shrink(plan, report=print, tries=200, stopped=lambda: False):
    """The smallest plan found, and its outcome. `stopped` is asked before each try."""
    outcome = play(plan)
    while tries > 0 and not stopped():
        for candidate in smaller(plan):
            if stopped():
                break
            tries -= 1
            tried = play(candidate)
            if tried.failure:
                plan, outcome = candidate, tried
                report(f"smaller: {len(plan['faults'])} faults, {plan['works']}, {plan['span']} s")
                break
            if tries == 0:
                break
        else:
            break
    return plan, outcome
