/* geo_args: arguments that only the commands of places have. Each function that returns false has
 * replied the error. */
#ifndef SERVER_CMD_GEO_GEO_ARGS_H
#define SERVER_CMD_GEO_GEO_ARGS_H

#include <stdbool.h>

#include "server/call/call.h"
#include "server/cmd/geo/geohash.h"

/* A longitude at i and a latitude behind it. */
bool arg_place(struct call *call, int i, struct place *place);
/* m, km, ft or mi, as metres. */
bool arg_unit(struct call *call, int i, double *metres);
/* A radius at i and its unit. */
bool arg_radius(struct call *call, int i, struct geo_shape *shape);
/* A width at i, a height and their unit. */
bool arg_box(struct call *call, int i, struct geo_shape *shape);

/* The replies they share. */
void reply_place(struct call *call, struct place place);
void reply_distance(struct call *call, double distance); /* four decimals */

#endif
