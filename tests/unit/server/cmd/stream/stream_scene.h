/* stream_scene: what scenes of streams begin with. */
#pragma once

#include "tests/support/scene.h"
#include "tests/support/suite.h"

#define OK "+OK|"

/* Entries 1-0 to 3-0 in stream s, delivered to consumer c of group g. */
#define THREE_PENDING                                                                              \
    { 'a', "XADD s 1 f x", "$3|1-0|" }, { 'a', "XADD s 2 f y", "$3|2-0|" },                        \
        { 'a', "XADD s 3 f z", "$3|3-0|" }, { 'a', "XGROUP CREATE s g 0", OK },                    \
    {                                                                                              \
        'a', "XREADGROUP GROUP g c STREAMS s >",                                                   \
            "*1|*2|$1|s|*3|*2|$3|1-0|*2|$1|f|$1|x|*2|$3|2-0|*2|$1|f|$1|y|"                         \
            "*2|$3|3-0|*2|$1|f|$1|z|"                                                              \
    }
