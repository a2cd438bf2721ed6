/* survey: see survey.h. A pass makes an outlook (EXPIRY FORECAST) of one database after the other.
 * The outlook visits every key anyway, so the survey notes dehydrators and streams during these
 * visits. */
#include "server/http/survey.h"

#include "server/http/surveyed_names.h"
#include "store/mem/mem.h"
#include "store/type/drained.h"
#include "store/type/stream/stream_progress.h"

enum {
    STEPS = 256, /* keys and members in about 20 us */
    STEPS_AT_ONCE = 20 * STEPS,
    BUCKET_STEPS = 16, /* a bucket of drained dehydrators counts as this many */
    LEAST_USEC = 1000 * 1000,
    REST = 20, /* the pause, as a multiple of the time that a survey worked */
};

/* The dehydrators whose first due element has waited longest, the longest first. */
struct longest {
    struct surveyed_name at[SURVEY_LONGEST];
    msec since[SURVEY_LONGEST];
    size_t count;
};

struct pass {
    struct outlook **outlooks;     /* of each database; NULL if it contains no keys */
    struct surveyed_names names;   /* of dehydrators */
    struct surveyed_names drained; /* of dehydrators that have become empty; not in `names` */
    struct surveyed_names streams; /* that have groups */
    struct longest longest;        /* of dehydrators */
    msec began;
};

struct survey {
    const struct store *store;
    const struct conf *conf;
    const struct clock *clock;
    struct pass result, running;
    bool ready, active;
    unsigned db;                     /* of the running pass: the database that is being counted */
    uint64_t cursor;                 /* of its scan of drained dehydrators; 0 before it begins */
    int64_t worked_usec, ended_usec; /* of the last pass; the second one is monotonic */
};

static void drop_pass(struct survey *survey, struct pass *pass)
{
    if (pass->outlooks == NULL) return;
    for (unsigned db = 0; db < survey->store->database_count; db++)
        outlook_free(pass->outlooks[db]);
    mem_free(pass->outlooks);
    surveyed_names_drop(&pass->names);
    surveyed_names_drop(&pass->drained);
    surveyed_names_drop(&pass->streams);
    for (size_t i = 0; i < pass->longest.count; i++)
        blob_free(pass->longest.at[i].key);
    *pass = (struct pass){ 0 };
}

struct survey *survey_new(const struct store *store, const struct conf *conf,
                          const struct clock *clock)
{
    struct survey *survey = mem_zalloc(sizeof(*survey));
    survey->store = store;
    survey->conf = conf;
    survey->clock = clock;
    return survey;
}

void survey_free(struct survey *survey)
{
    if (survey == NULL) return;
    drop_pass(survey, &survey->result);
    drop_pass(survey, &survey->running);
    mem_free(survey);
}

/* ---- working --------------------------------------------------------------------------------- */

static void note_entry(void *ctx, const struct entry *entry)
{
    struct survey *survey = ctx;
    struct pass *pass = &survey->running;
    struct longest *longest = &pass->longest;
    struct bytes key = entry_key(entry);
    if (entry->object.type == TYPE_STREAM &&
        stream_groups_count(stream_groups(entry->object.stream)) > 0)
        surveyed_names_note(&pass->streams, survey->db, key);
    if (entry->object.type != TYPE_DEHYDRATOR) return;
    surveyed_names_note(&pass->names, survey->db, key);

    /* Is it one of those whose first due element has waited longest? */
    msec since = dehydrator_next(entry->object.dehydrator);
    bool is_full = longest->count == SURVEY_LONGEST;
    if (!instant_due(since, clock_now(survey->clock))) return;
    if (is_full && longest->since[SURVEY_LONGEST - 1] <= since) return;
    if (!surveyed_names_fit(&pass->names, key)) return;
    for (size_t i = 0; i < longest->count; i++) /* it may be visited twice */
        if (longest->at[i].db == survey->db && bytes_equal(blob_view(longest->at[i].key), key))
            return;
    if (is_full) blob_free(longest->at[--longest->count].key);
    size_t rank = longest->count++;
    for (; rank > 0 && longest->since[rank - 1] > since; rank--) {
        longest->at[rank] = longest->at[rank - 1];
        longest->since[rank] = longest->since[rank - 1];
    }
    longest->at[rank] = (struct surveyed_name){ blob_new(key), survey->db };
    longest->since[rank] = since;
}

static void note_drained(void *ctx, struct bytes key, const struct delivery_tally *tally)
{
    struct survey *survey = ctx;
    struct pass *pass = &survey->running;
    (void)tally;
    if (!surveyed_names_has(&pass->names, survey->db, key))
        surveyed_names_note(&pass->drained, survey->db, key);
}

/* Counts about STEPS keys and members of the current database. After its last key, moves on to
 * the next database; after the last database, makes the pass the new result. */
static void step(struct survey *survey)
{
    const struct store *store = survey->store;
    const struct keyspace *ks = store_database(store, survey->db);
    struct outlook **outlook = &survey->running.outlooks[survey->db];
    if (*outlook == NULL && keyspace_count(ks) > 0) {
        *outlook = outlook_new(ks, clock_now(survey->clock));
        outlook_watch(*outlook, note_entry, survey);
    }
    if (*outlook != NULL && !outlook_run(*outlook, STEPS)) return;
    /* Note the dehydrators of the database that have become empty. */
    bool more = ks->drained != NULL;
    if (!more) survey->cursor = 0;
    for (size_t left = STEPS; more && left >= BUCKET_STEPS; left -= BUCKET_STEPS) {
        survey->cursor = drained_scan(ks->drained, survey->cursor, clock_now(survey->clock),
                                      note_drained, survey);
        more = survey->cursor != 0;
    }
    if (more) return;
    if (++survey->db < store->database_count) return;
    drop_pass(survey, &survey->result);
    survey->result = survey->running;
    survey->running = (struct pass){ 0 };
    survey->active = false;
    survey->ready = true;
    survey->ended_usec = clock_mono_usec();
}

void survey_ask(struct survey *survey)
{
    int64_t now = clock_mono_usec();
    int64_t rest = survey->worked_usec * REST;
    if (rest < LEAST_USEC) rest = LEAST_USEC;
    if (survey->active || (survey->ready && now < survey->ended_usec + rest)) return;

    struct pass *pass = &survey->running;
    pass->outlooks = mem_zalloc(survey->store->database_count * sizeof(struct outlook *));
    surveyed_names_init(&pass->names, survey->conf->metrics_dehydrators,
                        (size_t)survey->conf->metrics_dehydrators_max);
    surveyed_names_init(&pass->drained, survey->conf->metrics_dehydrators,
                        (size_t)survey->conf->metrics_dehydrators_max);
    surveyed_names_init(&pass->streams, survey->conf->metrics_dehydrators,
                        (size_t)survey->conf->metrics_dehydrators_max);
    pass->began = clock_now(survey->clock);
    survey->db = 0;
    survey->cursor = 0;
    survey->worked_usec = 0;
    survey->active = true;

    for (int done = 0; survey->active && done < STEPS_AT_ONCE; done += STEPS)
        step(survey);
    survey->worked_usec += clock_mono_usec() - now;
}

bool survey_run(void *ctx, size_t amount)
{
    struct survey *survey = ctx;
    (void)amount;
    if (!survey->active) return false;
    step(survey);
    return true;
}

void survey_took(void *ctx, int64_t usec)
{
    struct survey *survey = ctx;
    survey->worked_usec += usec;
}

/* ---- results --------------------------------------------------------------------------------- */

bool survey_ready(const struct survey *survey)
{
    return survey->ready;
}

msec survey_began(const struct survey *survey)
{
    return survey->result.began;
}

bool survey_forecast(const struct survey *survey, unsigned db, msec now,
                     struct outlook_count counts[OUTLOOK_BANDS])
{
    const struct outlook *outlook = survey->ready ? survey->result.outlooks[db] : NULL;
    if (outlook == NULL) return false;
    outlook_counts(outlook, now, counts);
    return true;
}

void survey_hour(const struct survey *survey, struct outlook_hour *hour)
{
    msec began = survey->result.began;
    *hour = (struct outlook_hour){ .begin = began - began % OUTLOOK_SPAN };
    for (unsigned db = 0; survey->ready && db < survey->store->database_count; db++) {
        if (survey->result.outlooks[db] == NULL) continue;
        const struct outlook_hour *one = outlook_hour(survey->result.outlooks[db]);
        /* The outlooks of a pass may begin some spans apart: match spans by their instants. */
        msec later = (one->begin - hour->begin) / OUTLOOK_SPAN;
        for (msec i = 0; i < OUTLOOK_SPANS; i++) {
            msec to = i + later;
            if (to < 0 || to >= OUTLOOK_SPANS) continue;
            for (unsigned kind = 0; kind < OUTLOOK_KINDS; kind++)
                hour->spans[to].of[kind] += one->spans[i].of[kind];
        }
    }
}

static const struct object *look_up(const struct survey *survey, const struct surveyed_name *name,
                                    msec now)
{
    const struct keyspace *ks = store_database(survey->store, name->db);
    const struct entry *entry = keyspace_find(ks, blob_view(name->key));
    return entry == NULL || entry_expired(ks, entry, now) ? NULL : &entry->object;
}

/* Reads the dehydrator of this name. Returns false if the key now holds another type, or if there
 * is neither a value nor a tally of a former one. */
static bool read_dehydrator(const struct survey *survey, const struct surveyed_name *name, msec now,
                            struct surveyed *found)
{
    const struct object *object = look_up(survey, name, now);
    struct delivery_tally tally;
    *found = (struct surveyed){ .db = name->db, .key = blob_view(name->key), .next = NEVER };
    if (object != NULL) {
        if (object->type != TYPE_DEHYDRATOR) return false;
        found->length = dehydrator_count(object->dehydrator);
        found->due = dehydrator_count_due(object->dehydrator, now);
        found->claimed = dehydrator_count_claimed(object->dehydrator, now);
        found->redelivered = dehydrator_count_redelivered(object->dehydrator);
        found->next = dehydrator_next(object->dehydrator);
        if (instant_due(found->next, now)) found->oldest_due = now - found->next;
        found->paused = dehydrator_paused(object->dehydrator, now);
        tally = *dehydrator_tally(object->dehydrator);
    } else {
        tally = keyspace_drained(store_database(survey->store, name->db), found->key, now);
        if (tally.pushed == 0 && tally.deliveries == NULL) return false;
    }
    found->pushed = tally.pushed;
    if (tally.deliveries != NULL) found->counts = *tally.deliveries;
    return true;
}

void survey_dehydrators(const struct survey *survey, msec now,
                        void (*visit)(void *ctx, const struct surveyed *dehydrator), void *ctx)
{
    const struct surveyed_names *const lists[] = { &survey->result.names, &survey->result.drained };
    size_t left = lists[0]->most;
    for (size_t list = 0; list < 2; list++) {
        for (size_t i = 0; i < lists[list]->count && left > 0; i++) {
            struct surveyed found;
            if (!read_dehydrator(survey, &lists[list]->at[i], now, &found)) continue;
            visit(ctx, &found);
            left--;
        }
    }
}

void survey_longest(const struct survey *survey, msec now, bool others,
                    void (*visit)(void *ctx, const struct surveyed *dehydrator), void *ctx)
{
    const struct longest *longest = &survey->result.longest;
    for (size_t i = 0; i < longest->count; i++) {
        struct surveyed found;
        const struct surveyed_name *name = &longest->at[i];
        if (others && surveyed_names_has(&survey->result.names, name->db, blob_view(name->key)))
            continue;
        if (read_dehydrator(survey, name, now, &found) && found.due > 0) visit(ctx, &found);
    }
}

void survey_groups(const struct survey *survey, msec now,
                   void (*visit)(void *ctx, const struct surveyed_group *group), void *ctx)
{
    const struct surveyed_names *names = &survey->result.streams;
    size_t left = SURVEY_GROUPS_MAX;
    for (size_t i = 0; i < names->count; i++) {
        const struct object *object = look_up(survey, &names->at[i], now);
        if (object == NULL || object->type != TYPE_STREAM) continue;
        const struct stream_groups *groups = stream_groups(object->stream);
        const struct stream_group *group = NULL;
        for (; left > 0 && (group = group_next(groups, group)) != NULL; left--)
            visit(ctx, &(struct surveyed_group){ .db = names->at[i].db,
                                                 .key = blob_view(names->at[i].key),
                                                 .name = group_name(group),
                                                 .consumers = group_count_consumers(group),
                                                 .pending = group_count_pending(group),
                                                 .lag = stream_lag(object->stream, group) });
    }
}

size_t survey_omitted(const struct survey *survey)
{
    return survey->result.names.omitted;
}
