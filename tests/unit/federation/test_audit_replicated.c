/* SPDX-License-Identifier: Apache-2.0 */
/* Among replicas a record is proposed with its change, by the one that makes it; what others have
 * recorded is kept here as it is. */
#include "federation/node_internal.h"
#include "tests/unit/federation/replicated_bed.h"

static const char *
record_at(const udpai_durable_batch *batch, size_t n)
{
    static char text[1024];
    size_t at = 0;
    const udpai_durable_op *op = udpai_audit_next(batch, &at);
    while (n-- && op)
        op = udpai_audit_next(batch, &at);
    text[0] = '\0';
    if (op)
        (void)snprintf(text, sizeof(text), "%.*s", UDPAI_SHOWN(udpai_bytes_view(op->name)));
    return text;
}

static uint64_t
arrive_audited(fed_bed *bed)
{
    bed->config.has_audit = true;
    return arrive(bed, &alice);
}

static void
a_record_is_proposed_with_its_change(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive_audited(bed);
    publish(bed, session, "x=1");
    assert_int_equal(n_proposals, 1);
    assert_non_null(
        strstr(record_at(proposals[0].batch, 0), "{\"action\":\"publish\",\"actor\":\"alice\""));
    assert_string_equal(record_at(proposals[0].batch, 1), "");
    commit_all(bed);
    publish(bed, session, "-x");
    assert_non_null(
        strstr(record_at(proposals[0].batch, 0), "{\"action\":\"remove\",\"actor\":\"alice\""));
    assert_string_equal(record_at(proposals[0].batch, 1), ""); /* of one removal one */
}

/* It may have been deleted by then: nobody decides it twice. */
static void
what_lost_is_recorded_anew(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive_audited(bed);
    publish(bed, session, "x=1");
    others_put(bed, BOB, "com.acme/y", "2", 9);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(n_proposals, 1);
    assert_non_null(strstr(record_at(proposals[0].batch, 0), "\"name\":\"com.acme/x\""));
    assert_string_equal(record_at(proposals[0].batch, 1), "");
}

static void
what_others_record_is_kept_here(void **state)
{
    fed_bed *bed = *state;
    (void)arrive_audited(bed);
    udpai_durable_batch *batch = new_batch();
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *source = bytes_of("17.0"), *line = bytes_of("{\"a\":1}");
    add_put(batch, BOB, cluster("com.acme/y", "2", 9), 0);
    assert_ok(udpai_durable_batch_add(batch, &(udpai_durable_op){
                                                 .kind = UDPAI_DURABLE_AUDIT,
                                                 .origin = source,
                                                 .name = line,
                                                 .number = 5,
                                             }));
    n_kept_records = 0;
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "y", "2");
    assert_int_equal(n_kept_records, 1);
    assert_int_equal(n_proposals, 0);
}

static void
others_put_lease(fed_bed *bed)
{
    udpai_durable_batch *batch = new_batch();
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1", .authority = "acme",
                 .generation = 5, .ttl_ms = 30000, .hops = {{"node", "acme", "the-set"}});
    add_put(batch, ALICE, resource, bed->wall_us + 30000000);
    tell_change(bed, batch, false);
    flush(bed);
}

static void
assert_end_is_proposed_in_time(fed_bed *bed)
{
    for (int i = 0; i < 60 && n_proposals == 0; i++)
        fed_advance(bed, 1000);
    assert_int_equal(n_proposals, 1);
    assert_non_null(
        strstr(record_at(proposals[0].batch, 0), "{\"action\":\"end\",\"actor\":\"node\""));
    assert_non_null(strstr(record_at(proposals[0].batch, 0), "its ttl has ended"));
    assert_string_equal(record_at(proposals[0].batch, 1), "");
}

static void
the_janitor_records_what_ends(void **state)
{
    fed_bed *bed = *state;
    (void)arrive_audited(bed);
    tell_members(bed, "aa", 0);
    others_put_lease(bed);
    assert_end_is_proposed_in_time(bed);
}

/* None of them decides by its clock at the start: it has its ttl once more, and the janitor ends
 * it. */
static void
what_ends_while_all_are_down_is_recorded_by_the_janitor(void **state)
{
    fed_bed *bed = *state;
    (void)arrive_audited(bed);
    others_put_lease(bed);
    bed->wall_us += (int64_t)3600 * 1000000;
    n_kept_records = 0;
    restart(bed);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(n_kept_records, 0);
    assert_int_equal(n_proposals, 0);
    tell_members(bed, "aa", 0);
    assert_end_is_proposed_in_time(bed);
    commit_all(bed);
    assert_value(bed, "CDS", "x", "");
    assert_int_equal(n_kept_records, 1);
    restart(bed);
    tell_members(bed, "aa", 0);
    fed_advance(bed, 60000);
    assert_int_equal(n_kept_records, 1);
    assert_int_equal(n_proposals, 0);
}

static void
what_is_done_here_is_proposed(void **state)
{
    fed_bed *bed = *state;
    (void)arrive_audited(bed);
    const udpai_audit_record record = {.action = UDPAI_STR("reload"), .actor = UDPAI_STR("node")};
    udpai_node_audit(bed->node, &record);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_non_null(strstr(record_at(proposals[0].batch, 0), "{\"action\":\"reload\""));
    commit_all(bed);
    n_kept_records = 0;
    tell_state(bed, UDPAI_REPLICATION_BEHIND); /* nobody would commit it: it is kept here alone */
    udpai_node_audit(bed->node, &record);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    assert_int_equal(n_kept_records, 1);
}

#define audit_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        audit_test(a_record_is_proposed_with_its_change),
        audit_test(what_lost_is_recorded_anew),
        audit_test(what_others_record_is_kept_here),
        audit_test(the_janitor_records_what_ends),
        audit_test(what_ends_while_all_are_down_is_recorded_by_the_janitor),
        audit_test(what_is_done_here_is_proposed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
