/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing and what the receipts say, over real streams. */
#include "pair.h"

#include <stdio.h>

#include "base/alloc.h"
#include "endpoint/endpoint.h"

static void
test_applied(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    assert_int_equal(receipt.n_receipts, 0); /* nothing is called back before it returns */
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    assert_int_equal(receipt.size, 1);
    assert_string_equal(receipt.name, "com.acme/a");
    assert_int_equal(receipt.n_refused, 0);
    assert_int_equal(ear.n_additions, 1); /* told before it was answered */
    assert_string_equal(ear.last_payload, "1");
    pair_end(&pair);
}

static void
test_both_ways(void **state)
{
    (void)state;
    test_pair pair;
    test_ear at_server = {0}, at_client = {0};
    test_receipt from_client = {0}, from_server = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&at_server, &pair, pair.server, NULL);
    ear_open(&at_client, &pair, pair.client, NULL);
    publish_one(&from_client, &pair, pair.client, RESOURCE("com.acme/c", .value = "c"));
    publish_one(&from_server, &pair, pair.server, RESOURCE("com.acme/s", .value = "s"));
    pair_run_until(&pair, &from_client.n_receipts, 1);
    pair_run_until(&pair, &from_server.n_receipts, 1);
    assert_int_equal(from_client.n_refused + from_server.n_refused, 0);
    assert_string_equal(at_server.last_name, "com.acme/c");
    assert_string_equal(at_client.last_name, "com.acme/s");
    pair_end(&pair);
}

static void
test_refused_by_the_subscriber(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {.refusal = "no such port: 99999"};
    test_receipt receipt = {0}, again = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a", .value = "bad"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    assert_int_equal(receipt.n_refused, 1);
    assert_non_null(strstr(receipt.refusal, "no such port: 99999"));
    ear.refusal = NULL;
    publish_one(&again, &pair, pair.client, RESOURCE("com.acme/a", .value = "good"));
    pair_run_until(&pair, &again.n_receipts, 1);
    assert_int_equal(again.n_refused, 0);
    assert_string_equal(ear.last_payload, "good");
    pair_end(&pair);
}

static void
test_refused_because_nobody_asked(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt asked = {0}, unasked = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&asked, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &asked.n_receipts, 1);
    publish_one(&unasked, &pair, pair.client, RESOURCE("org.other/a"));
    pair_run_until(&pair, &unasked.n_receipts, 1);
    assert_int_equal(unasked.n_refused, 1);
    assert_non_null(strstr(unasked.refusal, "not subscribed: 'org.other/a'"));
    assert_int_equal(ear.n_additions, 1);
    pair_end(&pair);
}

/* Somebody who may dial, but whom the endpoint does not have as a source. */
static void
test_refused_because_it_is_no_source(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt receipt = {0};
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    char address[32];
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    snprintf(address, sizeof(address), "127.0.0.1:%d", pair.port);
    source.name = "the server";
    source.address = address;
    options.node_id = "stranger";
    options.sources = &source;
    options.n_sources = 1;
    assert_ok(udpa_endpoint_new(&pair.client, &pair.loop, &options, NULL));
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.n_refused, 1);
    assert_non_null(strstr(receipt.refusal, "'stranger' is no source of this endpoint"));
    assert_int_equal(ear.n_updates, 0);
    pair_end(&pair);
}

/* A peer that comes back before the end of its earlier stream was seen is the source all the same.
 */
static void
test_the_latest_stream_counts(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt first = {0}, second = {0}, third = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&first, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &first.n_receipts, 1);
    udpa_endpoint *earlier = pair.client;
    pair_dial(&pair, pair.port, NULL);
    ear.refusal = "not that";
    publish_one(&second, &pair, pair.client, RESOURCE("com.acme/a", .value = "2"));
    pair_run_until(&pair, &second.n_receipts, 1);
    assert_int_equal(second.n_refused, 1); /* it was asked for, and judged */
    assert_string_equal(ear.last_payload, "2");
    pair_close(&pair, &earlier);
    ear.refusal = NULL;
    publish_one(&third, &pair, pair.client, RESOURCE("com.acme/a", .value = "3"));
    pair_run_until(&pair, &third.n_receipts, 1);
    assert_int_equal(third.n_refused, 0);
    assert_string_equal(ear.last_payload, "3");
    pair_end(&pair);
}

static void
test_removal(void **state)
{
    (void)state;
    static const char *const names[] = {"com.acme/a", "com.acme/never"};
    test_pair pair;
    test_ear ear = {0};
    test_receipt added = {0}, removed = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&added, &pair, pair.client, RESOURCE("com.acme/a", .value = "last"));
    pair_run_until(&pair, &added.n_receipts, 1);
    publish_removal(&removed, &pair, pair.client, names, 2);
    pair_run_until(&pair, &removed.n_receipts, 1);
    assert_int_equal(removed.n_refused, 0);
    assert_int_equal(removed.size, 2);
    pair_run_until(&pair, &ear.n_removals, 1);
    assert_string_equal(ear.last_name, "com.acme/a");
    assert_string_equal(ear.last_payload, "last");
    pair_end(&pair);
}

/* ---- streams that end ---- */

static void
test_cut_before_the_receipt(void **state)
{
    (void)state;
    test_pair pair;
    test_ear mute = {.defers = true}, ear = {0};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&mute, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &mute.n_updates, 1);
    assert_int_equal(receipt.n_receipts, 0);
    pair_close(&pair, &pair.server); /* before it has answered */
    assert_int_equal(receipt.n_receipts, 0);
    pair_serve(&pair, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    assert_int_equal(receipt.n_refused, 0);
    assert_int_equal(ear.n_additions, 1);
    assert_string_equal(ear.last_payload, "1");
    pair_end(&pair);
}

static void
test_timeout_says_why(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt receipt = {.timeout_ms = 300};
    char where[32];
    pair_begin(&pair);
    pair_serve(&pair, NULL); /* a port of which is certain … */
    int port = pair.port;
    pair_close(&pair, &pair.server); /* … that nobody listens there */
    pair_dial(&pair, port, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    snprintf(where, sizeof(where), "127.0.0.1:%d", port);
    assert_int_equal(receipt.code, UDPA_ERR_DEADLINE);
    assert_int_equal(receipt.size, 1);
    assert_int_equal(receipt.n_refused, 0);
    assert_non_null(strstr(receipt.error, "source 'the server' within 300 ms"));
    assert_non_null(strstr(receipt.error, where));
    assert_non_null(strstr(receipt.error, "Connection refused"));
    pair_end(&pair);
}

static void
test_closed_while_it_waits(void **state)
{
    (void)state;
    test_pair pair;
    test_ear mute = {.defers = true};
    test_receipt receipt = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&mute, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &mute.n_updates, 1);
    pair_close(&pair, &pair.client);
    assert_int_equal(receipt.n_receipts, 1); /* before it was closed */
    assert_int_equal(receipt.code, UDPA_ERR_CLOSED);
    assert_string_equal(receipt.name, "com.acme/a");
    pair_end(&pair);
}

static void
publish_again(test_receipt *receipt)
{
    static const char *const name = "com.acme/a";
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    options.removed_names = &name;
    options.n_removed_names = 1;
    options.removed_type_url = TEST_TYPE;
    options.receipt = receipt_fn;
    assert_int_equal(udpa_publish(receipt->from, &options, &error), UDPA_ERR_CLOSED);
    assert_string_equal(udpa_error_message(error), "the endpoint is being closed");
}

static void
test_publishing_while_it_is_closed(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt receipt = {.also = publish_again};
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    pair_dial(&pair, pair.port, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_close(&pair, &pair.client); /* the receipt's callback tries again */
    assert_int_equal(receipt.n_receipts, 1);
    pair_end(&pair);
}

static void
close_the_client(test_receipt *receipt)
{
    test_pair *pair = receipt->pair;
    udpa_endpoint_close(pair->client, pair_count_closed, pair);
    pair->client = NULL;
}

static void
test_closing_inside_a_receipt(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_receipt receipt = {.also = close_the_client};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &pair.n_closed, 1);
    assert_int_equal(receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    pair_end(&pair);
}

/* ---- many ---- */

#define WINDOW 64 /* publications under way to one source */

/* What became of publications of com.acme/0, com.acme/1, … */
typedef struct test_crowd {
    unsigned n_receipts, n_refused, n_late; /* n_late: without a receipt in time */
    bool is_unordered;
    unsigned long next; /* of which a receipt is to come */
} test_crowd;

static void
crowd_receipt(void *userdata, const udpa_receipt *receipt)
{
    test_crowd *crowd = userdata;
    unsigned long index = strtoul(strrchr(udpa_receipt_name(receipt, 0), '/') + 1, NULL, 10);
    crowd->is_unordered |= index != crowd->next;
    crowd->next = index + 1;
    crowd->n_refused += udpa_receipt_refusal(receipt, 0) != NULL;
    crowd->n_late += udpa_error_code(udpa_receipt_error(receipt)) == UDPA_ERR_DEADLINE;
    crowd->n_receipts++;
}

static void
crowd_publish(test_crowd *crowd, udpa_endpoint *from, unsigned first, unsigned n, uint64_t timeout)
{
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    options.timeout_ms = timeout;
    options.receipt = crowd_receipt;
    options.userdata = crowd;
    options.n_resources = 1;
    for (unsigned i = first; i < first + n; i++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/%u", i);
        UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE(name, .value = "1");
        options.resources = &resource;
        assert_ok(udpa_publish(from, &options, NULL));
    }
}

/* More than a session would queue at once. */
static void
test_many_before_there_is_a_connection(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_crowd crowd = {0};
    pair_begin(&pair);
    pair_serve(&pair, NULL);
    pair_close(&pair, &pair.server);
    pair_dial(&pair, pair.port, NULL);
    crowd_publish(&crowd, pair.client, 0, 10000, 0);
    pair_serve(&pair, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    pair_run_until(&pair, &crowd.n_receipts, 10000);
    assert_int_equal(crowd.n_late + crowd.n_refused, 0);
    assert_false(crowd.is_unordered);
    assert_int_equal(ear.n_additions, 10000);
    pair_end(&pair);
}

/* As long as it takes: that is a time like any other. */
static void
test_a_receipt_is_waited_for_for_ever(void **state)
{
    (void)state;
    test_pair pair;
    test_ear ear = {0};
    test_crowd crowd = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    crowd_publish(&crowd, pair.client, 0, 1, UINT64_MAX);
    pair_run_until(&pair, &crowd.n_receipts, 1);
    assert_int_equal(crowd.n_late + crowd.n_refused, 0);
    pair_end(&pair);
}

/* Publishes so many, and waits until each has ended. */
static void
publish_in_vain(test_crowd *crowd, test_pair *pair, unsigned n)
{
    unsigned first = crowd->n_receipts;
    for (unsigned i = first; i < first + n; i += 1000) {
        crowd_publish(crowd, pair->client, i, 1000, 100);
        pair_run_until(pair, &crowd->n_receipts, i + 1000);
    }
    assert_int_equal(crowd->n_late, crowd->n_receipts);
}

/* Nothing of a publication is kept past its deadline, neither sent nor waiting. Some of the last
 * ones may still be on their way out. */
static void
test_many_without_receipts(void **state)
{
    (void)state;
    test_pair pair;
    test_ear mute = {.defers = true};
    test_crowd crowd = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&mute, &pair, pair.server, NULL);
    while (mute.n_additions < WINDOW) /* then the server, too, holds all that it ever will */
        publish_in_vain(&crowd, &pair, 1000);
    unsigned long before = udpai_alloc_live();
    publish_in_vain(&crowd, &pair, 10000);
    if (udpai_alloc_live() > before + 10000) /* each is several */
        fail_msg("%lu pieces of memory became %lu", before, udpai_alloc_live());
    pair_end(&pair);
}

static void
test_late_receipt_is_ignored(void **state)
{
    (void)state;
    test_pair pair;
    test_ear mute = {.defers = true};
    test_receipt late = {.timeout_ms = 200}, next = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&mute, &pair, pair.server, NULL);
    publish_one(&late, &pair, pair.client, RESOURCE("com.acme/a", .value = "1"));
    pair_run_until(&pair, &late.n_receipts, 1);
    pair_run_until(&pair, &mute.n_updates, 1);
    assert_int_equal(late.code, UDPA_ERR_DEADLINE);
    mute.defers = false;
    udpa_update_done(mute.deferred);
    publish_one(&next, &pair, pair.client, RESOURCE("com.acme/b", .value = "1"));
    pair_run_until(&pair, &next.n_receipts, 1);
    assert_int_equal(next.code, UDPA_OK);
    assert_int_equal(late.n_receipts, 1);
    pair_end(&pair);
}

static void
test_cut_with_many_under_way(void **state)
{
    (void)state;
    test_pair pair;
    test_ear mute = {.defers = true}, ear = {0};
    test_crowd crowd = {0};
    pair_begin(&pair);
    pair_both(&pair, NULL, NULL);
    ear_open(&mute, &pair, pair.server, NULL);
    crowd_publish(&crowd, pair.client, 0, 3 * WINDOW, 0);
    pair_run_until(&pair, &mute.n_additions, 1);
    pair_close(&pair, &pair.server);
    assert_int_equal(crowd.n_receipts, 0);
    pair_serve(&pair, NULL);
    ear_open(&ear, &pair, pair.server, NULL);
    pair_run_until(&pair, &crowd.n_receipts, 3 * WINDOW);
    assert_int_equal(crowd.n_late + crowd.n_refused, 0);
    assert_false(crowd.is_unordered);
    assert_int_equal(ear.n_additions, 3 * WINDOW);
    pair_end(&pair);
}

/* ---- mistakes ---- */

struct mistake {
    const char *source;
    size_t n_resources, n_removed;
    const char *removed_name, *removed_type_url;
    size_t struct_size;
    bool has_no_callback;
    udpa_err code;
    const char *words;
};

static void
try_mistake(udpa_endpoint *endpoint, const struct mistake *mistake, udpa_resource *resource)
{
    test_receipt receipt = {0};
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    options.struct_size -= mistake->struct_size;
    options.source = mistake->source;
    options.resources = &resource;
    options.n_resources = mistake->n_resources;
    options.removed_names = &mistake->removed_name;
    options.n_removed_names = mistake->n_removed;
    options.removed_type_url = mistake->removed_type_url;
    options.receipt = mistake->has_no_callback ? NULL : receipt_fn;
    options.userdata = &receipt;
    assert_int_equal(udpa_publish(endpoint, &options, &error), mistake->code);
    if (!strstr(udpa_error_message(error), mistake->words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), mistake->words);
    assert_int_equal(receipt.n_receipts, 0);
}

static void
test_mistakes(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {.words = "nothing to publish", .code = UDPA_ERR_INVAL},
        {.n_resources = 1, .struct_size = 8, .words = "struct_size", .code = UDPA_ERR_INVAL},
        {.n_resources = 1, .has_no_callback = true, .words = "callback", .code = UDPA_ERR_INVAL},
        {.n_resources = 1, .source = "x", .words = "no source 'x'", .code = UDPA_ERR_INVAL},
        {.n_removed = 1,
         .removed_name = "com.acme/a",
         .words = "removed_type_url",
         .code = UDPA_ERR_INVAL},
        {.n_removed = 1,
         .removed_name = "no-namespace",
         .removed_type_url = "test.Thing",
         .words = "no-namespace",
         .code = UDPA_ERR_INVAL},
    };
    test_pair pair;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE("com.acme/a");
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(mistakes); i++)
        try_mistake(pair.client, &mistakes[i], resource);
    pair_end(&pair);
}

static void
test_too_large(void **state)
{
    (void)state;
    static const struct mistake mistake = {
        .n_resources = 1, .words = "publish in parts", .code = UDPA_ERR_LIMIT};
    test_pair pair;
    size_t size = (size_t)4 << 20;
    char *value = malloc(size);
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_non_null(value);
    memset(value, 'x', size);
    spec.name = "com.acme/large";
    spec.type_url = TEST_TYPE;
    spec.payload = value;
    spec.payload_size = size;
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    free(value);
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    try_mistake(pair.client, &mistake, resource);
    pair_end(&pair);
}

/* Names that are removed count as well: what no listener takes in would be sent again and again. */
static void
test_too_many_removals(void **state)
{
    (void)state;
    static const char *names[100000];
    test_pair pair;
    test_receipt receipt = {0};
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        names[i] = "com.acme/a-name-of-which-a-hundred-thousand-are-too-many";
    options.removed_names = names;
    options.n_removed_names = UDPAI_ARRAY_LEN(names);
    options.removed_type_url = TEST_TYPE;
    options.receipt = receipt_fn;
    options.userdata = &receipt;
    pair_begin(&pair);
    pair_dial(&pair, 1, NULL);
    assert_int_equal(udpa_publish(pair.client, &options, &error), UDPA_ERR_LIMIT);
    assert_non_null(strstr(udpa_error_message(error), "publish in parts"));
    pair_end(&pair);
    assert_int_equal(receipt.n_receipts, 0);
}

/* ---- what a node remembers of who has published ---- */

struct memory {
    udpai_store *store;
    unsigned n_gone;
};

static const udpai_origin *
find_client(udpai_store *store)
{
    return udpai_store_find_origin(store, UDPAI_STR("publisher:/client"));
}

static void
look_for_client(uv_prepare_t *look)
{
    struct memory *memory = look->data;
    if (find_client(memory->store))
        return;
    memory->n_gone = 1;
    uv_stop(look->loop); /* who waits for it has looked already, in this turn */
}

/* Node ids are the peer's to invent: whoever has nothing here, and is gone, is forgotten. */
static void
test_a_node_forgets_who_has_nothing(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt receipt = {0};
    uv_prepare_t look;
    const char *const names[] = {"com.acme/a"};
    pair_begin(&pair);
    pair_serve_node(&pair);
    struct memory memory = {udpai_node_store(udpai_endpoint_node(pair.server)), 0};
    pair_dial(&pair, pair.port, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    pair_run_until(&pair, &receipt.n_receipts, 1);
    publish_removal(&receipt, &pair, pair.client, names, 1);
    pair_run_until(&pair, &receipt.n_receipts, 2);
    assert_non_null(find_client(memory.store)); /* its stream is there */
    assert_ok(uv_prepare_init(&pair.loop, &look));
    look.data = &memory;
    assert_ok(uv_prepare_start(&look, look_for_client));
    pair_close(&pair, &pair.client);
    pair_run_until(&pair, &memory.n_gone, 1);
    uv_close((uv_handle_t *)&look, NULL);
    pair_end(&pair);
}

static void
count_elapsed(uv_timer_t *timer)
{
    ++*(unsigned *)timer->data;
}

/* A node that has workers listens there before it has started. */
static void
test_who_comes_before_the_start_waits_for_it(void **state)
{
    (void)state;
    test_pair pair;
    test_receipt receipt = {0};
    uv_timer_t timer;
    unsigned n_elapsed = 0;
    pair_begin(&pair);
    pair.starts_later = true;
    pair_serve_node(&pair);
    pair_dial(&pair, pair.port, NULL);
    publish_one(&receipt, &pair, pair.client, RESOURCE("com.acme/a"));
    assert_ok(uv_timer_init(&pair.loop, &timer));
    timer.data = &n_elapsed;
    assert_ok(uv_timer_start(&timer, count_elapsed, 300, 0));
    pair_run_until(&pair, &n_elapsed, 1);
    assert_int_equal(receipt.n_receipts, 0);
    udpai_endpoint_start(pair.server);
    pair_run_until(&pair, &receipt.n_receipts, 1);
    assert_int_equal(receipt.code, UDPA_OK);
    uv_close((uv_handle_t *)&timer, NULL);
    pair_end(&pair);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_applied),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_refused_by_the_subscriber),
        cmocka_unit_test(test_refused_because_nobody_asked),
        cmocka_unit_test(test_refused_because_it_is_no_source),
        cmocka_unit_test(test_the_latest_stream_counts),
        cmocka_unit_test(test_removal),
        cmocka_unit_test(test_cut_before_the_receipt),
        cmocka_unit_test(test_timeout_says_why),
        cmocka_unit_test(test_closed_while_it_waits),
        cmocka_unit_test(test_publishing_while_it_is_closed),
        cmocka_unit_test(test_closing_inside_a_receipt),
        cmocka_unit_test(test_many_before_there_is_a_connection),
        cmocka_unit_test(test_a_receipt_is_waited_for_for_ever),
        cmocka_unit_test(test_many_without_receipts),
        cmocka_unit_test(test_late_receipt_is_ignored),
        cmocka_unit_test(test_who_comes_before_the_start_waits_for_it),
        cmocka_unit_test(test_cut_with_many_under_way),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_too_many_removals),
        cmocka_unit_test(test_a_node_forgets_who_has_nothing),
    };
    return cmocka_run_group_tests_name("endpoint publisher", tests, NULL, NULL);
}
