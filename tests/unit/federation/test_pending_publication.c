/* SPDX-License-Identifier: Apache-2.0 */
/* What a source publishes is effective at once, and receipted when it is kept: each is answered in
 * order, and however many wait, what comes meanwhile does not look at them. (What others publish:
 * test_commits.c.) */
#include "federation/local_internal.h"
#include "federation/node_internal.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

static size_t
count(const udpai_list *list)
{
    size_t n = 0;
    UDPAI_LIST_FOREACH (at, list)
        n++;
    return n;
}

/* So many, the engine has begun with all, and finished none. */
static void
publish_some(fed_bed *bed, size_t n)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    udpai_node_committed(bed->node, bed->committed, UDPA_OK);
    bed->n_judged = 0;
    bed->is_engine_slow = true;
    for (size_t i = 0; i < n; i++) {
        char words[32];
        (void)snprintf(words, sizeof(words), "x%zu=1", i);
        (void)fed_publish(bed, 'a', "CDS", words);
        assert_int_equal(bed->n_judged, 0);
    }
}

static void
what_is_not_kept_yet_is_not_looked_at(void **state)
{
    fed_bed *bed = *state;
    publish_some(bed, 100);
    assert_true(udpai_list_empty(&bed->node->parts.local->undelivered));
    assert_true(udpai_list_empty(&bed->node->parts.local->unanswered));
    assert_int_equal(count(&bed->node->parts.local->unsafe), 100);
}

static void
each_is_answered_when_it_is_kept(void **state)
{
    fed_bed *bed = *state;
    publish_some(bed, 5);
    udpai_node_committed(bed->node, bed->committed - 5, UDPA_OK);
    assert_int_equal(bed->n_judged, 0);
    udpai_node_committed(bed->node, bed->committed - 3, UDPA_OK);
    assert_int_equal(bed->n_judged, 2);
    assert_string_equal(bed->judged, "");
    udpai_node_committed(bed->node, bed->committed, UDPA_ERR_IO);
    assert_int_equal(bed->n_judged, 5);
    assert_non_null(strstr(bed->judged, "could not be kept"));
    assert_int_equal(count(&bed->node->parts.local->unsafe), 0);
}

static void
nothing_is_left_over_at_the_end(void **state)
{
    fed_bed *bed = *state;
    publish_some(bed, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_is_not_kept_yet_is_not_looked_at),
        fed_test(each_is_answered_when_it_is_kept),
        fed_test(nothing_is_left_over_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
