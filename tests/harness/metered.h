/* SPDX-License-Identifier: Apache-2.0 */
/* What meters have counted, for tests. */
#ifndef UDPAI_TESTS_METERED_H
#define UDPAI_TESTS_METERED_H

#include "metrics/meters.h"
#include "tests/harness/test.h"

struct metered {
    udpai_metric metric;
    udpai_str label;
    int64_t value; /* -1: there is no such meter */
};

static inline void
metered_look(void *userdata, const udpai_reading *reading)
{
    struct metered *found = userdata;
    if (reading->metric == found->metric && udpai_str_eq(reading->label, found->label))
        found->value = (int64_t)reading->values[0];
}

/* -1: it has never been. */
static inline int64_t
metered(const udpai_meters *meters, udpai_metric metric, const char *label)
{
    struct metered found = {metric, udpai_str_from(label), -1};
    udpai_meters_read(meters, metered_look, &found);
    return found.value;
}

#endif
