/* SPDX-License-Identifier: Apache-2.0 */
/* What is read of a directory counts when most replicas have read the same, and where they differ,
 * that is reported. */
#include "federation/agreement.h"

#include "federation/node_internal.h"
#include "model/types.h"
#include "tests/harness/log_lines.h"
#include "tests/unit/federation/replicated_bed.h"

#define NAME "com.acme/x"
#define ROOT "/files"
#define OTHER_DIGEST "00000000000000ff"

/* ---- what is read here ---- */

static void
read_value(fed_bed *bed, const char *type, const char *value, bool must_agree)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE(NAME, .type = type, .version = value, .value = value);
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT),
        .resources = &resource,
        .n_resources = 1,
        .must_agree = must_agree,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    flush(bed);
}

static bool
note_value(void *userdata, const udpai_contribution *held)
{
    udpai_str value = udpai_resource_value(held->resource);
    (void)snprintf(userdata, 16, "%.*s", UDPAI_SHOWN(value));
    return true;
}

static void
assert_counts(fed_bed *bed, const char *value)
{
    char found[16] = "";
    udpai_store_visit_name(bed->node->context.store, UDPAI_STR(TEST_CDS), UDPAI_STR(NAME),
                           note_value, found);
    assert_string_equal(found, value);
}

static void
begin(fed_bed *bed)
{
    bed->root = ROOT;
    (void)arrive(bed, &alice);
}

/* ---- what others have read ---- */

/* This one is the first; NULL: the other one does not state it. */
static void
others_have_read(fed_bed *bed, const char *const *digests, size_t n)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_MEMBERS);
    event->membership = UDPAI_MEMBERSHIP_JOINED;
    for (size_t i = 0; i <= n; i++) {
        udpai_replica_member *member = &event->members[event->n_members++];
        char id[] = {(char)('1' + i), '\0'}, line[64] = "";
        if (i && digests[i - 1])
            (void)snprintf(line, sizeof(line), "%s " ROOT "\n", digests[i - 1]);
        udpa_bytes **const texts[] = {&member->id, &member->version, &member->address,
                                      &member->config, &member->files};
        const char *const values[] = {id, "1.0", "host", "c", line};
        for (size_t j = 0; j < UDPAI_ARRAY_LEN(texts); j++)
            assert_ok(udpa_bytes_new(texts[j], values[j], strlen(values[j])));
        member->place = (unsigned)i + 1;
        member->is_own = i == 0;
    }
    udpai_node_replicated(bed->node, event);
    flush(bed);
}

static void
other_has_read(fed_bed *bed, const char *digest)
{
    others_have_read(bed, &digest, 1);
}

static void
nobody_else_is_there(fed_bed *bed)
{
    others_have_read(bed, NULL, 0);
}

/* Of what was read here last. */
static const char *
own_digest(void)
{
    static char digest[17];
    assert_string_equal(stated + 16, " " ROOT "\n");
    (void)snprintf(digest, sizeof(digest), "%.16s", stated);
    return digest;
}

static void
assert_waiting(fed_bed *bed, size_t n)
{
    assert_int_equal(udpai_node_replica_status(bed->node)->n_files_waiting, n);
}

/* ---- what waits ---- */

static void
what_one_alone_has_read_counts(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    nobody_else_is_there(bed);
    read_value(bed, TEST_CDS, "1", true);
    assert_counts(bed, "1");
    assert_waiting(bed, 0);
}

static void
without_members_it_waits(void **state)
{
    fed_bed *bed = *state;
    bed->root = ROOT;
    start(bed);
    read_value(bed, TEST_CDS, "1", true);
    assert_counts(bed, "");
    assert_waiting(bed, 1);
    nobody_else_is_there(bed);
    assert_counts(bed, "1");
    assert_waiting(bed, 0);
}

static void
what_most_have_read_counts(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    const char *digests[] = {OTHER_DIGEST, OTHER_DIGEST};
    others_have_read(bed, digests, 2);
    read_value(bed, TEST_CDS, "1", true);
    assert_counts(bed, "");
    digests[1] = own_digest();
    others_have_read(bed, digests, 2);
    assert_counts(bed, "1");
}

static void
half_of_them_are_not_most(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    const char *digests[] = {OTHER_DIGEST, OTHER_DIGEST, OTHER_DIGEST};
    others_have_read(bed, digests, 3);
    read_value(bed, TEST_CDS, "1", true);
    digests[2] = own_digest();
    others_have_read(bed, digests, 3);
    assert_counts(bed, "");
    digests[1] = own_digest();
    others_have_read(bed, digests, 3);
    assert_counts(bed, "1");
}

static void
where_others_were_first_it_counts_at_once(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    nobody_else_is_there(bed);
    read_value(bed, TEST_CDS, "2", true);
    const char *second = strdup(own_digest());
    read_value(bed, TEST_CDS, "1", true);
    assert_counts(bed, "1");
    other_has_read(bed, second);
    read_value(bed, TEST_CDS, "2", true);
    assert_counts(bed, "2");
    free((char *)second);
}

static void
one_that_dies_does_not_hold_it_up(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    other_has_read(bed, OTHER_DIGEST);
    read_value(bed, TEST_CDS, "1", true);
    assert_counts(bed, "");
    nobody_else_is_there(bed);
    assert_counts(bed, "1");
}

static void
after_a_minute_it_counts(void **state)
{
    fed_bed *bed = *state;
    log_lines lines;
    begin(bed);
    other_has_read(bed, OTHER_DIGEST);
    read_value(bed, TEST_CDS, "1", true);
    log_lines_begin(&lines, UDPA_LOG_WARNING, "file");
    fed_advance(bed, UDPAI_AGREEMENT_MAX_MS / 2);
    read_value(bed, TEST_CDS, "2", true); /* the time runs from the first one on */
    fed_advance(bed, UDPAI_AGREEMENT_MAX_MS / 2 - 1);
    assert_counts(bed, "");
    fed_advance(bed, 1);
    flush(bed);
    log_lines_end();
    assert_counts(bed, "2");
    assert_non_null(strstr(lines.text, "most replicas have not read the same within 60 s"));
    read_value(bed, TEST_CDS, "3", true);
    assert_counts(bed, "2");
}

static void
what_counts_is_read_again(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    nobody_else_is_there(bed);
    read_value(bed, TEST_CDS, "1", true);
    other_has_read(bed, OTHER_DIGEST);
    read_value(bed, TEST_CDS, "2", true);
    assert_waiting(bed, 1);
    read_value(bed, TEST_CDS, "1", true); /* so it was all the time */
    assert_waiting(bed, 0);
    assert_counts(bed, "1");
    fed_advance(bed, 2 * UDPAI_AGREEMENT_MAX_MS);
    flush(bed);
    assert_counts(bed, "1");
}

static void
where_it_need_not_agree_it_counts(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    other_has_read(bed, OTHER_DIGEST);
    read_value(bed, TEST_CDS, "1", false);
    assert_counts(bed, "1");
    assert_string_not_equal(own_digest(), OTHER_DIGEST);
}

static void
digests_do_not_show_secrets(void **state)
{
    fed_bed *bed = *state;
    char first[17];
    begin(bed);
    read_value(bed, UDPAI_TYPE_SECRET, "1", false);
    memcpy(first, own_digest(), sizeof(first));
    read_value(bed, UDPAI_TYPE_SECRET, "2", false);
    assert_string_equal(first, own_digest());
    read_value(bed, TEST_CDS, "2", false);
    assert_string_not_equal(first, own_digest());
    memcpy(first, own_digest(), sizeof(first));
    read_value(bed, TEST_CDS, "3", false);
    assert_string_not_equal(first, own_digest());
}

/* ---- what differs ---- */

static void
note_problem(void *userdata, const char *text)
{
    (void)snprintf(userdata, 512, "%s", text);
}

static const char *
problem(fed_bed *bed)
{
    static char text[512];
    text[0] = '\0';
    udpai_agreement_visit_problems(bed->node->parts.agreement, note_problem, text);
    return text;
}

static void
what_differs_for_a_while_is_reported(void **state)
{
    fed_bed *bed = *state;
    log_lines lines;
    char expected[300];
    begin(bed);
    log_lines_begin(&lines, UDPA_LOG_INFO, "file");
    read_value(bed, TEST_CDS, "1", false);
    const char *digests[] = {own_digest(), OTHER_DIGEST, NULL};
    others_have_read(bed, digests, 3);
    fed_advance(bed, UDPAI_AGREEMENT_GRACE_MS - 1);
    assert_string_equal(problem(bed), "");
    fed_advance(bed, 1);
    (void)snprintf(expected, sizeof(expected),
                   "directory " ROOT ": replicas have read different files: %.8s here, %.8s on "
                   "host (2), 00000000 on host (3), nothing on host (4): distribute the same files "
                   "to all of them",
                   own_digest(), own_digest());
    assert_string_equal(problem(bed), expected);
    assert_non_null(strstr(lines.text, expected));
    assert_int_equal(udpai_node_replica_status(bed->node)->n_files_differing, 1);
    digests[1] = own_digest();
    others_have_read(bed, digests, 3);
    log_lines_end();
    assert_string_equal(problem(bed), "");
    assert_non_null(strstr(lines.text, "directory " ROOT ": all replicas have read the same"));
}

static void
what_differs_for_a_moment_is_not(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_value(bed, TEST_CDS, "1", false);
    for (int i = 0; i < 3; i++) {
        other_has_read(bed, OTHER_DIGEST);
        fed_advance(bed, UDPAI_AGREEMENT_GRACE_MS - 1);
        other_has_read(bed, own_digest());
        assert_string_equal(problem(bed), "");
    }
    other_has_read(bed, NULL);
    fed_advance(bed, 2 * UDPAI_AGREEMENT_GRACE_MS);
    assert_string_equal(problem(bed), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(what_one_alone_has_read_counts),
        replicated_test(without_members_it_waits),
        replicated_test(what_most_have_read_counts),
        replicated_test(half_of_them_are_not_most),
        replicated_test(where_others_were_first_it_counts_at_once),
        replicated_test(one_that_dies_does_not_hold_it_up),
        replicated_test(after_a_minute_it_counts),
        replicated_test(what_counts_is_read_again),
        replicated_test(where_it_need_not_agree_it_counts),
        replicated_test(digests_do_not_show_secrets),
        replicated_test(what_differs_for_a_while_is_reported),
        replicated_test(what_differs_for_a_moment_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
