/* SPDX-License-Identifier: Apache-2.0 */
/* A bed whose node is configured otherwise while it runs. */
#ifndef UDPAI_TESTS_CHANGE_BED_H
#define UDPAI_TESTS_CHANGE_BED_H

#include "tests/unit/federation/federation_test.h"

#define LINGER 30000
#define A 'a', "", UDPAI_CONTINUE, false
#define A_ON_DEMAND 'a', "", UDPAI_CONTINUE, true
#define B 'b', "", UDPAI_CONTINUE, false
#define C 'c', "", UDPAI_CONTINUE, false

/* With these sources of a, b and c. */
static inline void
have(fed_bed *bed, const char *sources)
{
    static udpai_source_config all[FED_SOURCES];
    bed->config.sources = all;
    bed->config.n_sources = strlen(sources);
    for (size_t i = 0; i < bed->config.n_sources; i++)
        all[i] = bed->sources[sources[i] - 'a'];
}

/* The type CDS of a and b, where a has x, and b has y. */
static inline void
start_two(fed_bed *bed)
{
    have(bed, "ab");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {A}, {B});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !");
    (void)fed_publish(bed, 'b', "CDS", "y=2 !");
    (void)fed_orders(bed);
}

/* It is what it was, and what is published goes on. */
static inline void
expect_two(fed_bed *bed)
{
    assert_orders(bed, "");
    assert_value(bed, "CDS", "x", "1");
    (void)fed_publish(bed, 'a', "CDS", "z=3");
    assert_value(bed, "CDS", "z", "3");
    (void)fed_publish(bed, 'a', "CDS", "-z");
    assert_value(bed, "CDS", "z", "");
}

#endif
