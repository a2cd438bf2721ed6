/* zone: parses TZif files. A file of version 2 or later contains the data twice, first with
 * instants of 4 bytes, then with instants of 8 bytes, and ends with a footer. The first copy is
 * skipped. Each copy is
 *
 *     44 bytes     header: "TZif", the version, 15 unused bytes, six counts
 *     n * 8        instants of the transitions (n * 4 in the first copy)
 *     n            the type of each transition: an index
 *     types * 6    offset from UTC (4), is it daylight saving time (1), index of its name (1)
 *     chars        names
 *     leaps * 12   leap seconds (* 8 in the first copy)
 *     ...          two flags for each type
 *
 * and the footer is a newline, a TZ string or nothing, and a newline. */
#include "store/calendar/zone.h"

#include "store/calendar/civil.h"
#include "store/calendar/footer.h"
#include "store/mem/mem.h"

enum {
    HEADER = 44,
    COUNTS_AT = 20,
    TYPE = 6,
    OFFSET_MIN = -89999, /* the least and the most that RFC 9636 recommends */
    OFFSET_MAX = 93599,
    CYCLE_YEARS = 400,
    FIRST_YEAR = 1970, /* of a rule without transitions before it */
};

/* Some files begin with a transition at the Big Bang, -2^59. */
#define ENDLESS (INT64_C(1) << 59)

static int64_t read_signed(const char *at, size_t size)
{
    uint64_t value = (signed char)at[0] < 0 ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | (unsigned char)at[i];
    return (int64_t)value;
}

struct part {
    size_t uts, standards, leaps, transitions, types, chars;
};

static bool take_header(struct bytes *file, char *version, struct part *part)
{
    if (file->len < HEADER || memcmp(file->data, "TZif", 4) != 0) return false;
    size_t *const counts[] = { &part->uts,         &part->standards, &part->leaps,
                               &part->transitions, &part->types,     &part->chars };
    *version = file->data[4];
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        *counts[i] = (uint32_t)read_signed(file->data + COUNTS_AT + 4 * i, 4);
    *file = bytes_of(file->data + HEADER, file->len - HEADER);
    return true;
}

static size_t part_size(const struct part *part, size_t instant)
{
    return part->transitions * (instant + 1) + part->types * TYPE + part->chars +
           part->leaps * (instant + 4) + part->standards + part->uts;
}

struct building {
    struct zone *zone;
    size_t room;
    int64_t last; /* the last transition of the file; INT64_MIN without one */
};

static size_t size_for(size_t spans)
{
    return sizeof(struct zone) + spans * sizeof(struct span);
}

/* Adds a span, which begins where the last one ends. Instants ascend. */
static void add_span(struct building *building, int64_t from, int64_t offset)
{
    struct zone *zone = building->zone;
    struct span *last = zone->count > 0 ? &zone->spans[zone->count - 1] : NULL;
    if (last != NULL && from <= last->from) { /* an empty span: this one replaces it */
        last->offset = offset;
        if (zone->count > 1 && last[-1].offset == offset) zone->count--;
        return;
    }
    if (last != NULL && last->offset == offset) return;
    if (zone->count == building->room) {
        building->room = 2 * building->room + 2;
        zone = building->zone = mem_realloc(zone, size_for(building->room));
        last = zone->count > 0 ? &zone->spans[zone->count - 1] : NULL;
    }
    int64_t shown = INT64_MIN;
    if (last != NULL) {
        int64_t end = from + last->offset - 1;
        shown = last->shown > end ? last->shown : end;
    }
    zone->spans[zone->count++] = (struct span){ from, shown, offset };
}

static struct building begin(void)
{
    struct building building = { mem_alloc(size_for(2)), 2, INT64_MIN };
    *building.zone = (struct zone){ .cycle_from = INT64_MAX };
    return building;
}

/* Adds the spans of the footer's rule, which holds after the last transition. */
static void add_rule(struct building *building, const struct footer *footer)
{
    bool has_transitions = building->last != INT64_MIN;
    int64_t year = FIRST_YEAR;
    if (has_transitions) year = civil_of_days(floor_div(building->last, SECONDS_PER_DAY)).year;
    int64_t cycle_year = year + 2, end = cycle_year + CYCLE_YEARS + ZONE_YEARS_AHEAD + 1;
    bool begins_in_dst =
        footer->has_dst && footer_dst_begin(footer, year) > footer_dst_end(footer, year);
    if (!has_transitions)
        building->zone->spans[0].offset = begins_in_dst ? footer->dst : footer->standard;
    if (!footer->has_dst) return;
    for (; year <= end; year++) {
        int64_t on = footer_dst_begin(footer, year), off = footer_dst_end(footer, year);
        int64_t after = building->last;
        if (on < off && on > after) add_span(building, on, footer->dst);
        if (off > after) add_span(building, off, footer->standard);
        if (on >= off && on > after) add_span(building, on, footer->dst);
    }
    building->zone->cycle_from =
        civil_to_days((struct civil){ cycle_year, 1, 1 }) * SECONDS_PER_DAY;
}

static const char *parse(struct building *building, struct bytes file)
{
    struct part part;
    struct footer footer;
    char version;
    size_t instant = 4;
    if (!take_header(&file, &version, &part)) return "it is no TZif file";
    if (version >= '2') {
        size_t skipped = part_size(&part, instant);
        instant = 8;
        if (file.len < skipped) return "the file is truncated";
        file = bytes_of(file.data + skipped, file.len - skipped);
        if (!take_header(&file, &version, &part)) return "the file is truncated";
    }
    size_t size = part_size(&part, instant);
    if (file.len < size) return "the file is truncated";
    if (part.types == 0) return "it has no offset";
    if (part.leaps > 0) return "it counts leap seconds, as no clock of this server does";

    const char *instants = file.data, *indexes = instants + part.transitions * instant;
    const char *types = indexes + part.transitions;
    for (size_t i = 0; i < part.types; i++) {
        int64_t offset = read_signed(types + i * TYPE, 4);
        if (offset < OFFSET_MIN || offset > OFFSET_MAX) return "an offset is out of range";
    }
    add_span(building, INT64_MIN, read_signed(types, 4));
    for (size_t i = 0; i < part.transitions; i++) {
        int64_t at = read_signed(instants + i * instant, instant);
        size_t type = (unsigned char)indexes[i];
        if (type >= part.types) return "a transition has an unknown type";
        if (at < -ENDLESS || at > ENDLESS) return "a transition is out of range";
        if (at <= building->last) return "transitions are not in order";
        building->last = at;
        add_span(building, at, read_signed(types + type * TYPE, 4));
    }
    if (instant == 4) return NULL; /* without a footer */

    file = bytes_of(file.data + size, file.len - size);
    const char *end = file.len < 2 ? NULL : memchr(file.data + 1, '\n', file.len - 1);
    if (end == NULL || file.data[0] != '\n') return "the file is truncated";
    struct bytes rule = bytes_of(file.data + 1, (size_t)(end - file.data) - 1);
    if (rule.len == 0) return NULL;
    if (!footer_parse(rule, &footer)) return "its footer is no rule";
    add_rule(building, &footer);
    return NULL;
}

struct zone *zone_parse(struct bytes file, const char **fault)
{
    struct building building = begin();
    *fault = parse(&building, file);
    /* The zone is kept for long, so free the room that is left. */
    if (*fault == NULL) return mem_realloc(building.zone, size_for(building.zone->count));
    zone_free(building.zone);
    return NULL;
}

struct zone *zone_utc(void)
{
    struct building building = begin();
    add_span(&building, INT64_MIN, 0);
    return building.zone;
}

void zone_free(struct zone *zone)
{
    mem_free(zone);
}

size_t zone_bytes(const struct zone *zone)
{
    return mem_size(zone);
}

int64_t zone_fold(const struct zone *zone, int64_t *at)
{
    if (*at < zone->cycle_from || zone->cycle_from == INT64_MAX) return 0;
    int64_t moved = (*at - zone->cycle_from) / SECONDS_PER_CYCLE * SECONDS_PER_CYCLE;
    *at -= moved;
    return moved;
}

size_t zone_span_at(const struct zone *zone, int64_t at)
{
    size_t low = 0, high = zone->count; /* the span is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (zone->spans[middle].from <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t zone_first_at(const struct zone *zone, int64_t local)
{
    /* Find the first span at whose end some clock has already shown `local`. A binary search works,
     * because `shown` never falls from one span to the next. */
    size_t low = 0, high = zone->count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->spans[middle + 1].shown >= local)
            high = middle;
        else
            low = middle + 1;
    }
    const struct span *span = &zone->spans[low];
    int64_t at = local - span->offset;
    return at > span->from ? at : span->from;
}

int64_t zone_latest_shown(const struct zone *zone, int64_t at)
{
    const struct span *span = &zone->spans[zone_span_at(zone, at)];
    int64_t local = at + span->offset;
    return local > span->shown ? local : span->shown;
}
