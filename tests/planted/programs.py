"""programs: faults that test programs find. tests/planted/run puts each alone into the daemon. Of each: the
program, with parts of the names of its tests, and the edits: a file, a text that it contains once, and what
takes its place."""

PLANTS = {
    # ---- deadlines of keys and members
    "GT accepts an equal deadline": (
        "tests/e2e/commands/test_compare.py",
        ("server/cmd/key/key_expire.c", "!(later && at <= old)", "!(later && at < old)"),
    ),
    "TTL is rounded down": (
        "tests/e2e/commands/test_compare.py",
        ("server/cmd/key/key_expire.c", "at / 1000 + (at % 1000 >= 500)", "at / 1000"),
    ),
    "RENAME loses the deadline": (
        "tests/e2e/expiry/test_model.py",
        ("store/txn/txn_key.c",
         "    msec at = entry_expires_at(txn->ks, entry);\n    keyspace_set_deadline(txn->ks, moved, at);\n",
         "    msec at = NEVER;\n"),
    ),
    "COPY loses the deadline": (
        "tests/e2e/expiry/test_model.py",
        ("store/txn/txn_key.c",
         "keyspace_set_deadline(txn->ks, added, at);",
         "keyspace_set_deadline(txn->ks, added, at == 0 ? at : NEVER);"),
    ),
    "MOVE loses the deadline": (
        "tests/e2e/commands/test_compare.py",
        ("store/txn/txn_key.c",
         "    moved->accessed = entry->accessed;\n    keyspace_set_deadline(txn->ks, moved, at);\n",
         "    moved->accessed = at == 0 ? 0 : entry->accessed;\n"),
    ),
    "a deadline that has passed is kept": (
        "tests/e2e/commands/test_compare.py",
        ("store/txn/txn_key.c",
         "if (instant_past(at, txn->now) && !txn_replays(txn)) {",
         "if (instant_past(at, txn->now - 1000) && !txn_replays(txn)) {"),
    ),
    # ---- the record of deadlines and ends
    "SET without a deadline leaves no record": (
        "tests/e2e/expiry/test_why_random.py",
        ("store/txn/txn_string.c",
         "        if (how->at == NEVER && !ends_members) txn_note_end(txn, entry, TRAIL_OVERWRITTEN, 0);\n", ""),
    ),
    "FLUSHALL leaves no record": (
        "tests/e2e/expiry/test_why_random.py",
        ("store/txn/txn_key.c", "    txn_trail_whole(txn, TRAIL_ALL_DATABASES, TRAIL_FLUSHED, 0);\n", ""),
    ),
    "records keep the name that a client had": (
        "tests/e2e/expiry/test_why.py names",
        ("server/admin/client/identity.c", "    session_forget_author(session);\n", ""),
    ),
    "a key's former deadline counts as the one before": (
        "tests/e2e/expiry/test_why.py next_life",
        ("store/trail/trail.c", "        *last = pack(hash, &none);\n", "        (void)none;\n"),
    ),
    # ---- policies
    "a read of a key under a policy is not seen": (
        "tests/e2e/expiry/test_policy_stats.py",
        ("store/txn/txn_key.c", "    entry->object.was_read = true;\n", ""),
    ),
    "a key that SPOP empties has expired": (
        "tests/e2e/expiry/test_policy_stats.py",
        ("store/trail/trail.h", "(what == TRAIL_EMPTIED && extra != 0)", "what == TRAIL_EMPTIED"),
    ),
    "REFRESH makes a deadline earlier": (
        "tests/e2e/expiry/test_model.py",
        ("store/policy/policy_options.c",
         "return use->created || anew > use->at ? anew : use->at;", "return anew;"),
    ),
    "MAXTTL lets keys without a deadline be": (
        "tests/e2e/expiry/test_policy_ttl.py maxttl",
        ("store/policy/policy_options.c",
         "return at > latest ? latest : at;", "return at > latest && at != NEVER ? latest : at;"),
    ),
    "jitter goes beyond its percentage": (
        "tests/e2e/expiry/test_policy_ttl.py jitter",
        ("store/policy/policy_options.c",
         "random_next(random) % (2 * reach + 1);", "random_next(random) % (4 * reach + 1);"),
    ),
    "a new policy leaves existing keys alone": (
        "tests/e2e/expiry/test_policy_ttl.py existing",
        ("store/txn/txn_policy.c",
         "next.pending = has_keys && (was_pending", "next.pending = has_keys && was_pending && (was_pending"),
    ),
    "MEMBERTTL forgets a member that is added again": (
        "tests/e2e/expiry/test_model.py",
        ("store/txn/txn_policy.c",
         "    if (life.rule == LIFE_KEEP && present) return old;\n",
         "    if (life.rule != LIFE_SET && present) return old;\n"),
    ),
    "RETAIN removes an entry one ms late": (
        "tests/e2e/expiry/test_policy_streams.py retain",
        ("store/type/stream/stream.c",
         "(uint64_t)(now - stream->retention), 0 }", "(uint64_t)(now - stream->retention - 1), 0 }"),
    ),
    # ---- dehydrators
    "any token acknowledges": (
        "tests/e2e/queues/test_dehydrator_model.py",
        ("server/cmd/dehydrator/dehydrator_claims.c",
         "token != 0 && stage->token == token ?", "token != 0 && stage->token != 0 ?"),
    ),
    "the end of a claim serves nobody": (
        "tests/e2e/queues/test_dehydrator_claimed.py served",
        ("server/engine/react/commit_hooks.c",
         "hooks->store->policies.with[POLICY_CLAIMED] > 0)", "hooks->store->policies.with[POLICY_RATE] > 0)"),
    ),
    "a tenant that becomes due goes first": (
        "tests/e2e/queues/test_fair_claims.py joins_at_the_end",
        ("store/struct/turns.c",
         "TAILQ_INSERT_TAIL(&turns->ring, turn, of_ring);", "TAILQ_INSERT_HEAD(&turns->ring, turn, of_ring);"),
    ),
    "a due element wakes nobody who waits for its prefix": (
        "tests/e2e/queues/test_fair_claims.py clients_wait",
        ("server/engine/engine_configure.c",
         "    blocked_wake_prefix_at(ctx, db, prefix, at);\n", "    (void)ctx, (void)db, (void)prefix, (void)at;\n"),
    ),
    "who waits for a prefix comes after all who wait for a key": (
        "tests/e2e/queues/test_fair_claims.py one_queue",
        ("server/engine/react/blocked.c",
         "if (blocked->of_prefix > 0 && blocked", "if (blocked->of_prefix > 1000 && blocked"),
    ),
    "reading is enough to claim from a prefix": (
        "tests/e2e/queues/test_fair_claims.py whole_prefix",
        ("server/engine/acl/acl_check.c",
         "if ((item->tag & access) == access && (covers ||", "if ((item->tag & access) != 0 && (covers ||"),
    ),
    "BACKOFF does not double": (
        "tests/e2e/queues/test_dehydrator_claims.py back_off",
        ("store/policy/policy_options.c", "most : 2 * delay;", "most : delay + 1;"),
    ),
    "MAXDELIVERIES allows one more": (
        "tests/e2e/expiry/test_policy_streams.py entry_moves",
        ("store/txn/dead_letter.c", "policy->max_deliveries : 0;", "policy->max_deliveries + 1 : 0;"),
    ),
    "POSTPONE goes beyond ATMOST": (
        "tests/e2e/queues/test_dehydrator_model.py",
        ("server/cmd/dehydrator/dehydrator.c", "&& at > latest)\n", "&& at > latest + 1)\n"),
    ),
    "KEEP replaces an element": (
        "tests/e2e/queues/test_dehydrator_model.py",
        ("server/cmd/dehydrator/dehydrator.c",
         "if (push->mode == PUSH_KEEP || remembered) return", "if (remembered) return"),
    ),
    "REPLACE changes a claimed element": (
        "tests/e2e/queues/test_dehydrator_model.py",
        ("server/cmd/dehydrator/dehydrator.c", "element).claimed) {", "element).claimed && false) {"),
    ),
    "a dehydrator takes one more than MAXLEN": (
        "tests/e2e/queues/test_dehydrator_claims.py maxlen",
        ("server/cmd/dehydrator/dehydrator_args.c",
         "count + added > policy->max_len;", "count + added > policy->max_len + 1;"),
    ),
    # ---- clients that wait
    "who came last is served first": (
        "tests/e2e/leases/test_lease_waiting.py order",
        ("server/engine/react/blocked.c",
         "TAILQ_INSERT_TAIL(&queue->clients, queued, of_key);",
         "TAILQ_INSERT_HEAD(&queue->clients, queued, of_key);"),
    ),
    "TAKE passes clients that wait": (
        "tests/e2e/leases/test_lease_waiting.py passes",
        ("server/cmd/lease/lease.c", "call->argv[1], 1) == 0))", "call->argv[1], 1) < 2))"),
    ),
    "a holder that takes again waits": (
        "tests/e2e/leases/test_lease_model.py",
        ("server/cmd/lease/lease.c",
         "bool again = lease != NULL && lease_find_owner(", "bool again = lease != NULL && !lease_find_owner("),
    ),
    "waiting clients are served in a pause": (
        "tests/e2e/commands/test_pause.py waits",
        ("server/engine/unblock.c",
         "if (engine->role.replica) pause = ", "if (!engine->role.replica) pause = "),
    ),
    # ---- soft deadlines
    "two clients make a value": (
        "tests/e2e/freshness/test_fresh_model.py",
        ("server/cmd/string/fresh.c",
         "txn_refresh_until(txn, call->argv[1]) == 0)", "txn_refresh_until(txn, call->argv[1]) >= 0)"),
    ),
    "a value is stale one ms early": (
        "tests/e2e/freshness/test_fresh_model.py",
        ("server/cmd/string/fresh.c", "instant_moved(soft, -early)", "instant_moved(soft, -early - 1)"),
    ),
    "SET does not end the right": (
        "tests/e2e/freshness/test_fresh_model.py",
        ("store/txn/txn_refresh.c", "ends = soft == NEVER || !instant_due(soft, txn->now);",
         "ends = soft != NEVER && instant_due(soft, txn->now);"),
    ),
    # ---- limits of rates and of memory
    "CL.THROTTLE admits one more than its burst": (
        "tests/e2e/commands/test_rate_limits.py throttle",
        ("server/cmd/string/throttle.c", "ahead > slack;", "ahead > slack + rate.interval;"),
    ),
    "a request leaves its window one ms early": (
        "tests/e2e/commands/test_rate_limits.py window_equals",
        ("server/cmd/string/window.c", "first.at <= now - span)", "first.at <= now - span + 1)"),
    ),
    "jobs are evicted": (
        "tests/e2e/expiry/test_eviction.py jobs",
        ("store/sweep/evict.c",
         "(spared == SPARED_AS_JOB && !how->jobs_too)", "(spared == SPARED_AS_JOB && how->jobs_too)"),
    ),
    "a full server takes writes": (
        "tests/e2e/expiry/test_eviction.py refuse",
        ("server/engine/memory_limit.c", "return !engine->evicting;", "return false;"),
    ),
    "a replica evicts": (
        "tests/e2e/replica/test_replica.py evicts",
        ("server/engine/memory_limit.c",
         "if (engine->role.replica && engine->conf->replica_ignore_maxmemory) return false;\n", ""),
        ("server/engine/memory_limit.c",
         "if (engine_keeps_data(engine, clock_now(engine->clock))) return engine->role.replica;\n", ""),
    ),
    # ---- rights
    "no password is asked for": (
        "tests/e2e/access/test_unauthenticated.py",
        ("server/engine/gates.c",
         "if (!(row->flags & NO_AUTH) && engine_needs_auth(", "if ((row->flags & NO_AUTH) && engine_needs_auth("),
    ),
    "only the first key of a call is checked": (
        "tests/e2e/access/test_acl_random.py",
        ("server/engine/acl/acl_check.c",
         "for (int i = 0; i < question->key_count; i++) {", "for (int i = 0; i < question->key_count && i < 1; i++) {"),
    ),
    "the right to read suffices to write": (
        "tests/e2e/access/test_acl_random.py",
        ("server/engine/acl/acl_check.c", "access |= ACL_WRITE;", "access |= ACL_READ;"),
    ),
    "a pattern may match more channels": (
        "tests/e2e/access/test_acl_random.py",
        ("server/engine/acl/acl_check.c",
         "is_pattern ? bytes_equal(rule, name)", "is_pattern ? bytes_match(rule, name)"),
    ),
    # ---- refusals, files and replicas
    "a full disk refuses no write": (
        "tests/crash/test_full.py stops",
        ("server/disk/persist.c",
         "    if (persist->report.write_error != NULL) return persist->report.write_error;\n", ""),
    ),
    "a shortened journal is not noticed": (
        "tests/crash/test_damage.py shortens",
        ("server/disk/syncer.c", "    if (error == 0) error = check_line_end(order->fd, order->line_end);\n",
         "    if (error != 0) error = check_line_end(order->fd, order->line_end);\n"),
    ),
    "a point in time is one ms late": (
        "tests/crash/test_load.py later_change random_history",
        ("server/disk/format/replay_records.c",
         "in->next.last > replay->until)", "in->next.last - 1 > replay->until)"),
        ("server/disk/format/parsed.c", "next.instants.last > until)", "next.instants.last - 1 > until)"),
    ),
    "a hole of the journal is not noticed": (
        "tests/crash/test_load.py are_a_hole",
        ("server/disk/load.c", "            if (file->anew) hole = file;\n", ""),
    ),
    "a kept file is removed while it is needed": (
        "tests/crash/test_load.py needed",
        ("server/disk/format/manifest.c",
         "        needed = i;\n        msec made = made_at(manifest, file);\n",
         "        msec made = made_at(manifest, file);\n        if (made > from) needed = i;\n"),
    ),
    "a snapshot replaces any file": (
        "tests/e2e/files/test_foreign_files.py snapshot",
        ("server/disk/format/snapshot_file.c",
         "    int error = file_check(path, FILE_SET(FILE_SNAPSHOT));", "    int error = 0;"),
        ("server/disk/format/snapshot_file.c",
         "if (error == 0) error = file_check(writer->path, FILE_SET(FILE_SNAPSHOT));", ""),
    ),
    "EXEC runs in spite of a refused command": (
        "tests/e2e/commands/test_compare.py",
        ("server/engine/multi.c",
         "if (session->multi != NULL) session->multi->broken = true;",
         "if (session->multi != NULL) session->multi->broken |= false;"),
    ),
    "a replica takes writes": (
        "tests/e2e/replica/test_replica.py refuses",
        ("server/engine/gates.c",
         "return engine->role.replica && engine->conf->replica_read_only;",
         "return engine->role.replica && !engine->conf->replica_read_only;"),
    ),
    "a restarted replica continues before its offset": (
        "tests/e2e/replica/test_replica_resume.py fills_a_record",
        ("server/replica/follower.c",
         "    follower->w.applied(follower->w.ctx, bytes_of(data, len), good);\n"
         "    txn_commit(&follower->txn);\n",
         "    txn_commit(&follower->txn);\n"
         "    follower->w.applied(follower->w.ctx, bytes_of(data, len), good);\n"),
    ),
    "writes are taken with too few replicas": (
        "tests/e2e/leases/test_lease_waiting.py few",
        ("server/engine/gates.c",
         "return !engine->role.replica && engine->role.few_replicas;",
         "return engine->role.replica && engine->role.few_replicas;"),
    ),
    "a script that has written is killed": (
        "tests/e2e/scripts/test_script_busy.py written",
        ("server/script/busy.c", "if (running->host->wrote) return false;", ""),
        ("server/script/busy.c", "else if (running->host->wrote)", "else if (running->host->wrote && function)"),
    ),
}
