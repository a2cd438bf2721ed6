/* memory_figures: how much memory each part uses, for MEMORY STATS and for INFO's section Memory.
 * Depends on the parts that own memory. */
#pragma once

#include "server/script/script.h"
#include "store/mem/mem.h"
#include "store/store.h"

struct admin_parts;

/* The number of keys, and the bytes of their tables and deadlines. Names and values do not
 * count. */
struct memory_of_keys {
    size_t tables, deadlines, keys;
};

struct memory_figures {
    size_t used, peak, resident, startup;
    size_t clients;         /* connections with their buffers, without those of replicas */
    size_t replicas;        /* their connections */
    size_t backlog, copies; /* bytes of the replication stream, and of full copies being sent */
    size_t journal;         /* records that wait to be written */
    size_t fair;            /* the indexes of REDE.FAIRCLAIM */
    struct script_report scripts;
    struct memory_of_keys keys; /* the sum over all databases */
    size_t overhead; /* `startup`, plus the growth since then of the parts from clients to keys */
    size_t dataset;  /* the rest of `used` */
    double dataset_percent; /* `dataset` in percent of the memory allocated since the start */
    struct mem_allocators allocators;
};

struct memory_of_keys memory_of_keys(const struct keyspace *ks);
/* Computes the figures. O(N), N connections and databases. */
void memory_figures(const struct admin_parts *context, struct memory_figures *figures);
/* Returns the memory of the parts from `clients` to `keys`, for parts_at_start. The server must
 * have no keys and clients yet. */
size_t memory_figures_at_start(const struct admin_parts *context);

double memory_ratio(size_t value, size_t to); /* 0 if `to` is 0 */
