/* SPDX-License-Identifier: Apache-2.0 */
/* Which generations each replica gives. */
#include "federation/node_internal.h"
#include "tests/unit/federation/replicated_bed.h"

/* Their clocks are behind what both know, and each commits a publisher's of its own. */
static void
no_two_replicas_give_one_generation(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice), given[3];
    others_put(bed, ALICE, "com.acme/x", "other", UINT64_C(1) << 62);
    for (size_t own = 0; own < 3; own++) {
        tell_members(bed, "aaa", own);
        publish(bed, session, "x=1");
        given[own] = udpa_resource_generation(proposals[0].batch->ops.items[0].resource);
        assert_true(given[own] > UINT64_C(1) << 62);
        end_first(bed, UDPAI_REPLICATED_REJECTED, NULL);
        assert_int_equal(n_proposals, 0);
    }
    assert_true(given[0] != given[1] && given[1] != given[2] && given[0] != given[2]);
}

static uint64_t
given_by(fed_bed *bed, uint64_t session, const char *replica)
{
    udpa_bytes **instance = &bed->node->context.reporter_instance;
    udpa_bytes_unref(*instance);
    assert_ok(udpa_bytes_new(instance, replica, strlen(replica)));
    publish(bed, session, "x=1");
    uint64_t given = udpa_resource_generation(proposals[0].batch->ops.items[0].resource);
    end_first(bed, UDPAI_REPLICATED_REJECTED, NULL);
    return given;
}

/* Their leases have ended, or there are too many of them. */
static void
nor_do_two_that_have_no_place(void **state)
{
    fed_bed *bed = *state;
    const uint64_t known = UINT64_C(1) << 62;
    uint64_t session = arrive(bed, &alice);
    bed->node->context.is_of_set = true;
    others_put(bed, ALICE, "com.acme/x", "other", known);
    tell_members(bed, "aa", 2);
    uint64_t first = given_by(bed, session, "11111111"),
             second = given_by(bed, session, "22222222");
    assert_true(first > known && second > known && first != second);
    assert_true(first < known + 1000000 && second < known + 1000000);
    for (size_t own = 0; own < 2; own++) { /* nor what one that has a place gives */
        tell_members(bed, "aa", own);
        uint64_t other = given_by(bed, session, "11111111");
        assert_true(other % 8 != first % 8 && other % 8 != second % 8);
    }
    assert_int_equal(given_by(bed, session, "11111111"), given_by(bed, session, "22222222"));
}

/* It may have another one when they are proposed, and then another replica has this. */
static void
what_is_proposed_names_the_place_of_its_generations(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed, &alice);
    tell_members(bed, "aa", 1);
    publish(bed, session, "x=1");
    assert_int_equal(proposals[0].batch->place, 2);
    proposal first = take_first();
    udpai_durable_batch_free(first.batch);
    tell_outcome(bed, first.ticket, UDPAI_REPLICATED_LOST, NULL);
    tell_members(bed, "aa", 0); /* at one time with that */
    const udpai_durable_batch *next = proposals[0].batch;
    assert_int_equal(udpa_resource_generation(next->ops.items[0].resource) % 8, 2);
    assert_int_equal(next->place, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(no_two_replicas_give_one_generation),
        replicated_test(nor_do_two_that_have_no_place),
        replicated_test(what_is_proposed_names_the_place_of_its_generations),
    };
    return cmocka_run_group_tests_name("federation stamp", tests, NULL, NULL);
}
