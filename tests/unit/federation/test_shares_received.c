/* SPDX-License-Identifier: Apache-2.0 */
/* A source with a stream, of which the elected replica gives all what it has received. */
#include "federation/accept.h"
#include "federation/source.h"
#include "tests/harness/log_lines.h"
#include "tests/unit/federation/shares_bed.h"

#define OTHERS "source:a"

static void
share_stream(fed_bed *bed)
{
    assert_ok(udpai_node_share_files(bed->node, (udpai_str){0}, UDPAI_STR("a")));
}

static void
begin_connected(fed_bed *bed, const char *members, size_t own)
{
    bed->sources[0].kind = UDPAI_SOURCE_PATH;
    bed->sources[0].kind_name = "xds";
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false},
                 {'b', "", UDPAI_STOP_ON_SUCCESS, false});
    begin_as(bed, members, own, share_stream);
    (void)fed_orders(bed);
}

/* Of that generation, by way of a node far away and this one. */
static udpa_resource *
received(const char *name, const char *value, uint64_t generation)
{
    char full[64];
    (void)snprintf(full, sizeof(full), "com.acme/%s", name);
    return RESOURCE(full, .type = TEST_CDS, .value = value, .version = value, .authority = "far",
                    .generation = generation, .hops = {{"core", "far", ""}, {"node", "core", ""}});
}

/* Consumes the resources. */
static void
give_these(fed_bed *bed, const udpai_directory *how, udpa_resource *const *resources, size_t n)
{
    udpai_directory directory = *how;
    directory.source = UDPAI_STR("a");
    directory.is_received = true;
    directory.resources = resources;
    directory.n_resources = n;
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
    flush(bed);
}

static void
give(fed_bed *bed, const udpai_directory *how, udpa_resource *first, udpa_resource *second)
{
    udpa_resource *const resources[] = {first, second};
    give_these(bed, how, resources, (first != NULL) + (second != NULL));
}

#define OF_NODE (&(udpai_directory){.keeps_generations = true})
#define OF_SERVER (&(udpai_directory){0})

static void
give_up(fed_bed *bed, const char *why)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = why ? udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "%s", why) : NULL;
    give(bed, &(udpai_directory){.is_partial = true, .has_errors = true, .fault = error}, NULL,
         NULL);
}

static const udpa_resource *
proposed_resource(size_t at)
{
    assert_true(n_proposals == 1 && at < proposals[0].batch->ops.n);
    return proposals[0].batch->ops.items[at].resource;
}

/* ---- what it has received ---- */

static void
the_way_and_the_generation_of_a_nodes_resource_stay(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give(bed, OF_NODE, received("x", "1", 5), NULL);
    assert_next("+x=1 whole");
    const udpa_resource *x = proposed_resource(0);
    assert_int_equal(udpa_resource_generation(x), 5);
    assert_int_equal(udpa_resource_n_hops(x), 2); /* this node's is among them */
    assert_str(udpai_resource_authority(x), "far");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    give(bed, OF_NODE, received("x", "1", 5), NULL);
    assert_nothing_proposed(bed);
    give(bed, OF_NODE, received("x", "1", 6), NULL); /* its authority means it anew */
    assert_next("+x=1");
    assert_int_equal(udpa_resource_generation(proposed_resource(0)), 6);
}

/* It was removed there, which says nothing of what others have of the same authority. */
static void
what_a_node_has_no_more_is_not_removed_by_its_authority(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give(bed, OF_NODE, received("x", "1", 5), received("y", "1", 5));
    commit_all(bed);
    give(bed, OF_NODE, received("x", "1", 5), NULL);
    assert_next("-y");
    commit_all(bed);
    assert_false(is_there(bed, "y"));
}

/* Else an older one of another source would be effective again. */
static void
what_its_authority_removes_ends_for_all(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give(bed, OF_NODE, received("x", "1", 5), received("y", "1", 5));
    commit_all(bed);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *of_x = received("x", "1", 5);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *of_y = received("y", "1", 5);
    udpa_resource *removals[] = {udpai_removal_of(of_x, 6), udpai_removal_of(of_y, 6)};
    give(bed, &(udpai_directory){.keeps_generations = true, .removals = removals, .n_removals = 2},
         received("x", "2", 7), NULL);
    assert_next("!y -y +x=2"); /* x was there again */
    commit_all(bed);
    assert_int_equal(udpai_store_removal_generation(bed->node->context.store, of_y), 6);
    udpa_resource_unref(removals[0]);
    udpa_resource_unref(removals[1]);
}

/* Another replica that is connected to it later gives it another one. */
static void
the_generation_of_a_servers_resource_is_this_nodes(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give(bed, OF_SERVER, received("x", "1", 5), received("y", "1", 5));
    assert_next("+x=1 +y=1 whole");
    uint64_t before = udpa_resource_generation(proposed_resource(0));
    assert_true(before > 5);
    assert_int_equal(udpa_resource_n_hops(proposed_resource(0)), 2);
    commit_all(bed);
    give(bed, OF_SERVER, received("x", "1", 3), received("y", "1", UINT64_C(1) << 62));
    assert_nothing_proposed(bed);
    give(bed, OF_SERVER, received("x", "2", 4), NULL);
    assert_next("!y -y +x=2");
    assert_true(udpa_resource_generation(proposed_resource(2)) > before);
}

static void
it_is_no_matter_of_agreement(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "ccc", 0);
    give(bed, &(udpai_directory){.must_agree = true}, received("x", "1", 5), NULL);
    assert_next("+x=1 whole");
    assert_string_equal(stated, "");
}

/* ---- who is elected ---- */

static void
what_was_received_before_does_not_count_when_it_is_elected_again(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "cc", 0);
    assert_true(udpai_node_is_elected(bed->node));
    give(bed, OF_SERVER, received("x", "1", 5), NULL);
    commit_all(bed);
    tell_members(bed, "cc", 1);
    flush(bed);
    assert_false(udpai_node_is_elected(bed->node));
    udpai_node_forget_files(bed->node, UDPAI_STR("a"));
    udpai_durable_batch *batch = new_batch();
    add_put(batch, OTHERS, received("x", "2", UINT64_C(1) << 61), 0);
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "2");
    tell_members(bed, "c", 0);
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "x", "2");
    give(bed, OF_SERVER, received("x", "3", 5), NULL);
    assert_next("+x=3");
}

/* ---- when it is lost ---- */

static const char *
fault(fed_bed *bed)
{
    const udpa_error *why = udpai_node_source_fault(bed->node, UDPAI_STR("a"));
    return why ? udpa_error_message(why) : "";
}

static void
all_fail_over_when_it_is_lost_and_keep_what_they_have(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give(bed, OF_SERVER, received("x", "1", 5), received("y", "1", 5));
    commit_all(bed);
    (void)fed_orders(bed);
    assert_false(udpai_node_source_has_failed(bed->node, UDPAI_STR("a")));
    give_up(bed, "refused by 192.0.2.1");
    assert_next("failing");
    commit_all(bed);
    assert_orders(bed, "dial b");
    assert_true(udpai_node_source_has_failed(bed->node, UDPAI_STR("a")));
    assert_string_equal(fault(bed), "refused by 192.0.2.1");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    give(bed, OF_SERVER, received("x", "1", 5), received("y", "1", 5));
    assert_next("whole");
    commit_all(bed);
    assert_false(udpai_node_source_has_failed(bed->node, UDPAI_STR("a")));
}

static void
who_is_elected_no_more_does_not_know_why(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "cc", 0);
    give(bed, OF_SERVER, received("x", "1", 5), NULL);
    commit_all(bed);
    give_up(bed, "refused by 192.0.2.1");
    commit_all(bed);
    tell_members(bed, "cc", 1);
    udpai_node_forget_files(bed->node, UDPAI_STR("a"));
    assert_non_null(strstr(fault(bed), "the elected replica"));
}

static void
others_say_who_knows_why(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "cc", 1);
    udpai_durable_batch *batch = new_batch();
    add_mark(batch, "mark:" OTHERS, "failing");
    tell_change(bed, batch, false);
    flush(bed);
    assert_true(udpai_node_source_has_failed(bed->node, UDPAI_STR("a")));
    assert_non_null(strstr(fault(bed), "the elected replica"));
}

/* There was never anything of it: the providers wait no longer than for any other source. */
static void
one_that_never_came_has_no_mark(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give_up(bed, NULL);
    assert_nothing_proposed(bed);
    assert_string_equal(fault(bed), "");
}

/* ---- how much may go ---- */

#define REVIEWED (&(udpai_directory){.keeps_generations = true, .is_reviewed = true})

static void
give_n(fed_bed *bed, const udpai_directory *how, size_t n)
{
    udpa_resource *resources[26];
    for (size_t i = 0; i < n; i++)
        resources[i] = received((const char[]){(char)('a' + i), '\0'}, "1", 5);
    give_these(bed, how, resources, n);
}

static void
much_may_go_only_where_rules_have_rejected_it(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give_n(bed, OF_NODE, 26);
    commit_all(bed);
    give_n(bed, REVIEWED, 2);
    commit_all(bed);
    assert_value(bed, "CDS", "a", "1");
    assert_false(is_there(bed, "z"));
}

static void
what_is_held_stays_so_when_rules_have_rejected_something_else(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give_n(bed, OF_NODE, 26);
    commit_all(bed);
    give_n(bed, OF_NODE, 2);
    give_n(bed, REVIEWED, 1);
    assert_next("-b");
    commit_all(bed);
    assert_value(bed, "CDS", "z", "1");
    give_n(bed, OF_NODE, 2); /* it may be there again, and go with others */
    commit_all(bed);
    give_n(bed, OF_NODE, 1);
    assert_nothing_proposed(bed);
}

static void
much_may_go_though_etcd_takes_it_at_the_second_attempt(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give_n(bed, OF_NODE, 26);
    commit_all(bed);
    give_n(bed, REVIEWED, 2);
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL);
    fed_advance(bed, UDPAI_SHARES_AGAIN_MS);
    flush(bed);
    commit_all(bed);
    assert_false(is_there(bed, "z"));
    give_n(bed, OF_NODE, 26);
    commit_all(bed);
    give_n(bed, OF_NODE, 2); /* nobody has accepted that */
    assert_nothing_proposed(bed);
}

/* What it has held is for the next one to hold, and to accept. */
static void
who_is_elected_no_more_holds_nothing(void **state)
{
    fed_bed *bed = *state;
    size_t n = 1;
    begin_connected(bed, "cc", 0);
    give_n(bed, OF_NODE, 26);
    commit_all(bed);
    give_n(bed, OF_NODE, 2);
    tell_members(bed, "cc", 1);
    udpai_node_forget_files(bed->node, UDPAI_STR("a"));
    assert_true(udpai_node_accept_absences(bed->node, UDPAI_STR("a"), &n));
    assert_int_equal(n, 0);
    tell_members(bed, "c", 0);
    give_n(bed, OF_NODE, 2);
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "z", "1");
}

static void
what_was_accepted_and_not_written_is_not_accepted_when_it_is_elected_again(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "cc", 0);
    give_n(bed, OF_NODE, 26);
    commit_all(bed);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    give_n(bed, REVIEWED, 2);
    assert_nothing_proposed(bed);
    tell_members(bed, "cc", 1);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    udpai_node_forget_files(bed->node, UDPAI_STR("a"));
    tell_members(bed, "c", 0);
    give_n(bed, OF_NODE, 2);
    assert_nothing_proposed(bed);
}

#define DOUBTED (&(udpai_directory){.keeps_generations = true, .doubt = "its disk may be new"})

static void
nothing_goes_while_it_is_doubted(void **state)
{
    fed_bed *bed = *state;
    size_t n = 0;
    begin_connected(bed, "c", 0);
    give_n(bed, OF_NODE, 3);
    commit_all(bed);
    give_n(bed, DOUBTED, 2);
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "c", "1");
    give_n(bed, OF_NODE, 2); /* it does not have it either later */
    assert_nothing_proposed(bed);
    assert_true(udpai_node_accept_absences(bed->node, UDPAI_STR("a"), &n));
    assert_int_equal(n, 1);
    fed_advance(bed, 1);
    flush(bed);
    assert_next("-c");
    commit_all(bed);
    give_n(bed, OF_NODE, 1);
    assert_next("-b");
}

/* Else the others would serve what it has, and this one what the next source has. */
static void
one_that_comes_back_with_less_fails_for_all_until_that_is_accepted(void **state)
{
    fed_bed *bed = *state;
    size_t n = 0;
    begin_connected(bed, "c", 0);
    give_n(bed, OF_NODE, 3);
    commit_all(bed);
    give_up(bed, "refused by 192.0.2.1");
    assert_next("failing");
    commit_all(bed);
    give_n(bed, DOUBTED, 2);
    assert_nothing_proposed(bed);
    assert_true(udpai_node_source_has_failed(bed->node, UDPAI_STR("a")));
    assert_true(udpai_node_accept_absences(bed->node, UDPAI_STR("a"), &n));
    fed_advance(bed, 1);
    flush(bed);
    assert_next("-c whole");
    commit_all(bed);
    assert_false(udpai_node_source_has_failed(bed->node, UDPAI_STR("a")));
}

/* Both have come in before it was compared with what etcd has. */
static void
a_doubt_is_not_over_with_the_next_reading(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give_n(bed, OF_NODE, 3);
    commit_all(bed);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    give_n(bed, DOUBTED, 2);
    give_n(bed, OF_NODE, 2);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "c", "1");
    give_n(bed, OF_NODE, 3);
    give_n(bed, OF_NODE, 2);
    assert_next("-c");
}

static void
each_time_that_something_is_held_it_is_logged_why(void **state)
{
    fed_bed *bed = *state;
    size_t n = 0;
    log_lines lines;
    begin_connected(bed, "c", 0);
    give_n(bed, OF_NODE, 3);
    commit_all(bed);
    log_lines_begin(&lines, UDPA_LOG_WARNING, "federation");
    give_n(bed, DOUBTED, 2);
    assert_non_null(strstr(lines.text, "its disk may be new"));
    assert_true(udpai_node_accept_absences(bed->node, UDPAI_STR("a"), &n));
    fed_advance(bed, 1);
    flush(bed);
    commit_all(bed);
    log_lines_end();
    log_lines_begin(&lines, UDPA_LOG_WARNING, "federation");
    give_n(bed, DOUBTED, 1);
    log_lines_end();
    assert_non_null(strstr(lines.text, "com.acme/b"));
}

/* As of providers whose namespaces overlap. */
static void
what_is_named_twice_is_there_once(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give(bed, OF_SERVER, received("x", "1", 5), received("x", "1", 5));
    assert_next("+x=1 whole");
    commit_all(bed);
    give(bed, OF_SERVER, received("x", "2", 5), received("x", "2", 5));
    assert_next("+x=2");
}

static void
the_order_of_what_is_given_is_no_matter(void **state)
{
    fed_bed *bed = *state;
    begin_connected(bed, "c", 0);
    give(bed, OF_NODE, received("y", "1", 5), received("x", "1", 5));
    commit_all(bed);
    give(bed, OF_NODE, received("y", "1", 5), received("x", "1", 5));
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
}

/* ---- what is logged ---- */

static void
it_is_called_by_its_name(void **state)
{
    fed_bed *bed = *state;
    log_lines lines;
    log_lines_begin(&lines, UDPA_LOG_INFO, "federation");
    begin_connected(bed, "c", 0);
    give(bed, OF_SERVER, received("x", "1", 5), NULL);
    end_first(bed, UDPAI_REPLICATED_REJECTED, udpa_error_new(UDPA_ERR_LIMIT, NULL, "too large"));
    log_lines_end();
    assert_non_null(strstr(lines.text, "source a: this replica is the elected one"));
    assert_non_null(strstr(lines.text, "source a: what was read cannot be committed"));
}

static void
what_clients_report_is_not_taken_of_a_source(void **state)
{
    fed_bed *bed = *state;
    log_lines lines;
    begin_connected(bed, "c", 0);
    udpa_resource *report = RESOURCE("com.acme/n", .type = UDPAI_TYPE_CLIENT_LOAD, .value = "1",
                                     .version = "1", .authority = "far", .generation = 5);
    log_lines_begin(&lines, UDPA_LOG_ERROR, "federation");
    give(bed, OF_NODE, report, received("x", "1", 5));
    log_lines_end();
    assert_non_null(strstr(lines.text,
                           "'com.acme/n' is of a type that clients report: a source with "
                           "'replicas: SHARED' cannot have it"));
    assert_next("+x=1 whole");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(the_way_and_the_generation_of_a_nodes_resource_stay),
        replicated_test(what_a_node_has_no_more_is_not_removed_by_its_authority),
        replicated_test(what_its_authority_removes_ends_for_all),
        replicated_test(the_generation_of_a_servers_resource_is_this_nodes),
        replicated_test(it_is_no_matter_of_agreement),
        replicated_test(what_was_received_before_does_not_count_when_it_is_elected_again),
        replicated_test(all_fail_over_when_it_is_lost_and_keep_what_they_have),
        replicated_test(who_is_elected_no_more_does_not_know_why),
        replicated_test(others_say_who_knows_why),
        replicated_test(one_that_never_came_has_no_mark),
        replicated_test(much_may_go_only_where_rules_have_rejected_it),
        replicated_test(what_is_held_stays_so_when_rules_have_rejected_something_else),
        replicated_test(much_may_go_though_etcd_takes_it_at_the_second_attempt),
        replicated_test(who_is_elected_no_more_holds_nothing),
        replicated_test(what_was_accepted_and_not_written_is_not_accepted_when_it_is_elected_again),
        replicated_test(nothing_goes_while_it_is_doubted),
        replicated_test(one_that_comes_back_with_less_fails_for_all_until_that_is_accepted),
        replicated_test(a_doubt_is_not_over_with_the_next_reading),
        replicated_test(each_time_that_something_is_held_it_is_logged_why),
        replicated_test(what_is_named_twice_is_there_once),
        replicated_test(the_order_of_what_is_given_is_no_matter),
        replicated_test(it_is_called_by_its_name),
        replicated_test(what_clients_report_is_not_taken_of_a_source),
    };
    return cmocka_run_group_tests_name("federation shares_received", tests, NULL, NULL);
}
