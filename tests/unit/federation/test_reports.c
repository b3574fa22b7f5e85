/* SPDX-License-Identifier: Apache-2.0 */
/* What clients report: who is asked for it, until when, and what is taken from whom; and what an
 * endpoint offers of its own. */
#include <stdio.h>

#include "base/alloc.h"
#include "federation/reporting.h"
#include "tests/harness/node_bed.h"
#include "tests/harness/resources.h"

#define LOAD "type.googleapis.com/udpa.load.v1.ClientLoad"
#define LINGER_MS 1000

typedef struct bed {
    udpai_wheel wheel;
    udpai_node *node;
    uint64_t last_session;
    char orders[4096]; /* "sub 1 *com.acme; " … */
    char wanted[256];
    const char *refusal;
    char room[512];
    unsigned refused, n_judged; /* sessions, as bits */
} bed;

/* ---- the node's surroundings ---- */

static void
note_ask(bed *self, const char *what, const udpai_order *order)
{
    size_t len = strlen(self->orders);
    udpai_str name = order->subscription->names[0], prefix = order->subscription->name_space;
    assert_true(udpai_str_eq(order->subscription->type_url, UDPAI_STR(LOAD)));
    snprintf(self->orders + len, sizeof(self->orders) - len, "%s %llu %s%.*s; ", what,
             (unsigned long long)order->session, name.len ? "" : "*",
             (int)(name.len ? name.len : prefix.len), name.len ? name.data : prefix.data);
}

static void
note_changes(bed *self, const udpai_change_set *changes)
{
    static const char *const kinds[] = {
        [UDPAI_CHANGE_SET] = "+", [UDPAI_CHANGE_REFRESH] = "~", [UDPAI_CHANGE_REMOVE] = "-"};
    for (size_t i = 0; i < udpai_change_set_size(changes); i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        size_t len = strlen(self->orders);
        snprintf(self->orders + len, sizeof(self->orders) - len, "%s%s; ", kinds[change->kind],
                 udpa_resource_name(change->resource));
    }
}

static void
on_order(void *userdata, udpai_order *order)
{
    bed *self = userdata;
    if (order->kind == UDPAI_ORDER_SUBSCRIBE)
        note_ask(self, "sub", order);
    else if (order->kind == UDPAI_ORDER_UNSUBSCRIBE)
        note_ask(self, "unsub", order);
    else if (order->kind == UDPAI_ORDER_CHANGES)
        note_changes(self, order->changes);
    else if (order->kind == UDPAI_ORDER_PUBLICATION_DONE) {
        const udpa_error *error = order->publication->entries.items[0].error;
        snprintf(self->room, sizeof(self->room), "%s", error ? udpa_error_message(error) : "");
        self->refusal = self->room;
        self->refused |= (error != NULL) << order->session;
        self->n_judged++;
    }
    udpai_order_free(order);
}

static void
on_commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    (void)userdata, (void)ticket;
    udpai_durable_batch_free(batch);
    fail_msg("what clients report was to be kept");
}

static void
on_wanted(void *userdata, udpai_str type_url, udpai_str text, bool wanted)
{
    bed *self = userdata;
    size_t len = strlen(self->wanted);
    assert_true(udpai_str_eq(type_url, UDPAI_STR(LOAD)));
    snprintf(self->wanted + len, sizeof(self->wanted) - len, "%s%.*s; ", wanted ? "" : "no ",
             (int)text.len, text.data);
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return 1;
}

static void
make(void **state, bool is_endpoint)
{
    bed *self = udpai_alloc(sizeof(*self));
    const udpai_source_config source = {
        .name = {"s", 1}, .kind = UDPAI_SOURCE_UDPA_LISTEN, .peer = {"top", 3}};
    const udpai_descriptor_config descriptor = {
        .source = {"s", 1}, .continuation = UDPAI_CONTINUE, .on_demand = true};
    const udpai_provider_config provider = {.descriptors = &descriptor, .n_descriptors = 1};
    const udpai_node_config config = {
        .id = UDPAI_STR("edge"),
        .authority = UDPAI_STR("edge"),
        .timing = {.interest_linger_ms = LINGER_MS},
        .store = {.max_resources_per_namespace = 100,
                  .max_bytes_per_namespace = 1 << 20,
                  .max_resources_per_publisher = 100,
                  .max_bytes_per_publisher = 1 << 20,
                  .max_resources = 100,
                  .max_bytes = 1 << 20},
        .sources = &source,
        .n_sources = 1,
        .providers = &provider,
        .n_providers = is_endpoint,
        .is_endpoint = is_endpoint,
        .is_durable = !is_endpoint,
        .peers_are_anonymous = true,
        .max_changes_ahead = 1000,
    };
    const udpai_node_env env = {
        .order = on_order,
        .commit = on_commit,
        .wall_us = wall_us,
        .random = node_bed_no_chance,
        .demand_changed = on_wanted,
        .userdata = self,
    };
    udpai_wheel_init(&self->wheel, 0);
    assert_ok(udpai_node_new(&self->node, &self->wheel, &config, &env, NULL));
    udpai_node_start(self->node);
    *state = self;
}

static int
make_node(void **state)
{
    make(state, false);
    return 0;
}

static int
make_endpoint(void **state)
{
    make(state, true);
    return 0;
}

static int
end(void **state)
{
    bed *self = *state;
    udpai_node_free(self->node);
    udpai_free(self);
    return 0;
}

/* ---- what happens ---- */

static void
tell(bed *self, udpai_report *report)
{
    udpai_node_report(self->node, report);
    udpai_node_flush(self->node);
}

static udpai_report *
new_report(udpai_report_kind kind, uint64_t session)
{
    udpai_report *report = udpai_report_new(kind);
    assert_non_null(report);
    report->session = session;
    return report;
}

typedef enum peer_kind {
    CLIENT,
    PLAIN,
    NODE
} peer_kind;

static void
introduce(bed *self, uint64_t session, const char *id, peer_kind kind)
{
    static const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_CLIENT),
                                         UDPAI_STR(UDPAI_FEATURE_NODE)};
    const udpai_node_parts parts = {.id = udpai_str_from(id),
                                    .features = features,
                                    .n_features = kind == PLAIN ? 0 : 1 + (kind == NODE)};
    udpai_report *report = new_report(UDPAI_REPORT_NODE, session);
    assert_ok(udpai_node_info_new(&report->info, &parts));
    report->is_extended = true;
    tell(self, report);
}

/* Somebody has dialled. */
static uint64_t
arrive(bed *self, const char *id, peer_kind kind)
{
    tell(self, new_report(UDPAI_REPORT_OPENED, ++self->last_session));
    introduce(self, self->last_session, id, kind);
    return self->last_session;
}

static void
go_away(bed *self, uint64_t session)
{
    tell(self, new_report(UDPAI_REPORT_CLOSED, session));
}

/* A name, or "*prefix". */
static void
want(bed *self, const char *text, bool wanted)
{
    const udpai_str name = udpai_str_from(*text == '*' ? "" : text);
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(LOAD),
        .name_space = udpai_str_from(*text == '*' ? text + 1 : ""),
        .names = &name,
        .n_names = 1,
    };
    udpai_report *report = new_report(UDPAI_REPORT_INTEREST, 0);
    report->subscription = udpai_subscription_message_copy(&message);
    report->subscribed = wanted;
    tell(self, report);
}

static void
pass(bed *self, uint64_t ms)
{
    udpai_wheel_advance(&self->wheel, self->wheel.now_ms + ms);
    udpai_node_flush(self->node);
}

static udpa_resource *
make_load(const char *name, const char *value, unsigned ttl_ms)
{
    return RESOURCE(name, .type = LOAD, .value = value, .ttl_ms = ttl_ms);
}

static udpai_report *
new_publication(uint64_t session, const char *name, unsigned ttl_ms)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_load(name, "1", ttl_ms);
    udpai_report *report = new_report(UDPAI_REPORT_PUBLICATION, session);
    report->publication = udpai_publication_new();
    assert_ok(udpai_publication_add(report->publication, resource, false));
    return report;
}

/* Returns why it is refused; "" if it is not. */
static const char *
say(bed *self, uint64_t session, const char *name, unsigned ttl_ms)
{
    self->refusal = NULL;
    tell(self, new_publication(session, name, ttl_ms));
    assert_non_null(self->refusal);
    return self->refusal;
}

/* A refresh. */
static const char *
say_again(bed *self, uint64_t session, const char *name)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = make_load(name, "1", 1000);
    udpai_report *report = new_report(UDPAI_REPORT_PUBLICATION, session);
    report->publication = udpai_publication_new();
    assert_ok(udpai_publication_set(&report->publication->type_url, UDPAI_STR(LOAD)));
    assert_ok(udpai_publication_add(report->publication, resource, true));
    self->refusal = NULL;
    tell(self, report);
    assert_non_null(self->refusal);
    return self->refusal;
}

static bool
count_one(void *userdata, udpa_resource *resource)
{
    (void)resource;
    ++*(size_t *)userdata;
    return true;
}

/* What subscribers know of. */
static size_t
count_told(const bed *self)
{
    size_t n = 0;
    udpai_store_visit_reported(udpai_node_store(self->node), UDPAI_STR(LOAD), count_one, &n);
    return n;
}

#define assert_orders(self, expected)                                                              \
    do {                                                                                           \
        assert_string_equal((self)->orders, (expected));                                           \
        (self)->orders[0] = '\0';                                                                  \
    } while (0)

static void
ignore_update(void *userdata, udpai_local_update *update)
{
    (void)userdata;
    (void)update;
}

/* ---- tests ---- */

static void
nobody_is_asked_for_what_nobody_wants(void **state)
{
    bed *self = *state;
    arrive(self, "x", CLIENT);
    assert_orders(self, "");
}

static void
who_is_there_and_who_comes_is_asked(void **state)
{
    bed *self = *state;
    arrive(self, "x", CLIENT);
    arrive(self, "plain", PLAIN);
    arrive(self, "below", NODE);
    arrive(self, "top", NODE); /* it is a source: what is reported flows up */
    want(self, "*com.acme", true);
    assert_orders(self, "sub 3 *com.acme; sub 1 *com.acme; ");
    want(self, "com.foo/a/x", true);
    assert_orders(self, "sub 3 com.foo/a/x; sub 1 com.foo/a/x; ");
    arrive(self, "y", CLIENT);
    assert_non_null(strstr(self->orders, "sub 5 *com.acme; "));
    assert_non_null(strstr(self->orders, "sub 5 com.foo/a/x; "));
}

static void
they_are_asked_no_more_when_nobody_wants_it(void **state)
{
    bed *self = *state;
    arrive(self, "x", CLIENT);
    want(self, "*com.acme", true);
    want(self, "*com.acme", false);
    pass(self, LINGER_MS - 1);
    want(self, "*com.acme", true); /* he has come again */
    pass(self, 2 * LINGER_MS);
    assert_orders(self, "sub 1 *com.acme; ");
    want(self, "*com.acme", false);
    pass(self, LINGER_MS);
    assert_orders(self, "unsub 1 *com.acme; ");
    want(self, "*com.acme", true);
    assert_orders(self, "sub 1 *com.acme; ");
}

static void
the_end_of_everything_leaves_the_rest(void **state)
{
    bed *self = *state;
    arrive(self, "x", CLIENT);
    want(self, "*", true);
    want(self, "*com.acme", true);
    want(self, "*", false);
    pass(self, LINGER_MS);
    assert_orders(self, "sub 1 *; sub 1 *com.acme; unsub 1 *; sub 1 *com.acme; ");
}

static udpai_local_subscription *
subscribe_directly(bed *self, const char *prefix)
{
    static const udpai_local_ops ops = {.update = ignore_update};
    const udpai_selection selection = {.type_url = UDPAI_STR(LOAD),
                                       .prefix = udpai_str_from(prefix),
                                       .reach = UDPAI_REACH_CLIENTS};
    udpai_local_subscription *subscription = NULL;
    assert_ok(udpai_node_subscribe(self->node, &selection, &ops, &subscription));
    return subscription;
}

static void
who_adds_up_asks_clients_alone(void **state)
{
    bed *self = *state;
    arrive(self, "x", CLIENT);
    arrive(self, "below", NODE);
    udpai_local_subscription *first = subscribe_directly(self, "com.acme"),
                             *second = subscribe_directly(self, "com.acme");
    assert_orders(self, "sub 1 *com.acme; ");
    assert_string_equal(self->wanted, "");
    want(self, "*com.acme", true); /* somebody wants what each client says */
    assert_orders(self, "sub 2 *com.acme; ");
    assert_string_equal(self->wanted, "*com.acme; ");
    arrive(self, "y", CLIENT);
    assert_orders(self, "sub 3 *com.acme; ");
    want(self, "*com.acme", false);
    udpai_node_unsubscribe(self->node, first);
    assert_string_equal(self->wanted, "*com.acme; ");
    pass(self, LINGER_MS);
    assert_orders(self, "unsub 2 *com.acme; ");
    assert_string_equal(self->wanted, "*com.acme; no *com.acme; ");
    udpai_node_unsubscribe(self->node, second);
    pass(self, LINGER_MS);
    assert_true(strcmp(self->orders, "unsub 1 *com.acme; unsub 3 *com.acme; ") == 0 ||
                strcmp(self->orders, "unsub 3 *com.acme; unsub 1 *com.acme; ") == 0);
}

static void
there_is_a_limit_to_wishes(void **state)
{
    bed *self = *state;
    char name[32];
    for (int i = 0; i < 1001; i++) {
        snprintf(name, sizeof(name), "com.acme/a/%d", i);
        want(self, name, true);
    }
    arrive(self, "x", CLIENT);
    size_t n = 0;
    for (const char *at = self->orders; (at = strstr(at, "sub ")); at++)
        n++;
    assert_true(n > 50); /* as many as the text has room for */
    for (int i = 0; i < 1001; i++) {
        snprintf(name, sizeof(name), "com.acme/a/%d", i);
        want(self, name, false);
    }
    pass(self, LINGER_MS);
    self->orders[0] = '\0';
    want(self, "*com.acme", true);
    assert_orders(self, "sub 1 *com.acme; ");
}

static void
a_client_speaks_for_itself(void **state)
{
    bed *self = *state;
    uint64_t x = arrive(self, "x/1", CLIENT), below = arrive(self, "below", NODE);
    assert_string_equal(say(self, x, "com.acme/a/x%2F1", 1000), "");
    assert_non_null(strstr(say(self, x, "com.acme/a/y", 1000), "is the name of another client"));
    assert_non_null(strstr(say(self, x, "com.acme/a/x", 1000), "is the name of another client"));
    assert_non_null(strstr(say(self, x, "com.acme/a/x%2", 1000), "is the name of another client"));
    assert_string_equal(say(self, below, "com.acme/a/y", 1000), "");
}

/* Though a ConfigSource has the same name, and is waited for. */
static void
who_reports_is_no_source(void **state)
{
    bed *self = *state;
    const udpai_node_parts parts = {.id = UDPAI_STR("top")};
    uint64_t session = ++self->last_session;
    udpai_report *opened = new_report(UDPAI_REPORT_OPENED, session);
    opened->is_client = true;
    tell(self, opened);
    udpai_report *introduced = new_report(UDPAI_REPORT_NODE, session);
    assert_ok(udpai_node_info_new(&introduced->info, &parts));
    tell(self, introduced);
    assert_string_equal(say(self, session, "com.acme/a/top", 1000), "");
    assert_orders(self, "+com.acme/a/top; ");
    arrive(self, "top", NODE); /* here it is */
    assert_false(*say(self, session, "com.acme/b/top", 1000));
    assert_non_null(strstr(say(self, self->last_session, "com.acme/c/top", 1000), "lies outside"));
}

static void
what_is_reported_must_end(void **state)
{
    bed *self = *state;
    uint64_t x = arrive(self, "x", CLIENT);
    assert_non_null(strstr(say(self, x, "com.acme/a/x", 0), "has no ttl"));
    assert_string_equal(say(self, x, "com.acme/a/x", 1000), "");
    assert_orders(self, "+com.acme/a/x; ");
    pass(self, 1000);
    assert_orders(self, "-com.acme/a/x; ");
}

/* It was withdrawn here, by rules or because it went round, and he who says it does not know. */
static void
what_is_refreshed_and_not_held_is_asked_for(void **state)
{
    bed *self = *state;
    uint64_t x = arrive(self, "x", CLIENT);
    want(self, "*com.acme", true);
    assert_orders(self, "sub 1 *com.acme; ");
    assert_string_equal(say_again(self, x, "com.acme/a/x"), "");
    assert_orders(self, "sub 1 com.acme/a/x; unsub 1 com.acme/a/x; ");
    assert_non_null(strstr(say_again(self, x, "com.foo/a/x"), "send its payload"));
    assert_orders(self, "");
    want(self, "com.foo/a/x", true);
    assert_string_equal(say_again(self, x, "com.foo/a/x"), "");
    assert_orders(self, "sub 1 com.foo/a/x; unsub 1 com.foo/a/x; sub 1 com.foo/a/x; ");
}

/* A ConfigSource that may have it, too, is away. */
static void
an_endpoint_believes_no_client_for_ever(void **state)
{
    bed *self = *state;
    static const udpai_local_ops ops = {.update = ignore_update};
    const udpai_selection all = {.type_url = UDPAI_STR(LOAD)};
    udpai_local_subscription *subscription = NULL;
    arrive(self, "top", NODE); /* it is a source */
    assert_ok(udpai_node_subscribe(self->node, &all, &ops, &subscription));
    pass(self, 0);
    self->orders[0] = '\0';
    assert_string_equal(say(self, self->last_session, "com.acme/a/x", 1000), "");
    pass(self, 0);
    assert_int_equal(count_told(self), 1);
    tell(self, new_report(UDPAI_REPORT_CLOSED, self->last_session));
    pass(self, 1000);
    assert_int_equal(count_told(self), 0);
    udpai_node_unsubscribe(self->node, subscription);
}

static void
an_endpoint_offers_what_it_reports(void **state)
{
    bed *self = *state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *first = make_load("com.acme/a/edge", "1", 1000);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *second = make_load("com.acme/a/edge", "2", 1000);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *endless = make_load("com.acme/a/edge", "2", 0);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *other = make_load("com.acme/a/x", "2", 1000);
    assert_ok(udpai_node_report_own(self->node, first, NULL));
    pass(self, 0);
    assert_orders(self, "+com.acme/a/edge; ");
    assert_ok(udpai_node_report_own(self->node, second, NULL));
    pass(self, 500);
    assert_orders(self, "+com.acme/a/edge; ");
    assert_ok(udpai_node_report_own(self->node, second, NULL));
    pass(self, 500);
    assert_orders(self, "~com.acme/a/edge; ");
    pass(self, 1000);
    assert_orders(self, "-com.acme/a/edge; ");
    assert_int_equal(udpai_node_report_own(self->node, endless, NULL), UDPA_ERR_INVAL);
    assert_int_equal(udpai_node_report_own(self->node, other, NULL), UDPA_ERR_DENIED);
}

static void
it_can_take_it_back(void **state)
{
    bed *self = *state;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *first = make_load("com.acme/a/edge", "1", 1000);
    assert_ok(udpai_node_report_own(self->node, first, NULL));
    pass(self, 0);
    udpai_node_withdraw_own_report(self->node, UDPAI_STR(LOAD), UDPAI_STR("com.acme/a/edge"));
    udpai_node_flush(self->node);
    assert_orders(self, "+com.acme/a/edge; -com.acme/a/edge; ");
}

static void
it_is_told_what_is_wanted(void **state)
{
    bed *self = *state;
    want(self, "*com.acme", true);
    want(self, "com.foo/a/edge", true);
    want(self, "*com.acme", false);
    assert_string_equal(self->wanted, "*com.acme; com.foo/a/edge; no *com.acme; ");
    assert_orders(self, "");
}

static void
refuse_odd(void *userdata, udpai_local_update *update)
{
    (void)userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const char *name = udpa_resource_name(udpai_local_update_at(update, i)->resource);
        if (name[strlen(name) - 1] % 2)
            udpai_local_update_refuse(update, i, udpa_error_new(UDPA_ERR_INVAL, NULL, "it is odd"));
    }
}

/* Many in one turn: each is told of what was his. */
static void
what_is_refused_is_told_to_who_said_it(void **state)
{
    static const udpai_local_ops ops = {.update = refuse_odd};
    const udpai_selection selection = {.type_url = UDPAI_STR(LOAD), .reach = UDPAI_REACH_CLIENTS};
    bed *self = *state;
    udpai_local_subscription *subscription = NULL;
    assert_ok(udpai_node_subscribe(self->node, &selection, &ops, &subscription));
    udpai_report *reports[10];
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(reports); i++) {
        char id[16], name[32];
        snprintf(id, sizeof(id), "x%u", i);
        snprintf(name, sizeof(name), "com.acme/a/x%u", i);
        reports[i] = new_publication(arrive(self, id, CLIENT), name, 1000);
    }
    for (unsigned i = 0; i < UDPAI_ARRAY_LEN(reports); i++)
        udpai_node_report(self->node, reports[i]);
    udpai_node_flush(self->node);
    assert_int_equal(self->n_judged, UDPAI_ARRAY_LEN(reports));
    assert_int_equal(self->refused, 0x554); /* x1 has session 2 */
    udpai_node_unsubscribe(self->node, subscription);
}

/* UINT64_MAX: it is not here. */
static uint64_t
since(const bed *self, const char *id)
{
    uint64_t ms = UINT64_MAX;
    bool is_here = udpai_node_peer_since(self->node, udpai_str_from(id), &ms);
    assert_int_equal(is_here, ms != UINT64_MAX);
    return ms;
}

static void
who_is_here_is_so_since_the_first_of_its_streams(void **state)
{
    bed *self = *state;
    assert_int_equal(since(self, "x"), UINT64_MAX);
    uint64_t first = arrive(self, "x", CLIENT);
    pass(self, 10);
    uint64_t second = arrive(self, "x", CLIENT), other = arrive(self, "y", CLIENT);
    assert_true(since(self, "x") == 0 && since(self, "y") == 10);
    go_away(self, first);
    assert_int_equal(since(self, "x"), 10);
    go_away(self, second);
    assert_true(since(self, "x") == UINT64_MAX && since(self, "y") == 10);
    go_away(self, other);
    assert_int_equal(since(self, "y"), UINT64_MAX);
}

/* A stream: who speaks on it, if he has said it, and since when it is there. */
typedef struct stream {
    uint64_t session, since_ms;
    int who; /* -1: he has not said it */
} stream;

static const char *const who[] = {"x", "y", "z", ""};

static uint64_t
expected_since(const stream *streams, size_t n, int of)
{
    uint64_t ms = UINT64_MAX;
    for (size_t i = 0; i < n; i++)
        if (streams[i].session && streams[i].who == of && streams[i].since_ms < ms)
            ms = streams[i].since_ms;
    return ms;
}

static void
change(bed *self, stream *one, uint64_t *chance)
{
    if (!one->session) {
        *one = (stream){++self->last_session, self->wheel.now_ms, -1};
        tell(self, new_report(UDPAI_REPORT_OPENED, one->session));
    } else if (test_random_below(chance, 3) == 0) {
        go_away(self, one->session);
        one->session = 0;
    } else { /* some say it late, and some that they are somebody else */
        one->who = (int)test_random_below(chance, UDPAI_ARRAY_LEN(who));
        introduce(self, one->session, who[one->who], CLIENT);
    }
}

static void
streams_come_and_go_in_any_order(void **state)
{
    bed *self = *state;
    stream streams[12] = {0};
    uint64_t chance = 7;
    for (size_t i = 0; i < 3000; i++) {
        change(self, &streams[test_random_below(&chance, UDPAI_ARRAY_LEN(streams))], &chance);
        if (test_random_below(&chance, 2))
            pass(self, 1);
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(who); k++)
            assert_int_equal(since(self, who[k]),
                             expected_since(streams, UDPAI_ARRAY_LEN(streams), (int)k));
    }
}

#define NODE_TEST(name) cmocka_unit_test_setup_teardown(name, make_node, end)
#define ENDPOINT_TEST(name) cmocka_unit_test_setup_teardown(name, make_endpoint, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NODE_TEST(nobody_is_asked_for_what_nobody_wants),
        NODE_TEST(who_is_there_and_who_comes_is_asked),
        NODE_TEST(they_are_asked_no_more_when_nobody_wants_it),
        NODE_TEST(the_end_of_everything_leaves_the_rest),
        NODE_TEST(who_adds_up_asks_clients_alone),
        NODE_TEST(there_is_a_limit_to_wishes),
        NODE_TEST(a_client_speaks_for_itself),
        NODE_TEST(who_reports_is_no_source),
        NODE_TEST(what_is_reported_must_end),
        NODE_TEST(what_is_refreshed_and_not_held_is_asked_for),
        ENDPOINT_TEST(an_endpoint_believes_no_client_for_ever),
        ENDPOINT_TEST(an_endpoint_offers_what_it_reports),
        ENDPOINT_TEST(it_can_take_it_back),
        ENDPOINT_TEST(it_is_told_what_is_wanted),
        NODE_TEST(what_is_refused_is_told_to_who_said_it),
        NODE_TEST(who_is_here_is_so_since_the_first_of_its_streams),
        NODE_TEST(streams_come_and_go_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
