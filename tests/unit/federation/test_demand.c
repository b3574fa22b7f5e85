/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody here has subscribed to. */
#include "federation/demand.h"
#include "federation/node_internal.h"

#include "tests/unit/federation/federation_test.h"

static void
count_visits(void *userdata, udpai_str text)
{
    assert_str(text, "*com.acme");
    ++*(int *)userdata;
}

/* A name space may be as long as a name, and no longer. */
static void
a_place_has_a_length(void **state)
{
    fed_bed *bed = *state;
    static char place[UDPA_NAME_MAX + 2] = "com.acme/";
    int n = 0;
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_want(bed, "EDS", "*com.acme");
    memset(place + 9, 'x', sizeof(place) - 10);
    for (size_t len = UDPA_NAME_MAX - 1; len <= UDPA_NAME_MAX + 1; len++)
        udpai_demand_visit_place(bed->node->parts.demand, UDPAI_STR(TEST_EDS),
                                 (udpai_str){place, len}, count_visits, &n);
    assert_int_equal(n, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_place_has_a_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
