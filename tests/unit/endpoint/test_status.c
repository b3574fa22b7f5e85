/* SPDX-License-Identifier: Apache-2.0 */
/* What a node says of itself, as an endpoint that looks at it sees it. */
#include <time.h>

#include "pair.h"

#include "udpa/status/v1/status.pb-c.h"

#define STATUS "type.googleapis.com/udpa.status.v1."

#define MANY_QUESTIONS 4096

typedef struct look {
    unsigned n_updates, n_complete;
    size_t n_resources; /* in all updates */
    udpa_resource *last;
} look;

static void
on_update(void *userdata, udpa_update *update)
{
    look *self = userdata;
    size_t n = udpa_update_size(update);
    udpa_resource_unref(self->last);
    self->last = udpa_resource_ref(udpa_update_resource(update, n - 1));
    self->n_resources += n;
    self->n_updates++;
}

static void
on_complete(void *userdata)
{
    ((look *)userdata)->n_complete++;
}

static void
count_all(void *userdata, udpa_update *update)
{
    ((look *)userdata)->n_updates += (unsigned)udpa_update_size(update);
}

static void
open_look(look *self, udpa_endpoint *endpoint, const char *type_url, const char *name_space)
{
    udpa_subscription *subscription; /* ends with the endpoint */
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    options.type_url = type_url;
    options.name_space = name_space;
    options.update = on_update;
    options.complete = on_complete;
    options.userdata = self;
    assert_ok(udpa_subscribe(&subscription, endpoint, &options, NULL));
}

static void
check_node(const udpa_resource *resource)
{
    size_t size;
    const void *payload = udpa_resource_payload(resource, &size);
    Udpa__Status__V1__NodeStatus *node = udpa__status__v1__node_status__unpack(NULL, size, payload);
    assert_non_null(node);
    assert_string_equal(node->node_id, "server");
    assert_string_equal(node->version, "1.2.3");
    assert_int_equal(node->n_types, 1);
    assert_string_equal(node->types[0]->type_url, TEST_TYPE);
    assert_int_equal(node->types[0]->n_resources, 1);
    assert_int_equal(node->n_sessions, 1);
    assert_int_equal(node->n_problems, 1); /* that is what the test's node has to add */
    assert_string_equal(node->problems[0], PAIR_PROBLEM);
    assert_true(node->started->seconds > 0);
    udpa__status__v1__node_status__free_unpacked(node, NULL);
}

static void
check_session(const udpa_resource *resource)
{
    size_t size;
    const void *payload = udpa_resource_payload(resource, &size);
    Udpa__Status__V1__SessionStatus *session =
        udpa__status__v1__session_status__unpack(NULL, size, payload);
    assert_non_null(session);
    assert_string_equal(session->protocol, "udpa");
    assert_string_equal(session->peer_node_id, "client");
    assert_int_equal(session->n_resources_received, 1);
    udpa__status__v1__session_status__free_unpacked(session, NULL);
}

static void
test_seen_by_an_endpoint(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt receipt = {0};
    look node = {0}, session = {0}, source = {0};
    pair_begin(&pair);
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 0); /* a node takes what an endpoint publishes unasked */
    open_look(&node, pair.client, STATUS "NodeStatus", "udpa.node");
    open_look(&session, pair.client, STATUS "SessionStatus", ""); /* it is below that too */
    open_look(&source, pair.client, STATUS "SourceStatus", "udpa.node");
    pair_run_until(&pair, &node.n_complete, 1);
    pair_run_until(&pair, &session.n_complete, 1);
    pair_run_until(&pair, &source.n_complete, 1);
    assert_int_equal(node.n_resources, 1); /* nothing was complete before it was told */
    assert_string_equal(udpa_resource_name(node.last), "udpa.node/server/node");
    check_node(node.last);
    assert_true(session.n_resources >= 1);
    check_session(session.last);
    assert_int_equal(source.n_resources, 0);
    udpa_resource_unref(node.last);
    udpa_resource_unref(session.last);
    pair_end(&pair);
}

static void
take_acknowledgement(void *userdata, udpa_update *update)
{
    look *self = userdata;
    udpa_resource_unref(self->last);
    self->last = udpa_resource_ref(udpa_update_resource(update, 0));
    size_t size;
    const void *payload = udpa_resource_payload(self->last, &size);
    Udpa__Status__V1__AcknowledgementStatus *status =
        udpa__status__v1__acknowledgement_status__unpack(NULL, size, payload);
    assert_non_null(status);
    assert_string_equal(status->type_url, TEST_TYPE);
    assert_string_equal(status->name, "com.acme/a");
    self->n_updates += status->exists && status->n_subscribed == 1 && status->n_acknowledged == 1;
    udpa__status__v1__acknowledgement_status__free_unpacked(status, NULL);
}

/* The client of this pair asks, so it does not count; another one does, once it has answered. */
static void
test_acknowledgements_are_asked_for_by_name(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt receipt = {0};
    look asking = {0};
    test_ear ear = {0};
    udpa_endpoint *other = NULL;
    pair_begin(&pair);
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    const char *name = "udpa.node/acknowledgement/1/" TEST_TYPE "/com.acme/a";
    udpa_subscription *subscription;
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    options.type_url = STATUS "AcknowledgementStatus";
    options.names = &name;
    options.n_names = 1;
    options.update = take_acknowledgement;
    options.complete = on_complete;
    options.userdata = &asking;
    assert_ok(udpa_subscribe(&subscription, pair.client, &options, NULL));
    udpa_endpoint *asker = pair.client;
    pair_dial(&pair, pair.port, NULL);
    other = pair.client;
    ear_open(&ear, &pair, other, "com.acme/a");
    pair_run_until(&pair, &asking.n_updates, 1);
    assert_int_equal(ear.n_updates, 1);
    assert_int_equal(asking.n_complete, 0); /* it is never all */
    udpa_resource_unref(asking.last);
    pair_close(&pair, &asker);
    pair_end(&pair);
}

/* Processor time of all, for each. */
static double
time_of_questions(size_t n)
{
    static char rooms[MANY_QUESTIONS][64];
    static const char *names[MANY_QUESTIONS];
    test_pair pair;
    look asking = {0};
    pair_begin(&pair);
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    for (size_t i = 0; i < n; i++) {
        snprintf(rooms[i], sizeof(rooms[i]), "udpa.node/origins/%zu/cluster/com.acme/a", i);
        names[i] = rooms[i];
    }
    udpa_subscription *subscription;
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    options.type_url = STATUS "OriginsStatus";
    options.names = names;
    options.n_names = n;
    options.update = count_all;
    options.userdata = &asking;
    clock_t begun = clock();
    assert_ok(udpa_subscribe(&subscription, pair.client, &options, NULL));
    pair_run_until(&pair, &asking.n_updates, (unsigned)n);
    double time = (double)(clock() - begun);
    pair_end(&pair);
    return time / (double)n;
}

/* Each costs the same, however many others there are: in the square it would be 16 times. */
static void
test_many_questions_at_once(void **state)
{
    (void)state;
    double of_few = time_of_questions(MANY_QUESTIONS / 16),
           of_many = time_of_questions(MANY_QUESTIONS);
    assert_true(of_many < 5 * of_few);
}

/* Nobody but the node itself speaks there. */
static void
test_nobody_else_may_say_it(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("udpa.node/server/node"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 1);
    assert_non_null(strstr(receipt.refusal, "reserved namespace udpa.node"));
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seen_by_an_endpoint),
        cmocka_unit_test(test_acknowledgements_are_asked_for_by_name),
        cmocka_unit_test(test_many_questions_at_once),
        cmocka_unit_test(test_nobody_else_may_say_it),
    };
    return cmocka_run_group_tests_name("endpoint status", tests, NULL, NULL);
}
