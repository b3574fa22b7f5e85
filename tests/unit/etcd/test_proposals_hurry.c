/* SPDX-License-Identifier: Apache-2.0 */
/* While etcd chooses a leader, what is lost is attempted again soon. */
#include "proposals_bed.h"

/* What a member that still believes in a dead leader is asked is lost, until that one is noticed
 * there: it comes soon after there is another one. */
static void
what_was_lost_in_an_election_is_attempted_soon(void **state)
{
    (void)state;
    for (unsigned ms = 0; ms < 300; ms += 7) {
        model.faults.lost_requests = 1000;
        const write *before = put(&replicas[0], "/u/a");
        run_ms(1100 + ms); /* the first attempt is waited for as ever */
        const write *later = propose(&replicas[0], &(const char *){"/u/b"}, 1, false, 1);
        run_ms(400);
        model.faults.lost_requests = 0;
        run_ms(UDPAI_PROPOSAL_HURRY_MS + 50);
        assert_outcome(before, UDPAI_PROPOSAL_COMMITTED);
        assert_outcome(later, UDPAI_PROPOSAL_COMMITTED);
        n_writes = 0;
        memset(writes, 0, sizeof(writes));
    }
}

/* Answers of members that are far away are waited for as long as before. */
static void
what_takes_longer_is_waited_for(void **state)
{
    (void)state;
    model.faults.latency_ms = 120;
    for (unsigned i = 0; i < 20; i++) {
        for (unsigned n = 0; n < 8; n++) {
            const write *one = put(&replicas[0], "/u/a");
            run_ms(600);
            assert_outcome(one, UDPAI_PROPOSAL_COMMITTED);
        }
        model.faults.lost_requests = 1000;
        const write *lost = put(&replicas[0], "/u/b");
        run_ms(900);
        model.faults.lost_requests = 0;
        unsigned before = model.n_txns;
        run_ms(1000);
        assert_outcome(lost, UDPAI_PROPOSAL_COMMITTED);
        assert_true(model.n_txns - before <= 3);
        n_writes = 0;
        memset(writes, 0, sizeof(writes));
    }
}

/* That etcd is away for long is no election. */
static void
what_lasts_is_attempted_less_often(void **state)
{
    (void)state;
    model.faults.lost_requests = 1000;
    const write *one = put(&replicas[0], "/u/a");
    unsigned before = model.n_txns;
    run_ms(1000 + UDPAI_PROPOSAL_HURRIES_MS);
    assert_true(model.n_txns - before >= 20);
    run_ms(2500);
    assert_outcome(one, UDPAI_PROPOSAL_UNKNOWN);
    const write *next = put(&replicas[0], "/u/b");
    before = model.n_txns;
    run_ms(3000);
    assert_true(model.n_txns - before <= 4);
    run_ms(5000);
    assert_outcome(next, UDPAI_PROPOSAL_UNKNOWN);
}

/* It may take longer. */
static void
what_is_large_is_not_attempted_so_often(void **state)
{
    (void)state;
    static char large[UDPAI_PROPOSAL_HURRY_BYTES];
    model.faults.lost_requests = 1000;
    write *one = &writes[n_writes++];
    *one = (write){
        .by = &replicas[0],
        .ops[0] = {.kind = UDPAI_ETCD_OP_PUT,
                   .key = UDPAI_STR("/u/a"),
                   .value = {large, sizeof(large)}},
        .proposal = {.ops = one->ops, .n_ops = 1, .done = on_done},
    };
    udpai_proposals_add(replicas[0].proposals, &one->proposal);
    unsigned before = model.n_txns;
    run_ms(1000 + UDPAI_PROPOSAL_HURRIES_MS);
    assert_true(model.n_txns - before <= 4);
    run_ms(5000);
    assert_outcome(one, UDPAI_PROPOSAL_UNKNOWN);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_lost_in_an_election_is_attempted_soon, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_takes_longer_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(what_lasts_is_attempted_less_often, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_large_is_not_attempted_so_often, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
