"""worlds: faults that simulated worlds find. tests/planted/run puts each alone into the daemon. Of each: what a
plan needs to show the fault, and the edits: a file, a text that it contains once, and what takes its place. A
plan needs workloads, settings and faults, with | between those of which one is enough; other plans are not
run."""

PLANTS = {
    # ---- the journal and the disk
    "always replies before the sync": (
        "always|fsync power|master",
        ("server/disk/journal.c",
         "    if (journal->mode == JOURNAL_SYNC_ALWAYS) return journal->synced;\n    bool held",
         "    bool held"),
    ),
    "replies before the write": (
        "kill-in-a-call|power|master",
        ("server/disk/journal.c",
         "    if (journal->mode == JOURNAL_SYNC_ALWAYS) return journal->synced;\n    bool held",
         "    if (journal->position > 0) return journal->position;\n    bool held"),
        ("server/daemon/turn.c",
         "    persist_turn(parts->persist);\n    clients_turn(parts->clients);",
         "    clients_turn(parts->clients);\n    persist_turn(parts->persist);"),
    ),
    "everysec syncs every five seconds": (
        "everysec power|master",
        ("server/disk/journal.c",
         "SYNC_USEC = 1000 * 1000,",
         "SYNC_USEC = 5 * 1000 * 1000,"),
    ),
    "no file is synced": (
        "always|everysec power|master",
        ("server/disk/format/disk.c",
         "rc = fdatasync(fd);",
         "rc = 0;"),
    ),
    "no folder is synced": (
        "always|everysec power|master rewrite",
        ("server/disk/format/disk.c",
         "if (fsync(fd) < 0 && errno != EINVAL) error = errno;",
         ""),
    ),
    "the manifest's rename is not synced": (
        "always|everysec power|master rewrite",
        ("server/disk/format/manifest.c",
         "*manifest = *next;\n    manifest->unsynced = true;",
         "*manifest = *next;\n    manifest->unsynced = false;"),
    ),
    "a wrong checksum is accepted": (
        "Logs power everysec|no",
        ("server/disk/format/replay_records.c",
         "if (sum != written)\n",
         "if (sum != written && len == 0)\n"),
    ),
    "damage of synced bytes counts as torn": (
        "damage",
        ("server/disk/format/replay_records.c",
         "    if (end == REPLAY_TORN) end = search_mark(in);\n", ""),
        ("server/disk/format/replay_records.c",
         "if (end == REPLAY_TORN && in->replay->synced > in->file->good) end = REPLAY_DAMAGED;",
         ""),
    ),
    "nobody misses records at the end of a journal": (
        "damage",
        ("server/disk/format/replay_records.c",
         "if (replay->synced <= in->file->size) return false;",
         "if (in->file->good > 0) return false;"),
    ),
    "a failed sync counts as done": (
        "failing-disk power always|everysec",
        ("server/disk/syncer.c",
         "    if (error != 0)\n        syncer->report.error = error;\n    else if (syncer->report.error == 0)",
         "    (void)error;\n    if (syncer->report.error == 0)"),
    ),
    "a rewrite loses the segment that it began": (
        "rewrite",
        ("server/disk/format/manifest.c",
         "bool stays = file->type == MANIFEST_SEGMENT && file->seq >= segment;",
         "bool stays = file->type == MANIFEST_SEGMENT && file->seq > segment;"),
    ),
    "the journal is measured only when INFO asks": (
        "Logs|Mixed",
        ("server/disk/persist.c",
         "        update_journal_report(persist);\n        const struct conf *conf",
         "        const struct conf *conf"),
    ),
    "a record leaves out the key of the one before": (
        "Mixed|Logs",
        ("server/disk/effect/effect_text.c",
         "    effect_writer_end(writer);\n    writer->brief.last_key.data = NULL;\n",
         "    effect_writer_end(writer);\n"),
    ),
    "a SET is read without its deadline": (
        "Deadlines|Mixed",
        ("server/disk/effect/effect_brief.c",
         "case DEADLINE: effect->at = (msec)bits; return instant_ok(effect->at);",
         "case DEADLINE: return instant_ok((msec)bits);"),
    ),
    "an element that nobody claims is read as claimed": (
        "Queues|Mixed|Jobs",
        ("server/disk/effect/effect_brief.c",
         "effect->stage.claimed = token >= 0;",
         "effect->stage.claimed = token >= -1;"),
    ),
    # ---- transactions
    "WATCH misses changes": (
        "Registers",
        ("server/engine/react/watch.c",
         "    default: break;\n    }\n    touch_key(watch, effect->db, effect->key);\n",
         "    default: break;\n    }\n"),
    ),
    "each change of a transaction is a record of its own": (
        "Logs|Registers power|kill-in-a-call|failing-disk|master",
        ("server/disk/persist.c",
         "effect_writer_put(&persist->writer, effect);",
         "effect_writer_put(&persist->writer, effect); persist_commit(persist, NULL);"),
        ("server/engine/react/commit_hooks.c",
         "return LISTEN_CHANGES | LISTEN_BRIEF;",
         "return LISTEN_CHANGES;"),
    ),
    "a replica applies half of a transaction": (
        "replicas Logs|Registers promote|failover",
        ("server/replica/follower.c",
         "if (arrived->bracketed && empty) arrived->bracketed = false;",
         "arrived->bracketed = arrived->multi = false;"),
    ),
    # ---- deadlines
    "keys expire one ms early": (
        "Deadlines",
        ("server/engine/store_work.c",
         "    struct stopwatch *pacing = &engine->stats->pacing;\n    msec now = clock_now(work->clock);",
         "    struct stopwatch *pacing = &engine->stats->pacing;\n    msec now = clock_now(work->clock) + 1;"),
    ),
    "no timer wakes the daemon for a deadline": (
        "Deadlines",
        ("server/engine/store_work.c",
         "msec due = store_next_due(store), paced",
         "msec due = NEVER, paced"),
    ),
    "a read drops an expired key without an event": (
        "Deadlines",
        ("store/txn/txn_key.c",
         "        if (entry != NULL) txn_key_drop(txn, entry, EVENT_EXPIRED);\n"
         "        return NULL;\n"
         "    }\n"
         "    bool is_due",
         "        if (entry != NULL) txn_key_drop(txn, entry, EVENT_NONE);\n"
         "        return NULL;\n"
         "    }\n"
         "    bool is_due"),
    ),
    "an expired key has two events": (
        "Deadlines",
        ("store/txn/txn_key.c",
         "    if (event == EVENT_EXPIRED) {\n        txn->store->stats.expired_keys++;",
         "    if (event == EVENT_EXPIRED) {\n"
         "        effect.kind = EFFECT_NONE;\n"
         "        txn_record_each(txn, entry_key(entry), &effect);\n"
         "        txn->store->stats.expired_keys++;"),
    ),
    "reads ignore the deadlines of members": (
        "Deadlines",
        ("store/txn/txn_key.c",
         "    return is_due ? txn_type_of(entry)->settle(txn, entry) : entry;",
         "    return is_due && entry->object.type != TYPE_HASH ? txn_type_of(entry)->settle(txn, entry) : entry;"),
    ),
    "a rewrite loses the deadlines of fields": (
        "Deadlines rewrite",
        ("store/walk.c",
         ".a = field, .b = value, .at = iter.at",
         ".a = field, .b = value, .at = NEVER"),
    ),
    # ---- leases
    "a promoted replica grants leases at once": (
        "Leases promote|failover",
        ("server/replica/replication.c",
         "    leases_hush(&r->w.engine->store->leases, clock_now(r->w.clock));\n",
         ""),
    ),
    "a start after a crash grants leases at once": (
        "Leases power everysec|no",
        ("server/daemon/wiring.c",
         "    leases_hush(&parts->store->leases, clock_now(&parts->clock));\n",
         ""),
    ),
    "tokens do not leap": (
        "Leases power|promote",
        ("store/tokens.c",
         "    if (!tokens->leaps) return false;\n    tokens->leaps = false;\n",
         "    tokens->leaps = false;\n    if (now > 0) return false;\n"),
    ),
    "a clock that is set ahead ends leases": (
        "Leases clock",
        ("server/engine/store_work.c",
         "        txn_lease_shift(&txn, by);\n",
         ""),
    ),
    "a permit too many": (
        "Leases",
        ("server/cmd/lease/lease.c",
         "(int64_t)lease_count(lease) < take.permits)",
         "(int64_t)lease_count(lease) <= take.permits)"),
    ),
    # ---- dehydrators
    "a claim is not in the journal": (
        "Queues",
        ("store/txn/txn_dehydrator.c",
         "    RECORD(txn, entry, EFFECT_REDE_MOVE,",
         "    if (event != EVENT_REDE_CLAIM) RECORD(txn, entry, EFFECT_REDE_MOVE,"),
    ),
    "an acknowledgement is not in the journal": (
        "Queues",
        ("store/txn/txn_dehydrator.c",
         "    RECORD(txn, entry, EFFECT_REDE_DROP,",
         "    if (event != EVENT_REDE_ACK) RECORD(txn, entry, EFFECT_REDE_DROP,"),
    ),
    "a lease ends one ms early": (
        "Queues",
        ("server/cmd/dehydrator/dehydrator_due.c",
         "claimed_until(call, grant->backoff, grant->lease_end, stage.deliveries);",
         "claimed_until(call, grant->backoff, grant->lease_end, stage.deliveries) - 1;"),
    ),
    "an element is due one ms early": (
        "Queues",
        ("store/type/dehydrator.c",
         "    return elements_count_until(&dehydrator->elements, now);",
         "    return elements_count_until(&dehydrator->elements, now + 1);"),
    ),
    "a paused dehydrator delivers": (
        "Jobs",
        ("store/delivery.c",
         "dehydrator_paused(entry->object.dehydrator, now) != 0) return 0;",
         "dehydrator_paused(entry->object.dehydrator, now) == 1) return 0;"),
    ),
    "a pause is not in the journal": (
        "Jobs master|power|kill-in-a-call",
        ("store/txn/txn_dehydrator.c",
         "    struct effect effect = effect_of_pause(until);\n    txn_record(txn, entry, &effect);\n",
         "    struct effect effect = effect_of_pause(until);\n    (void)effect;\n"),
    ),
    "a rate allows one more": (
        "Jobs",
        ("store/delivery.c",
         "policy_rate_after(policy, *next, count);",
         "policy_rate_after(policy, *next, count - 1);"),
    ),
    "one more is claimed than CLAIMED allows": (
        "Jobs",
        ("store/delivery.c",
         "return claimed < policy->max_claimed ? policy->max_claimed - claimed : 0;",
         "return policy->max_claimed + 1 - claimed;"),
    ),
    "a tenant keeps its turn": (
        "Tenants",
        ("store/fair.c",
         "    index->turn = NULL;\n    node_place(index, node, now, true);",
         "    index->turn = NULL;\n    node_place(index, node, now, false);"),
    ),
    "a push wakes nobody who waits for a prefix": (
        "Tenants",
        ("server/engine/react/blocked_ready.c",
         "    blocked_ready(blocked, db, key);\n    if (queue != NULL) make_ready(",
         "    blocked_ready(blocked, db, key);\n    if (queue != NULL && db > 1000) make_ready("),
    ),
    "a turn ignores CLAIMED": (
        "Tenants",
        ("server/cmd/dehydrator/dehydrator_due.c",
         "if (count_claimable(call, entry, 1) == 0) return false;",
         "if (count_deliverable(call, entry, 1) == 0) return false;"),
        ("store/delivery.c",
         "    if (claims && delivery_claims_left(policies, entry, now) == 0) {",
         "    if (claims && now == 0 && delivery_claims_left(policies, entry, now) == 0) {"),
    ),
    "a rate is forgotten at a restart": (
        "Jobs master|power|kill-in-a-call",
        ("store/txn/txn_dehydrator.c",
         "    txn_record_each(txn, entry_key(entry), &effect);\n    extras_set_next_usec(",
         "    (void)effect;\n    extras_set_next_usec("),
    ),
    "an element is due again at once": (
        "Jobs",
        ("store/txn/txn_dehydrator.c",
         "options->every - since % options->every);",
         "-since % options->every);"),
    ),
    "a remembered id is not in the journal": (
        "Jobs master|power|kill-in-a-call",
        ("store/txn/txn_dehydrator.c",
         "    RECORD(txn, entry, EFFECT_REDE_REMEMBER, EVENT_NONE, .a = id, .at = until);\n", ""),
    ),
    # ---- reasons
    "PERSIST leaves no record": (
        "Reasons",
        ("store/txn/txn_key.c", "    txn_note_end(txn, entry, TRAIL_REMOVED, 0);\n", ""),
    ),
    "a record that is pushed out does not count as missing": (
        "Reasons Mixed",
        ("store/trail/trail.c", "    raise(since, trail->ring_since[ring]);\n", ""),
    ),
    # ---- streams
    "an entry is claimed one ms early": (
        "Streams",
        ("server/cmd/stream/stream_delivery.c",
         "call->txn->now - pending->at >= idle;",
         "call->txn->now - pending->at >= idle - 1;"),
    ),
    "a claim does not update its time": (
        "Streams",
        ("server/cmd/stream/stream_delivery.c",
         "        pending.consumer = delivery->consumer;\n        pending.at = call->txn->now;",
         "        pending.consumer = delivery->consumer;"),
    ),
    "a rewrite forgets who has a pending entry": (
        "Streams rewrite",
        ("store/walk.c",
         "bool released = pending.consumer == NULL;",
         "bool released = true;"),
    ),
    "an acknowledgement of an entry is not in the journal": (
        "Streams",
        ("store/txn/txn_stream.c",
         ".a = group_name(group), .id = id };\n    to(txn, entry, &effect);\n    return true;",
         ".a = group_name(group), .id = id };\n    (void)effect;\n    return true;"),
    ),
    # ---- blocked clients
    "a push of a list wakes nobody": (
        "Waiting",
        ("store/txn/effect_rows.c",
         "ROW(PUSH_TAIL) = { apply_push, CREATED(LIST), SERVES, FORM",
         "ROW(PUSH_TAIL) = { apply_push, CREATED(LIST), FORM"),
    ),
    "a due element wakes nobody": (
        "Queues",
        ("server/engine/react/blocked_ready.c",
         "    if (at == 0 || at == NEVER) return;\n    bool armed",
         "    if (at >= 0) return;\n    bool armed"),
    ),
    "a timeout ends five ms early": (
        "Waiting",
        ("server/engine/react/blocked.c",
         "if (!instant_due(blocked_next_timeout(blocked), now)) return NULL;",
         "if (!instant_due(blocked_next_timeout(blocked), now + 5)) return NULL;"),
    ),
    # ---- policies
    "MAXLEN keeps one too many": (
        "Rules",
        ("store/txn/txn_policy.c",
         "most = (size_t)note->policy->max_len;",
         "most = (size_t)note->policy->max_len + 1;"),
    ),
    "background expiry forgets the expiry log": (
        "Rules",
        ("store/txn/txn_call.c",
         "    if (txn->expiry_log != NULL) expiry_log_write(txn);\n    end_call(txn);",
         "    end_call(txn);"),
    ),
    "the expiry log gets entries twice": (
        "Rules",
        ("store/txn/expiry_log.c",
         "            targets[writer->target->object.type].write(&adding);\n",
         "            for (unsigned times = i > 0 ? 2 : 1; times > 0; times--)\n"
         "                targets[writer->target->object.type].write(&adding);\n"),
    ),
    # ---- tracking
    "expiry invalidates no cached key": (
        "Caching",
        ("server/engine/react/tracking.c",
         "    notify_readers(tracking, key, by);\n}",
         "    if (event != EVENT_EXPIRED) notify_readers(tracking, key, by);\n}"),
    ),
    "a broadcast leaves out a key": (
        "Caching",
        ("server/engine/react/tracking_notify.c",
         "for (size_t i = 0; i < count; i++)\n            if (!tracker",
         "for (size_t i = count > 1; i < count; i++)\n            if (!tracker"),
    ),
    # ---- replication
    "WAIT counts what was sent": (
        "replicas Logs promote",
        ("server/replica/replicas.c",
         "synced ? replica->synced : replica->applied;",
         "synced ? replica->synced : replica->sent;"),
    ),
    "FAILOVER does not wait": (
        "replicas failover",
        ("server/replica/failover.c",
         "if (search.has_all) hand_over",
         "if (search.found == TARGET_ONLINE) hand_over"),
    ),
    "a replica continues behind its offset": (
        "replicas cut|reset|replica|slow-disk",
        ("server/replica/replicas.c",
         "    replica->sent = replica->applied = offset;",
         "    replica->sent = replica->applied = backlog_end(all->w.backlog);"),
    ),
    "a restarted master keeps the id of its stream": (
        "replicas master",
        ("server/replica/replication_restart.c",
         "        history_branch(&r->position.history, r->position.offset);\n        r->is_unshared = true;\n",
         ""),
    ),
    "a restarted replica forgets the selected database": (
        "replicas replica",
        ("server/replica/replication_restart.c",
         "    if (follows && position != NULL) follower_begin(r->follower, FOLLOW_COMMANDS, position->db);\n",
         ""),
    ),
    "a replica of another history continues": (
        "replicas promote|copy",
        ("server/replica/replicas.c",
         "if (has_bytes && history_has(all->w.history, id, offset)) {",
         "if (has_bytes && strcmp(id, \"?\") != 0) {"),
    ),
    "a master continues its history after a restart": (
        "replicas everysec master",
        ("server/replica/replication_restart.c",
         "        history_branch(&r->position.history, r->position.offset);\n        r->is_unshared = true;",
         "    r->is_unshared = true;"),
    ),
    "a replica expires keys by itself": (
        "replicas Deadlines|Rules|Caching",
        ("server/engine/store_work.c",
         "!engine->loading && !engine_keeps_data(engine, now);",
         "!engine->loading && (engine->role.replica || !engine_keeps_data(engine, now));"),
    ),
    "FAILOVER does not pause writes": (
        "replicas failover",
        ("server/replica/failover.c",
         "    failover->w.pause->failover = true;\n",
         ""),
    ),
}


def fits(plan, needs):
    """Has the plan everything that a fault needs to show?"""
    has = {*plan["works"], plan["fsync"], "replicas" if plan["nodes"] > 1 else "alone"}
    has |= {kind.removeprefix("restart ").replace(" ", "-") for _, kind in plan["faults"]}
    return all(has & set(words.split("|")) for words in needs.split())
