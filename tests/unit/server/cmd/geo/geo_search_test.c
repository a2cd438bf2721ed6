/* GEOSEARCH, GEORADIUS and their forms that store: options, replies, events and errors. The figures
 * are replies of Redis 7.0.15. */
#include "tests/support/lines.h"
#include "tests/support/suite.h"

static void begin_with_points(void)
{
    begin();
    says("GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 2.349014 48.864716 "
         "Paris",
         ":3|");
}

START_TEST(found_members_have_their_distance_hash_and_point)
{
    begin_with_points();
    static const struct step steps[] = {
        { "GEOSEARCH g FROMLONLAT 15 37 BYBOX 400 400 km ASC WITHDIST WITHHASH",
          "*2|*3|$7|Catania|$7|56.4413|:3479447370796909|"
          "*3|$7|Palermo|$8|190.4424|:3479099956230698|" },
        { "GEORADIUS g 15 37 100 km WITHCOORD",
          "*1|*2|$7|Catania|*2|$20|15.08726745843887329|$20|37.50266842333162032|" },
        { "GEOSEARCH g FROMMEMBER Palermo BYRADIUS 1 m", "*1|$7|Palermo|" },
        { "GEORADIUSBYMEMBER_RO g Paris 1 ft", "*1|$5|Paris|" },
        { "GEOSEARCH g FROMLONLAT 15 0 BYRADIUS 1 km", "*0|" },
        { "GEOSEARCH none FROMMEMBER x BYRADIUS 1 km", "*0|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(count_means_the_nearest_places_unless_ordered_or_any)
{
    begin_with_points();
    static const struct step steps[] = {
        { "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 9000 km COUNT 1", "*1|$7|Catania|" },
        { "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 9000 km COUNT 1 DESC", "*1|$5|Paris|" },
        { "GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 9000 km COUNT 5 ANY",
          "*3|$7|Palermo|$7|Catania|$5|Paris|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(stored_members_have_their_hash_as_score)
{
    static const char *const stored = "*4|$7|Palermo|$16|3479099956230698|"
                                      "$7|Catania|$16|3479447370796909|";
    begin_with_points();
    expect_reply_and_events("GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km", ":2|",
                            "new:d geosearchstore:d ");
    says("ZRANGE d 0 -1 WITHSCORES", stored);
    expect_reply_and_events("GEORADIUS g 15 37 200 km STORE e", ":2|", "new:e georadiusstore:e ");
    says("ZRANGE e 0 -1 WITHSCORES", stored);
    expect_reply_and_events("GEORADIUSBYMEMBER g Paris 1 km STORE e", ":1|", "georadiusstore:e ");
    end();
}
END_TEST

START_TEST(stored_members_have_their_distance_as_score_with_storedist)
{
    static const char *const stored = "*4|$7|Catania|$18|56.441257870158204|"
                                      "$7|Palermo|$18|190.44242984775784|";
    begin_with_points();
    static const struct step steps[] = {
        { "GEOSEARCHSTORE d g FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST", ":2|" },
        { "GEORADIUS g 15 37 200 km STOREDIST e", ":2|" },
        { "GEORADIUSBYMEMBER g Palermo 200 mi STOREDIST f", ":2|" },
        { "ZRANGE f 0 -1 WITHSCORES", "*4|$7|Palermo|$1|0|$7|Catania|$18|103.31822459492733|" },
    };
    RUN(steps);
    says("ZRANGE d 0 -1 WITHSCORES", stored);
    says("ZRANGE e 0 -1 WITHSCORES", stored);
    end();
}
END_TEST

START_TEST(the_last_of_store_and_storedist_counts)
{
    begin_with_points();
    static const struct step steps[] = {
        { "GEORADIUS g 15 37 200 km STORE e STOREDIST d", ":2|" },
        { "EXISTS e", ":0|" },
        { "ZSCORE d Palermo", "$18|190.44242984775784|" },
        { "GEORADIUS g 15 37 200 km STOREDIST d STORE e", ":2|" },
        { "ZSCORE e Palermo", "$16|3479099956230698|" },
    };
    RUN(steps);
    end();
}
END_TEST

START_TEST(an_empty_result_removes_the_destination)
{
    begin_with_points();
    says("SET d old", "+OK|");
    expect_reply_and_events("GEOSEARCHSTORE d g FROMLONLAT 15 0 BYRADIUS 1 km", ":0|", "del:d ");
    expect_reply_and_events("GEOSEARCHSTORE d g FROMLONLAT 15 0 BYRADIUS 1 km", ":0|", "");
    says("SET d old", "+OK|");
    expect_reply_and_events("GEORADIUS none 15 0 1 km STORE d", ":0|", "keymiss:none del:d ");
    end();
}
END_TEST

START_TEST(options_that_do_not_fit_are_refused)
{
    static const struct step refused[] = {
        { "GEOSEARCH g FROMMEMBER x BYRADIUS 1 km", "ERR could not decode requested zset member" },
        { "GEOSEARCH g FROMMEMBER Paris FROMLONLAT 1 1 BYRADIUS 1 km", "ERR syntax error" },
        { "GEOSEARCH g FROMMEMBER Paris BYRADIUS 1 km BYBOX 1 1 km", "ERR syntax error" },
        { "GEOSEARCH g FROMMEMBER Paris BYRADIUS 1 km STORE x", "ERR syntax error" },
        { "GEORADIUS_RO g 15 37 200 km STORE d", "ERR syntax error" },
        { "GEOSEARCH g BYRADIUS 1 km ASC ASC",
          "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GEOSEARCH" },
        { "GEOSEARCH g FROMMEMBER Paris ASC ASC ASC",
          "ERR exactly one of BYRADIUS and BYBOX can be specified for GEOSEARCH" },
        { "GEOSEARCH g FROMMEMBER Paris BYRADIUS 1 km ANY",
          "ERR the ANY argument requires COUNT argument" },
        { "GEOSEARCH g FROMMEMBER Paris BYRADIUS 1 km COUNT 0", "ERR COUNT must be > 0" },
        { "GEORADIUS g 15 37 -1 km", "ERR radius cannot be negative" },
        { "GEORADIUS g 15 37 1 foo", "ERR unsupported unit provided. please use M, KM, FT, MI" },
        { "GEOSEARCH g FROMLONLAT 181 1 BYRADIUS 1 km",
          "ERR invalid longitude,latitude pair 181.000000,1.000000" },
        { "GEOSEARCH g FROMMEMBER Paris BYBOX -1 1 km", "ERR height or width cannot be negative" },
        { "GEORADIUS g 15 37 200 km WITHDIST STORE d",
          "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD "
          "options" },
        { "GEOSEARCHSTORE d g FROMMEMBER Paris BYRADIUS 1 km WITHHASH",
          "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options" },
    };
    begin_with_points();
    REFUSED(refused);
    end();
}
END_TEST

Suite *test_suite(void)
{
    const TTest *const tests[] = {
        found_members_have_their_distance_hash_and_point,
        count_means_the_nearest_places_unless_ordered_or_any,
        stored_members_have_their_hash_as_score,
        stored_members_have_their_distance_as_score_with_storedist,
        the_last_of_store_and_storedist_counts,
        an_empty_result_removes_the_destination,
        options_that_do_not_fit_are_refused,
        NULL,
    };
    return suite_of("geo_search", tests);
}
