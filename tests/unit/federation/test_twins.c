/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes with one id: what passed the other one is no loop, and everybody is told. */
#include <stdio.h>

#include "base/log.h"
#include "federation/problems.h"
#include "tests/unit/federation/federation_test.h"

#define ONE "00000000000000000000000000000001"
#define TWO "00000000000000000000000000000002"

static const fed_peer other_node = {.id = "other", .name = "other"};

static char problems[4096];

static void
note_problem(void *userdata, const char *text)
{
    (void)userdata;
    size_t len = strlen(problems);
    snprintf(problems + len, sizeof(problems) - len, "%s\n", text);
}

static const char *
problems_of(fed_bed *bed)
{
    *problems = '\0';
    udpai_node_visit_problems(bed->node, note_problem, NULL);
    return problems;
}

static void
start_as(fed_bed *bed, const char *instance)
{
    bed->config.instance = udpai_str_from(instance);
    fed_start(bed);
}

/* x, by the way of these. */
static udpa_resource *
come_by(const char *node_id, const char *instance)
{
    return RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1",
                    .hops = {{node_id, "far", instance}, {"far", "n"}});
}

static void
a_loop_is_an_instance(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    uint64_t session = fed_arrive(bed, &other_node);
    (void)fed_put(bed, session, come_by("node", TWO), false);
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(udpai_node_n_loops(bed->node), 0);
    (void)fed_put(bed, session, come_by("node", ONE), false);
    assert_value(bed, "CDS", "x", "");
    assert_int_equal(udpai_node_n_loops(bed->node), 1);
}

/* A refresh says another way by which the same came. */
static void
a_refresh_by_a_twin_is_none(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    uint64_t session = fed_arrive(bed, &other_node);
    (void)fed_put(bed, session, come_by("elsewhere", TWO), false);
    (void)fed_put(bed, session, come_by("node", TWO), true);
    assert_value(bed, "CDS", "x", "1");
    (void)fed_put(bed, session, come_by("node", ONE), true);
    assert_value(bed, "CDS", "x", "");
}

static void
without_an_instance_the_id_says_it(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    uint64_t session = fed_arrive(bed, &other_node);
    (void)fed_put(bed, session, come_by("node", NULL), false);
    assert_value(bed, "CDS", "x", "");
}

static bool
take_last(void *userdata, const udpai_contribution *contribution)
{
    const udpa_resource *resource = contribution->resource;
    udpai_str instance = udpai_resource_hop(resource, udpa_resource_n_hops(resource) - 1).instance;
    snprintf(userdata, 64, "%.*s", (int)instance.len, instance.data);
    return true;
}

static const char *
stamp_of(fed_bed *bed)
{
    static char stamp[64];
    *stamp = '\0';
    udpai_store_visit_name(udpai_node_store(bed->node), UDPAI_STR(TEST_CDS),
                           UDPAI_STR("com.acme/x"), take_last, stamp);
    return stamp;
}

/* One without a state of its own is what its id says; of a copied state, what was kept comes from
 * the copy. */
static void
what_passes_is_stamped(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, "");
    (void)fed_publish_at(bed, fed_arrive(bed, &other_node), "CDS", "x=1");
    assert_string_equal(stamp_of(bed), "node");
    bed->config.instance = UDPAI_STR(TWO);
    fed_restart(bed);
    assert_string_equal(stamp_of(bed), TWO);
    assert_value(bed, "CDS", "x", "1");
}

static void
a_twin_far_away_is_told_while_it_is_met(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    uint64_t session = fed_arrive(bed, &other_node);
    assert_string_equal(problems_of(bed), "");
    (void)fed_put(bed, session, come_by("node", TWO), false);
    assert_non_null(strstr(problems_of(bed), "another node with this node's id 'node'"));
    assert_non_null(strstr(problems, TWO));
    (void)fed_publish_at(bed, session, "CDS", "-x");
    assert_string_equal(problems_of(bed), "");
}

/* ---- told upwards ---- */

/* One below has met what passed this node. Only what it says counts, and while it is here. */
static void
who_is_met_below_is_told(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    uint64_t session = fed_arrive(
        bed, &(fed_peer){.id = "mid", .name = "mid", .twins = "node " ONE " " TWO " 1\n"});
    assert_string_equal(fed_orders(bed), ""); /* nobody else need know */
    fed_advance(bed, 1);
    assert_non_null(
        strstr(problems_of(bed), "another node with this node's id 'node', of instance " TWO));
    assert_null(strchr(strchr(problems, '\n') + 1, '\n'));
    fed_leave(bed, session, false);
    fed_advance(bed, 1000);
    assert_string_equal(problems_of(bed), "");
}

static int n_warnings;

static void
count_warnings(udpa_log_level level, const char *component, const char *message, void *userdata)
{
    (void)level;
    (void)component;
    (void)userdata;
    n_warnings += strstr(message, "another node with this node's id") != NULL;
}

static void
it_is_logged_once(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    n_warnings = 0;
    udpa_log_set_sink(UDPA_LOG_WARNING, count_warnings, NULL);
    (void)fed_arrive(bed,
                     &(fed_peer){.id = "mid", .name = "mid", .twins = "node " ONE " " TWO " 1\n"});
    fed_advance(bed, 10 * 60000);
    uint64_t session = fed_arrive(bed, &other_node);
    (void)fed_put(bed, session, come_by("node", TWO), false); /* that is known */
    fed_advance(bed, 10 * 60000);
    udpa_log_set_sink(UDPA_LOG_SILENT, NULL, NULL);
    assert_int_equal(n_warnings, 1);
}

static void
what_is_said_of_others_is_passed_on(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    static const fed_peer low = {.id = "low", .name = "low", .twins = "x%20y 1 2 0\nfar 1 2 16\n"};
    static const fed_peer other = {.id = "mid", .name = "mid", .twins = "x%20y 1 2 4\nb 1 2 3\n"};
    uint64_t session = fed_arrive(bed, &low);
    fed_advance(bed, 1);
    assert_orders(bed, "twins, x%20y 1 2 1");
    uint64_t second = fed_arrive(bed, &other);
    fed_advance(bed, 998);
    assert_orders(bed, ""); /* at most once a second */
    fed_advance(bed, 1);
    assert_orders(bed, "twins, b 1 2 4, x%20y 1 2 1");
    fed_leave(bed, session, false);
    fed_advance(bed, 1000);
    assert_orders(bed, "twins, b 1 2 4, x%20y 1 2 5");
    fed_leave(bed, second, false);
    fed_advance(bed, 1000);
    assert_orders(bed, "twins");
    assert_string_equal(problems_of(bed), "");
}

/* The lower one of both. */
static void
who_is_met_is_told_to_sources(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    uint64_t session = fed_arrive(bed, &other_node);
    (void)fed_put(bed, session, come_by("node", TWO), false);
    fed_advance(bed, 1);
    assert_orders(bed, "twins, node " TWO " " ONE " 0");
    (void)fed_publish_at(bed, session, "CDS", "-x");
    fed_advance(bed, 59000);
    assert_orders(bed, "");
    fed_advance(bed, 2000);
    assert_orders(bed, "twins");
}

/* What comes round to who has said it is nobody's news; nor does it make a twin of him. */
static void
ones_own_word_is_not_passed_on(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    (void)fed_arrive(bed,
                     &(fed_peer){.id = "mid", .name = "mid", .twins = "node " TWO " " ONE " 3\n"});
    fed_advance(bed, 1);
    assert_orders(bed, "");
    assert_string_equal(problems_of(bed), "");
}

/* Of three the one between hears of the lowest, and lets the highest hear of it. */
static void
a_third_is_told_and_passes_it_on(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    (void)fed_arrive(bed, &(fed_peer){.id = "mid", .name = "mid", .twins = "node 3 " TWO " 0\n"});
    fed_advance(bed, 1);
    assert_orders(bed, "twins, node 3 " TWO " 1");
    assert_non_null(strstr(problems_of(bed), TWO));
}

/* Clients, and peers that know nothing of this, have nothing to say of nodes. */
static void
others_have_no_say(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    (void)fed_arrive(bed, &(fed_peer){.id = "mid",
                                      .name = "mid",
                                      .is_plain = true,
                                      .twins = "node " ONE " " TWO " 0\nx 1 2 0\n"});
    fed_advance(bed, 1);
    assert_orders(bed, "");
    assert_string_equal(problems_of(bed), "");
}

static void
twins_among_peers_are_told(void **state)
{
    fed_bed *bed = *state;
    start_as(bed, ONE);
    (void)fed_arrive(bed, &(fed_peer){.id = "twin", .name = "t", .instance = "1", .run = "a"});
    uint64_t second =
        fed_arrive(bed, &(fed_peer){.id = "twin", .name = "t", .instance = "2", .run = "b"});
    assert_non_null(strstr(problems_of(bed), "two nodes have the id 'twin'"));
    assert_null(strstr(strchr(problems, '\n') + 1, "twin")); /* once */
    fed_leave(bed, second, false);
    assert_string_equal(problems_of(bed), "");
}

/* Whoever has a copy that looks like the first is sent away as long as that is here. */
static void
the_later_of_one_instance_is_refused(void **state)
{
    fed_bed *bed = *state;
    static const fed_peer first = {.id = "p", .name = "p", .instance = "1", .run = "a"};
    static const fed_peer copy = {.id = "p", .name = "p", .instance = "1", .run = "b"};
    start_as(bed, ONE);
    uint64_t session = fed_arrive(bed, &first);
    (void)fed_orders(bed);
    uint64_t later = fed_arrive(bed, &copy);
    assert_non_null(strstr(fed_orders(bed), "hangup"));
    assert_non_null(strstr(problems_of(bed), "two live nodes are one instance, 'p' 1"));
    (void)fed_publish_at(bed, later, "CDS", "x=1");
    assert_value(bed, "CDS", "x", "");
    fed_leave(bed, later, false);
    fed_leave(bed, session, false);
    (void)fed_arrive(bed, &copy);
    assert_null(strstr(fed_orders(bed), "hangup"));
    fed_advance(bed, 60000);
    assert_string_equal(problems_of(bed), "");
}

/* One process may have several streams; and whoever shows another certificate could say anything to
 * have the owner of an instance sent away. */
static void
others_are_not(void **state)
{
    fed_bed *bed = *state;
    static const fed_peer others[] = {
        {.id = "p", .name = "p", .instance = "1", .run = "a"},
        {.id = "p", .name = "p", .instance = "2", .run = "b"},
        {.id = "p", .name = "q", .instance = "1", .run = "b"},
        {.id = "p", .name = "p", .instance = "1"},
        {.id = "p", .name = "p", .instance = "1", .run = "b", .is_plain = true},
        {.id = "p", .name = "p"},
    };
    start_as(bed, ONE);
    (void)fed_arrive(bed, &others[0]);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        uint64_t session = fed_arrive(bed, &others[i]);
        if (strstr(fed_orders(bed), "hangup"))
            fail_msg("peer %zu was refused", i);
        fed_leave(bed, session, false);
    }
}

/* We have dialled both. */
static void
a_source_of_an_instance_that_is_here_is_refused(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_CONTINUE, false}, {'b', "", UDPAI_CONTINUE, false});
    start_as(bed, ONE);
    fed_connect_as(bed, 'a', &(fed_peer){.id = "p", .instance = "1", .run = "a"});
    (void)fed_orders(bed);
    fed_connect_as(bed, 'b', &(fed_peer){.id = "p", .instance = "1", .run = "b"});
    assert_non_null(strstr(fed_orders(bed), "hangup b"));
    (void)fed_publish(bed, 'b', "CDS", "x=1 !");
    assert_value(bed, "CDS", "x", "");
    assert_false(fed_settled(bed, "CDS", "com.acme"));
    fed_close(bed, 'b');
    fed_close(bed, 'a');
    fed_connect_as(bed, 'b', &(fed_peer){.id = "p", .instance = "1", .run = "b"});
    (void)fed_publish(bed, 'b', "CDS", "x=1 !");
    assert_value(bed, "CDS", "x", "1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_loop_is_an_instance),
        fed_test(a_refresh_by_a_twin_is_none),
        fed_test(without_an_instance_the_id_says_it),
        fed_test(what_passes_is_stamped),
        fed_test(a_twin_far_away_is_told_while_it_is_met),
        fed_test(who_is_met_below_is_told),
        fed_test(it_is_logged_once),
        fed_test(what_is_said_of_others_is_passed_on),
        fed_test(who_is_met_is_told_to_sources),
        fed_test(ones_own_word_is_not_passed_on),
        fed_test(a_third_is_told_and_passes_it_on),
        fed_test(others_have_no_say),
        fed_test(twins_among_peers_are_told),
        fed_test(the_later_of_one_instance_is_refused),
        fed_test(others_are_not),
        fed_test(a_source_of_an_instance_that_is_here_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
