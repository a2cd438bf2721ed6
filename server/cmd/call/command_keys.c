/* command_keys: finds which arguments of a call are keys, and how the call uses them, from its
 * row. */

#include "server/cmd/call/command.h"
#include "store/base/ensure.h"

static unsigned usual_flags(const struct command *row)
{
    if (row->key_flags != 0) return row->key_flags;
    return row->flags & WRITE ? KEY_RW | KEY_UPDATE : KEY_RO | KEY_ACCESS;
}

int command_specs(const struct command *row, struct key_spec *specs)
{
    int count = 0;
    while (count < KEY_SPECS_MAX && row->specs[count].flags != 0) {
        specs[count] = row->specs[count];
        count++;
    }
    if (count > 0 || row->keys.first == 0) return count;
    struct key_range keys = row->keys;
    ensure(keys.step > 0, "%s: keys in steps of %d", row->name, keys.step);
    specs[0] = (struct key_spec){ .flags = usual_flags(row),
                                  .first = keys.first,
                                  .last = keys.last < 0 ? keys.last : keys.last - keys.first,
                                  .step = keys.step };
    return 1;
}

bool command_has_keys(const struct command *row)
{
    struct key_spec specs[KEY_SPECS_MAX];
    int count = command_specs(row, specs);
    for (int i = 0; i < count; i++)
        if (!(specs[i].flags & KEY_NOT)) return true;
    return row->find_keys != NULL;
}

/* Returns the position at which the spec starts, or 0 if its keyword is missing. */
static int first_of(const struct key_spec *spec, int argc, const struct bytes *argv)
{
    if (spec->keyword == NULL) return spec->first;
    int step = spec->first < 0 ? -1 : 1;
    int at = spec->first < 0 ? argc + spec->first : spec->first;
    for (; at > 0 && at < argc - 1; at += step)
        if (bytes_is_word(argv[at], spec->keyword)) return at + 1;
    return 0;
}

int command_count_keys(struct bytes arg, int argc)
{
    int count = 0;
    size_t i = 0;
    while (i < arg.len && (arg.data[i] == ' ' || (arg.data[i] >= '\t' && arg.data[i] <= '\r')))
        i++;
    if (i < arg.len && arg.data[i] == '+') i++;
    for (; i < arg.len && arg.data[i] >= '0' && arg.data[i] <= '9'; i++) {
        count = 10 * count + (arg.data[i] - '0');
        if (count > argc) return 0;
    }
    return count;
}

int command_keys(const struct command *row, int argc, const struct bytes *argv, int *positions)
{
    struct key_spec specs[KEY_SPECS_MAX];
    if (!command_fits_arity(row, argc)) return -1;
    if (row->find_keys != NULL) return row->find_keys(argc, argv, positions);
    int count = command_specs(row, specs), found = 0;
    for (const struct key_spec *spec = specs; spec < specs + count; spec++) {
        int first = first_of(spec, argc, argv);
        if (spec->find == KEYS_ANYWHERE || first == 0) continue;
        int last = spec->last < 0 ? argc + spec->last : first + spec->last;
        if (spec->find == KEYS_COUNTED) {
            if (first >= argc) return -1;
            last = first + spec->step * command_count_keys(argv[first], argc);
            first++;
            if (last < first) return -1;
        }
        if (last >= argc) return -1;
        /* A range may be empty, such as PFMERGE's sources. */
        for (int at = first; at <= last; at += spec->step)
            positions[found++] = at;
    }
    return found;
}

void command_key_flags(const struct command *row, int argc, const struct bytes *argv,
                       const int *positions, int count, unsigned *flags)
{
    struct key_spec specs[KEY_SPECS_MAX];
    int spec_count = command_specs(row, specs);
    for (int i = 0; i < count; i++) {
        /* A key that no other spec covers belongs to KEYS_ANYWHERE if there is one. */
        flags[i] = usual_flags(row);
        for (int s = 0; s < spec_count; s++) {
            bool anywhere = specs[s].find == KEYS_ANYWHERE;
            int first = anywhere ? 0 : first_of(&specs[s], argc, argv);
            if (!anywhere && first == 0) continue;
            int last = specs[s].last < 0 ? argc + specs[s].last : first + specs[s].last;
            bool covers = specs[s].find == KEYS_COUNTED
                              ? positions[i] > first
                              : positions[i] >= first && positions[i] <= last;
            if (!anywhere && !covers) continue;
            flags[i] = specs[s].flags;
            if (!anywhere) break;
        }
        if (flags[i] & KEY_VARIABLE) flags[i] = row->vary_keys(argc, argv);
    }
}
