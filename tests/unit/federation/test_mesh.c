/* SPDX-License-Identifier: Apache-2.0 */
/* A replica and the others of its set: which are dialled, which peers are of the set, what they are
 * asked for, and who is sent what comes from them. */
#include "federation/mesh.h"

#include "federation/node_internal.h"
#include "federation/problems.h"
#include "federation/reports.h"
#include "tests/unit/federation/replicated_bed.h"

#define SET "the-set"
#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define NAME "com.acme/backend/me"
#define STATUS "type.googleapis.com/udpa.status.v1.ClientStatus"
#define CLIENT "udpa.clients/node~aaaaaaaa/me/1/node~aaaaaaaa"

/* This one is node~bbbbbbbb. */
static const fed_peer lower = {.id = "node",
                               .instance = SET,
                               .run = SET,
                               .replica = "node~aaaaaaaa",
                               .has_reports = true},
                      higher = {.id = "node",
                                .instance = SET,
                                .run = SET,
                                .replica = "node~cccccccc"},
                      client = {.id = "me", .is_plain = true};

static char dialled[512];
static int n_targets; /* that are held */

static void *
hold(void *target)
{
    n_targets++;
    return target;
}

static void
let_go(void *target)
{
    (void)target;
    n_targets--;
}

static udpa_err
make_target(void *userdata, udpai_str address, void **ret_target, udpa_error **ret_error)
{
    (void)userdata;
    size_t len = strlen(dialled);
    if (udpai_str_eq(address, UDPAI_STR("bad")))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "no address");
    (void)snprintf(dialled + len, sizeof(dialled) - len, "%.*s;", UDPAI_SHOWN(address));
    *ret_target = hold(dialled);
    return UDPA_OK;
}

static void
begin(fed_bed *bed)
{
    *dialled = '\0';
    bed->config.instance = UDPAI_STR(SET);
    bed->config.replica = UDPAI_STR("bbbbbbbb0000");
    bed->config.mesh.make_target = make_target;
    bed->config.mesh.ref_target = hold;
    bed->config.mesh.release_target = let_go;
    bed->config.n_sources = 1;
    start(bed);
    tell_change(bed, new_batch(), true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    (void)fed_orders(bed);
}

typedef struct listed {
    const char *id, *address;
} listed;

/* Besides itself. */
static void
list_members(fed_bed *bed, const listed *others, size_t n)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_MEMBERS);
    const listed own = {"bbbbbbbb0000", "b:1"};
    for (size_t i = 0; i <= n; i++) {
        const listed *one = i < n ? &others[i] : &own;
        event->members[event->n_members++] = (udpai_replica_member){
            .id = bytes_of(one->id),
            .version = bytes_of("1"),
            .address = bytes_of("host"),
            .config = bytes_of("00000000"),
            .advertised = bytes_of(one->address),
            .place = (unsigned)i + 1,
            .is_own = i == n,
        };
    }
    udpai_node_replicated(bed->node, event);
    udpai_node_flush(bed->node);
    udpai_node_flush(bed->node);
}

#define MEMBERS(bed, ...)                                                                          \
    list_members(bed, (const listed[]){__VA_ARGS__},                                               \
                 sizeof((const listed[]){__VA_ARGS__}) / sizeof(listed))

static char problems[4096];

static void
note_problem(void *userdata, const char *text)
{
    (void)userdata;
    size_t len = strlen(problems);
    (void)snprintf(problems + len, sizeof(problems) - len, "%s\n", text);
}

static bool
is_problem(fed_bed *bed, const char *words)
{
    *problems = '\0';
    udpai_node_visit_problems(bed->node, note_problem, NULL);
    return strstr(problems, words) != NULL;
}

static size_t
n_connected(const fed_bed *bed)
{
    size_t n, n_there;
    udpai_mesh_count(bed->node->parts.mesh, &n, &n_there);
    return n_there;
}

static bool
was_ordered(const char *orders, const char *what)
{
    return strstr(orders, what) != NULL;
}

/* ---- dialling ---- */

static void
the_lower_one_dials(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    MEMBERS(bed, {"aaaaaaaa0000", "a:1"}, {"cccccccc0000", "c:1"});
    assert_string_equal(dialled, "c:1;");
    MEMBERS(bed, {"aaaaaaaa0000", "a:1"}, {"cccccccc0000", "c:1"});
    assert_string_equal(dialled, "c:1;");
    MEMBERS(bed, {"aaaaaaaa0000", "a:1"}, {"cccccccc0000", "c:2"});
    assert_string_equal(dialled, "c:1;c:2;");
    MEMBERS(bed, {"aaaaaaaa0000", "a:1"});
    bed->node = udpai_node_free(bed->node);
    assert_int_equal(n_targets, 0);
}

/* Its link is the second one: b in what is ordered. */
static void
one_that_is_dialled_must_be_the_one_that_is_there(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    MEMBERS(bed, {"cccccccc0000", "c:1"});
    assert_orders(bed, "dial b");
    fed_connect_as(bed, 'b', &higher);
    assert_int_equal(n_connected(bed), 1);
    assert_false(was_ordered(fed_orders(bed), "hangup"));
    fed_lose(bed, 'b', "it has ended");
    assert_int_equal(n_connected(bed), 0);
    fed_advance(bed, UDPAI_MESH_GRACE_MS);
    assert_true(is_problem(bed, "it has ended"));
    assert_true(was_ordered(fed_orders(bed), "dial b"));
    fed_connect_as(bed, 'b', &lower);
    assert_int_equal(n_connected(bed), 0);
    assert_true(was_ordered(fed_orders(bed), "hangup b"));
    assert_true(
        is_problem(bed, "at the address of replica node~cccccccc is replica node~aaaaaaaa"));
}

static void
one_without_an_address_is_a_problem(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    MEMBERS(bed, {"cccccccc0000", ""}, {"dddddddd0000", "bad"});
    assert_string_equal(dialled, "");
    assert_false(is_problem(bed, "cccccccc"));
    fed_advance(bed, UDPAI_MESH_GRACE_MS);
    assert_true(is_problem(bed, "replica node~cccccccc has no address for other replicas"));
    assert_true(is_problem(bed, "replica node~dddddddd is in etcd and not connected"));
}

/* ---- which peers are of the set ---- */

static void
one_that_comes_is_of_the_set(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    MEMBERS(bed, {"aaaaaaaa0000", "a:1"});
    fed_advance(bed, UDPAI_MESH_GRACE_MS);
    assert_true(is_problem(bed, "it has not dialled this one"));
    uint64_t session = fed_arrive(bed, &lower);
    assert_int_equal(n_connected(bed), 1);
    assert_false(is_problem(bed, "aaaaaaaa"));
    fed_leave(bed, session, false);
    assert_int_equal(n_connected(bed), 0);
}

/* Without TLS here, a name proves nothing; with it, a name is needed, and the right one. */
static void
one_with_another_certificate_is_sent_away(void **state)
{
    fed_bed *bed = *state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *own = NULL;
    const udpai_identity_parts parts = {.common_name = UDPAI_STR("replica"), .authenticated = true};
    assert_ok(udpai_identity_new(&own, &parts));
    bed->config.peers_are_anonymous = false;
    bed->config.mesh.identity = own;
    begin(bed);
    const fed_peer nameless = lower,
                   right = {.id = "node",
                            .name = "replica",
                            .instance = SET,
                            .run = SET,
                            .replica = "node~aaaaaaaa"},
                   wrong = {.id = "node",
                            .name = "mallory",
                            .instance = SET,
                            .run = SET,
                            .replica = "node~aaaaaaaa"};
    (void)fed_arrive(bed, &nameless);
    (void)fed_arrive(bed, &wrong);
    assert_int_equal(n_connected(bed), 0);
    (void)fed_arrive(bed, &right);
    assert_int_equal(n_connected(bed), 1);
}

static void
other_names_may_be_configured(void **state)
{
    fed_bed *bed = *state;
    static const udpai_str names[] = {{"udpa-*", 6}};
    bed->config.peers_are_anonymous = false;
    bed->config.mesh.names = names;
    bed->config.mesh.n_names = 1;
    begin(bed);
    (void)fed_arrive(bed, &(fed_peer){.id = "node",
                                      .name = "mallory",
                                      .instance = SET,
                                      .run = SET,
                                      .replica = "node~aaaaaaaa"});
    assert_int_equal(n_connected(bed), 0);
    (void)fed_arrive(bed, &(fed_peer){.id = "node",
                                      .name = "udpa-1",
                                      .instance = SET,
                                      .run = SET,
                                      .replica = "node~aaaaaaaa"});
    assert_int_equal(n_connected(bed), 1);
}

/* Where peers have names, one without a name is none, even if this replica has none itself. */
static void
where_peers_have_names_one_is_needed(void **state)
{
    fed_bed *bed = *state;
    bed->config.peers_are_anonymous = false;
    begin(bed);
    (void)fed_arrive(bed, &lower);
    assert_int_equal(n_connected(bed), 0);
}

static void
itself_and_too_many_are_none(void **state)
{
    fed_bed *bed = *state;
    char id[] = "node~00000000";
    begin(bed);
    (void)fed_arrive(
        bed, &(fed_peer){.id = "node", .instance = SET, .run = SET, .replica = "node~bbbbbbbb"});
    assert_int_equal(n_connected(bed), 0);
    for (int i = 0; i < UDPAI_REPLICAS_MAX; i++) {
        id[strlen("node~")] = (char)('0' + i);
        (void)fed_arrive(bed,
                         &(fed_peer){.id = "node", .instance = SET, .run = SET, .replica = id});
    }
    assert_int_equal(n_connected(bed), UDPAI_REPLICAS_MAX - 1);
}

static void
one_of_another_set_is_a_peer_as_any_other(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    (void)fed_arrive(
        bed,
        &(fed_peer){.id = "node", .instance = "other", .run = "other", .replica = "node~aaaaaaaa"});
    assert_int_equal(n_connected(bed), 0);
}

/* It may dial before it is found in etcd. */
static void
one_that_comes_early_stays(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    (void)fed_arrive(bed, &lower);
    MEMBERS(bed, {"cccccccc0000", "c:1"});
    assert_int_equal(n_connected(bed), 1);
    MEMBERS(bed, {"cccccccc0000", "c:1"}, {"aaaaaaaa0000", "a:1"});
    assert_int_equal(n_connected(bed), 1);
}

static void
one_that_comes_again_is_there_once(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t first = fed_arrive(bed, &lower), again = fed_arrive(bed, &lower);
    assert_int_equal(n_connected(bed), 1);
    fed_leave(bed, first, false);
    assert_int_equal(n_connected(bed), 1);
    fed_leave(bed, again, false);
    assert_int_equal(n_connected(bed), 0);
}

/* ---- reports ---- */

static udpa_resource *
load(const char *replica, const char *value, uint64_t generation)
{
    return RESOURCE(NAME, .type = LOAD, .version = value, .value = value, .ttl_ms = 60000,
                    .generation = generation, .authority = "me",
                    .hops = {{replica, "me", replica}});
}

/* Of the set only for a subscriber that is here. */
static void
what_is_subscribed_to_here_is_asked_of_the_set(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    bed->sessions[1] = bed->last_session + 1; /* it is called b in what is ordered */
    uint64_t session = fed_arrive(bed, &lower);
    (void)fed_orders(bed);
    udpai_reports_subscribe(bed->node->parts.interest, UDPAI_STR(LOAD), UDPAI_STR("*com.acme"),
                            true);
    const char *orders = fed_orders(bed);
    assert_true(was_ordered(orders, "sub b"));
    udpai_reports_subscribe(bed->node->parts.interest, UDPAI_STR(LOAD), UDPAI_STR("*com.acme"),
                            false);
    fed_advance(bed, 2 * bed->config.timing.interest_linger_ms + 1);
    assert_true(was_ordered(fed_orders(bed), "unsub b"));
    const udpai_str everything = {"", 0};
    const udpai_subscription_message message = {.type_url = UDPAI_STR(LOAD),
                                                .name_space = UDPAI_STR("com.acme"),
                                                .names = &everything,
                                                .n_names = 1,
                                                .distance = 1};
    udpai_report *report = udpai_report_new(UDPAI_REPORT_PASSED_ON);
    assert_non_null(report);
    report->session = session;
    report->subscribed = true;
    report->subscription = udpai_subscription_message_copy(&message);
    udpai_reports_passed_on(bed->node->parts.interest, report, UDPAI_STR("*com.acme"));
    udpai_report_free(report);
    assert_false(was_ordered(fed_orders(bed), "sub b"));
}

/* The only source is a, which is sent what this replica has of its clients. */
static void
what_comes_from_the_set_goes_to_no_source(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t other = fed_arrive(bed, &lower), direct = fed_arrive(bed, &client);
    (void)fed_reports(bed);
    assert_string_equal(fed_put(bed, other, load("node~aaaaaaaa", "1", 1), false), "");
    assert_reports(bed, "backend/me>");
    assert_string_equal(
        fed_put(bed, direct, RESOURCE("com.acme/x/me", .type = LOAD, .value = "2", .ttl_ms = 60000),
                false),
        "");
    assert_reports(bed, "x/me>*");
}

static void
a_lost_replica_is_forgotten_after_a_while(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t session = fed_arrive(bed, &lower);
    assert_string_equal(fed_put(bed, session, load("node~aaaaaaaa", "1", 1), false), "");
    fed_leave(bed, session, false);
    fed_advance(bed, UDPAI_MESH_GRACE_MS - 1);
    assert_string_equal(fed_value(bed, LOAD, NAME), "1");
    session = fed_arrive(bed, &lower);
    fed_advance(bed, UDPAI_MESH_GRACE_MS + 1);
    assert_string_equal(fed_value(bed, LOAD, NAME), "1");
    fed_leave(bed, session, false);
    fed_advance(bed, UDPAI_MESH_GRACE_MS);
    assert_string_equal(fed_value(bed, LOAD, NAME), "");
}

/* The client has moved here: what it reports here is effective, and stays. */
static void
a_client_that_has_moved_is_counted_once(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t other = fed_arrive(bed, &lower), direct = fed_arrive(bed, &client);
    assert_string_equal(fed_put(bed, other, load("node~aaaaaaaa", "1", 1), false), "");
    assert_string_equal(
        fed_put(bed, direct, RESOURCE(NAME, .type = LOAD, .value = "2", .ttl_ms = 60000), false),
        "");
    assert_string_equal(fed_value(bed, LOAD, NAME), "2");
    fed_leave(bed, other, false);
    fed_advance(bed, UDPAI_MESH_GRACE_MS);
    assert_string_equal(fed_value(bed, LOAD, NAME), "2");
}

static udpa_resource *
client_of(const char *replica)
{
    return RESOURCE(CLIENT, .type = STATUS, .version = "1", .value = "1", .ttl_ms = 600000,
                    .generation = 1, .authority = replica, .hops = {{replica, replica, replica}});
}

/* It may have left the other replica meanwhile, and be a client of this one. */
static void
clients_of_another_replica_are_asked_for_anew(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    udpai_interest *interest = bed->node->parts.interest;
    uint64_t other = fed_arrive(bed, &lower);
    const udpai_str all = UDPAI_STR("*udpa.clients");
    udpai_reports_subscribe(interest, UDPAI_STR(STATUS), all, true);
    assert_string_equal(fed_put(bed, other, client_of("node~aaaaaaaa"), false), "");
    udpai_reports_subscribe(interest, UDPAI_STR(STATUS), all, false);
    fed_advance(bed, 2 * bed->config.timing.interest_linger_ms + 1);
    assert_string_equal(fed_value(bed, STATUS, CLIENT), "1");
    udpai_reports_subscribe(interest, UDPAI_STR(STATUS), all, true);
    udpai_node_flush(bed->node);
    assert_string_equal(fed_value(bed, STATUS, CLIENT), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(the_lower_one_dials),
        replicated_test(one_that_is_dialled_must_be_the_one_that_is_there),
        replicated_test(one_without_an_address_is_a_problem),
        replicated_test(one_that_comes_is_of_the_set),
        replicated_test(one_with_another_certificate_is_sent_away),
        replicated_test(other_names_may_be_configured),
        replicated_test(where_peers_have_names_one_is_needed),
        replicated_test(itself_and_too_many_are_none),
        replicated_test(one_of_another_set_is_a_peer_as_any_other),
        replicated_test(one_that_comes_early_stays),
        replicated_test(one_that_comes_again_is_there_once),
        replicated_test(what_is_subscribed_to_here_is_asked_of_the_set),
        replicated_test(what_comes_from_the_set_goes_to_no_source),
        replicated_test(a_lost_replica_is_forgotten_after_a_while),
        replicated_test(a_client_that_has_moved_is_counted_once),
        replicated_test(clients_of_another_replica_are_asked_for_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
