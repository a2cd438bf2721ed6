/* geohash: see geohash.h. The floating-point operations and their order are Redis', so that replies
 * match Redis' to the last digit. */
#include "server/cmd/geo/geohash.h"

#include <math.h>

/* The limits of Web Mercator (EPSG:3857), whose area is a square. */
#define LONGITUDE_LIMIT 180.0
#define LATITUDE_LIMIT  85.05112878

#define EARTH_RADIUS 6372797.560856 /* metres: the quadratic mean radius of WGS84 */
#define HALF_EQUATOR 20037726.37    /* metres: half of Web Mercator's width */
#define RADIAN       (M_PI / 180.0) /* radians in a degree */

enum { STEPS = 26 }; /* halvings of each axis in a full geohash */

struct axis {
    double min, max;
};
static const struct axis longitudes = { -LONGITUDE_LIMIT, LONGITUDE_LIMIT };
static const struct axis latitudes = { -LATITUDE_LIMIT, LATITUDE_LIMIT };

/* ---- offsets and bits ------------------------------------------------------------------------ */

/* Moves bit i of `half` to bit 2 * i (Sean Eron Anderson, Bit Twiddling Hacks: "Interleave
 * bits by Binary Magic Numbers"). */
static uint64_t spread(uint32_t half)
{
    uint64_t bits = half;
    bits = (bits | bits << 16) & UINT64_C(0x0000ffff0000ffff);
    bits = (bits | bits << 8) & UINT64_C(0x00ff00ff00ff00ff);
    bits = (bits | bits << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    bits = (bits | bits << 2) & UINT64_C(0x3333333333333333);
    return (bits | bits << 1) & UINT64_C(0x5555555555555555);
}

/* The inverse of spread: collects the even bits. */
static uint32_t gather_even(uint64_t bits)
{
    bits &= UINT64_C(0x5555555555555555);
    bits = (bits | bits >> 1) & UINT64_C(0x3333333333333333);
    bits = (bits | bits >> 2) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    bits = (bits | bits >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    bits = (bits | bits >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (uint32_t)(bits | bits >> 16);
}

/* One of the 4^steps rectangles that the halvings make. */
struct cell {
    uint32_t x, y; /* column from the west, row from the south; 2^steps at the limit */
    unsigned steps;
};

static uint32_t offset_of(double degrees, struct axis axis, unsigned steps)
{
    double part = (degrees - axis.min) / (axis.max - axis.min);
    return (uint32_t)(part * (double)(UINT64_C(1) << steps));
}

static double edge(uint32_t offset, struct axis axis, unsigned steps)
{
    return axis.min + ((double)offset / (double)(UINT64_C(1) << steps)) * (axis.max - axis.min);
}

static struct cell cell_of(struct geo_point point, unsigned steps)
{
    return (struct cell){ offset_of(point.longitude, longitudes, steps),
                          offset_of(point.latitude, latitudes, steps), steps };
}

static uint64_t bits_of(struct cell cell)
{
    return spread(cell.x) << 1 | spread(cell.y);
}

/* Returns the neighbour `east` columns and `north` rows away. Offsets wrap around at the edges. */
static struct cell neighbour_of(struct cell cell, int east, int north)
{
    uint32_t mask = (UINT32_C(1) << cell.steps) - 1;
    if (east != 0) cell.x = (cell.x + (uint32_t)east) & mask;
    if (north != 0) cell.y = (cell.y + (uint32_t)north) & mask;
    return cell;
}

/* ---- points ---------------------------------------------------------------------------------- */

bool geohash_has(struct geo_point point)
{
    return point.longitude >= longitudes.min && point.longitude <= longitudes.max &&
           point.latitude >= latitudes.min && point.latitude <= latitudes.max;
}

uint64_t geohash_encode(struct geo_point point)
{
    return bits_of(cell_of(point, STEPS));
}

static double middle_of(uint32_t offset, struct axis axis)
{
    double degrees = (edge(offset, axis, STEPS) + edge(offset + 1, axis, STEPS)) / 2;
    if (degrees > axis.max) return axis.max;
    return degrees < axis.min ? axis.min : degrees;
}

struct geo_point geohash_decode(double score)
{
    /* Convert as x86-64 does, on all processors, because a score may be out of range. */
    const double two_63 = 9223372036854775808.0;
    uint64_t bits = UINT64_C(1) << 63;
    if (score >= 2 * two_63)
        bits = 0;
    else if (score >= two_63)
        bits = (uint64_t)score;
    else if (score >= -two_63)
        bits = (uint64_t)(int64_t)score;
    return (struct geo_point){ middle_of(gather_even(bits >> 1), longitudes),
                               middle_of(gather_even(bits), latitudes) };
}

/* The standard geohash divides latitudes from pole to pole, our scores only those of Web Mercator,
 * so the point is decoded and encoded again. 52 bits give ten characters of 5 bits; as in Redis,
 * the eleventh is always the first of the alphabet. */
void geohash_text(double score, char text[GEOHASH_TEXT_LEN])
{
    static const char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    const struct axis to_the_poles = { -90, 90 };
    struct geo_point point = geohash_decode(score);
    uint64_t bits = bits_of((struct cell){ offset_of(point.longitude, longitudes, STEPS),
                                           offset_of(point.latitude, to_the_poles, STEPS), STEPS });
    for (int i = 0; i < GEOHASH_TEXT_LEN - 1; i++)
        text[i] = alphabet[bits >> (2 * STEPS - 5 * (i + 1)) & 31];
    text[GEOHASH_TEXT_LEN - 1] = alphabet[0];
}

double geohash_distance(struct geo_point a, struct geo_point b)
{
    double latitude_a = a.latitude * RADIAN, latitude_b = b.latitude * RADIAN;
    double u = sin((latitude_b - latitude_a) / 2);
    double v = sin((b.longitude * RADIAN - a.longitude * RADIAN) / 2);
    return 2.0 * EARTH_RADIUS * asin(sqrt(u * u + cos(latitude_a) * cos(latitude_b) * v * v));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

bool geo_shape_has(const struct geo_shape *shape, struct geo_point point, double *distance)
{
    struct geo_point center = shape->center;
    if (shape->is_box) {
        struct geo_point same_parallel = { center.longitude, point.latitude };
        struct geo_point same_meridian = { point.longitude, center.latitude };
        if (geohash_distance(point, same_parallel) > shape->width * shape->unit / 2) return false;
        if (geohash_distance(point, same_meridian) > shape->height * shape->unit / 2) return false;
    }
    *distance = geohash_distance(center, point);
    return shape->is_box || !(*distance > shape->radius * shape->unit);
}

/* The bounding box of a shape in degrees. */
struct box {
    double west, east, south, north;
};

static struct cell center_cell(const struct geo_shape *shape, const struct box *box)
{
    /* Estimate how many halvings leave cells so large that a cell and its neighbours cover `reach`
     * metres in each direction from any point of the cell. Cells are narrower near the poles, so
     * fewer halvings are allowed there. */
    double x = shape->width / 2, y = shape->height / 2, latitude = fabs(shape->center.latitude);
    double reach = (shape->is_box ? sqrt(x * x + y * y) : shape->radius) * shape->unit;
    int halvings = reach == 0 ? STEPS + 3 : -1;
    while (reach > 0 && reach < HALF_EQUATOR) {
        reach *= 2;
        halvings++;
    }
    halvings -= (latitude > 66) + (latitude > 80);
    unsigned steps = halvings < 1 ? 1 : halvings > STEPS ? STEPS : (unsigned)halvings;

    struct cell cell = cell_of(shape->center, steps);
    if (steps < 2) return cell;

    /* The box must not reach beyond the far edge of a neighbour of the cell. */
    struct cell north = neighbour_of(cell, 0, 1), south = neighbour_of(cell, 0, -1);
    struct cell east = neighbour_of(cell, 1, 0), west = neighbour_of(cell, -1, 0);
    bool is_too_small = edge(north.y + 1, latitudes, steps) < box->north ||
                        edge(south.y, latitudes, steps) > box->south ||
                        edge(east.x + 1, longitudes, steps) < box->east ||
                        edge(west.x, longitudes, steps) > box->west;
    return is_too_small ? cell_of(shape->center, steps - 1) : cell;
}

size_t geo_shape_cells(const struct geo_shape *shape, struct score_range cells[GEO_CELLS_MAX])
{
    static const struct {
        int east, north;
    } ways[] = { { 0, 0 }, { 0, 1 },  { 0, -1 }, { 1, 0 },  { -1, 0 },
                 { 1, 1 }, { -1, 1 }, { 1, -1 }, { -1, -1 } };
    struct geo_point middle = shape->center;
    double half_height = shape->unit * (shape->is_box ? shape->height / 2 : shape->radius);
    double half_width = shape->unit * (shape->is_box ? shape->width / 2 : shape->radius);
    double rows = half_height / EARTH_RADIUS / RADIAN;
    /* A width spans most degrees on the parallel that is nearest to a pole. */
    double parallel = middle.latitude < 0 ? middle.latitude - rows : middle.latitude + rows;
    double columns = half_width / EARTH_RADIUS / cos(parallel * RADIAN) / RADIAN;
    const struct box box = { middle.longitude - columns, middle.longitude + columns,
                             middle.latitude - rows, middle.latitude + rows };
    struct cell center = center_cell(shape, &box);
    unsigned shift = 2 * (STEPS - center.steps);
    size_t count = 0;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        int east = ways[i].east, north = ways[i].north;
        /* Where the cell itself reaches beyond the box's edge, the neighbour is outside the box. */
        if (center.steps >= 2 &&
            ((north < 0 && edge(center.y, latitudes, center.steps) < box.south) ||
             (north > 0 && edge(center.y + 1, latitudes, center.steps) > box.north) ||
             (east < 0 && edge(center.x, longitudes, center.steps) < box.west) ||
             (east > 0 && edge(center.x + 1, longitudes, center.steps) > box.east)))
            continue;
        uint64_t bits = bits_of(neighbour_of(center, east, north));
        struct score_range cell = { (double)(bits << shift), (double)((bits + 1) << shift) };
        /* With one halving there are only four cells: the northern neighbour is also the southern
         * one, and the eastern one also the western one. */
        if (count > 1 && cells[count - 1].min == cell.min) continue;
        cells[count++] = cell;
    }
    return count;
}
