/* SPDX-License-Identifier: Apache-2.0 */
/* An xDS server as a source: what it is asked, what is made of its answers. */
#include "xds/upstream.h"

#include <stdio.h>

#include "tests/harness/fake_stream.h"
#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "xds/exchange.h"
#include "xds/peek.h"
#include "xds/request.h"

#define CLUSTER UDPAI_XDS_TYPE_CLUSTER
#define ENDPOINTS UDPAI_XDS_TYPE_ENDPOINTS
#define LISTENER UDPAI_XDS_TYPE_LISTENER
#define ROUTES UDPAI_XDS_TYPE_ROUTES
#define SECRET "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
#define LINK 7

typedef struct upstream_bed {
    fake_hub hub;
    fake_stream stream;
    udpai_upstream *upstream;
    udpai_decoder decoder;
    udpai_xds_request request; /* read last */
    udpa_bytes *bytes;         /* of it */
    bool is_delta;
} upstream_bed;

/* ---- the bed ---- */

static void
connect(upstream_bed *bed)
{
    fake_stream_open(&bed->stream, &bed->hub, udpai_upstream_session_new,
                     &(udpai_stream_info){.link = LINK, .context = bed->upstream});
    udpai_report *opened = fake_hub_take_report(&bed->hub, UDPAI_REPORT_OPENED);
    assert_non_null(opened);
    assert_int_equal(opened->link, LINK);
    udpai_report_free(opened);
}

static upstream_bed *
make_bed(bool is_delta, const char *type_url)
{
    upstream_bed *bed = calloc(1, sizeof(*bed));
    udpai_hub_options options = fake_hub_options();
    fake_hub_init(&bed->hub, &options);
    udpai_decoder_init(&bed->decoder);
    bed->is_delta = is_delta;
    assert_ok(udpai_upstream_new(&bed->upstream, &(udpai_upstream_options){
                                                     .is_delta = is_delta,
                                                     .type_url = udpai_str_from(type_url),
                                                     .name_space = UDPAI_STR("com.acme"),
                                                     .authority = UDPAI_STR("istio"),
                                                     .node = W_TEXT(1, "me"),
                                                 }));
    connect(bed);
    return bed;
}

static int
setup_sotw(void **state)
{
    *state = make_bed(false, "");
    return 0;
}

static int
setup_delta(void **state)
{
    *state = make_bed(true, "");
    return 0;
}

static int
setup_clusters_only(void **state)
{
    *state = make_bed(true, CLUSTER);
    return 0;
}

static void
drop_request(upstream_bed *bed)
{
    udpai_xds_request_done(&bed->request);
    bed->request = (udpai_xds_request){0};
    bed->bytes = udpa_bytes_unref(bed->bytes);
}

static void
disconnect(upstream_bed *bed)
{
    fake_stream_close(&bed->stream);
    udpai_report *closed = fake_hub_take_report(&bed->hub, UDPAI_REPORT_CLOSED);
    assert_non_null(closed);
    udpai_report_free(closed);
    fake_hub_drop_reports(&bed->hub);
}

static int
teardown(void **state)
{
    upstream_bed *bed = *state;
    drop_request(bed);
    disconnect(bed);
    fake_hub_done(&bed->hub);
    udpai_upstream_free(bed->upstream);
    udpai_decoder_done(&bed->decoder);
    free(bed);
    wire_free_all();
    return 0;
}

/* ---- orders ---- */

static void
order(upstream_bed *bed, udpai_order_kind kind, const udpai_subscription_message *message)
{
    udpai_order *new_order = udpai_order_new(kind);
    assert_non_null(new_order);
    new_order->session = bed->stream.session->id;
    new_order->subscription = udpai_subscription_message_copy(message);
    assert_non_null(new_order->subscription);
    udpai_hub_order(bed->hub.hub, new_order);
}

static void
ask_all(upstream_bed *bed, const char *type_url)
{
    const udpai_str all = {"", 0};
    order(bed, UDPAI_ORDER_SUBSCRIBE,
          &(udpai_subscription_message){
              .type_url = udpai_str_from(type_url), .names = &all, .n_names = 1});
}

static void
ask_name(upstream_bed *bed, const char *type_url, const char *name)
{
    const udpai_str names[] = {udpai_str_from(name)};
    order(bed, UDPAI_ORDER_SUBSCRIBE,
          &(udpai_subscription_message){
              .type_url = udpai_str_from(type_url), .names = names, .n_names = 1});
}

static void
ask_holding(upstream_bed *bed, const char *type_url, const char *asked, udpai_held_version held)
{
    const udpai_str names[] = {udpai_str_from(asked)};
    order(bed, UDPAI_ORDER_SUBSCRIBE,
          &(udpai_subscription_message){.type_url = udpai_str_from(type_url),
                                        .names = names,
                                        .n_names = 1,
                                        .versions = &held,
                                        .n_versions = 1});
}

static void
ask_no_more(upstream_bed *bed, const char *type_url, const char *name)
{
    const udpai_str names[] = {udpai_str_from(name)};
    order(bed, UDPAI_ORDER_UNSUBSCRIBE,
          &(udpai_subscription_message){
              .type_url = udpai_str_from(type_url), .names = names, .n_names = 1});
}

/* ---- requests ---- */

/* The next request; false: there is none. */
static bool
next_request(upstream_bed *bed)
{
    drop_request(bed);
    fake_stream_run(&bed->stream, &bed->hub);
    bed->bytes = fake_stream_take(&bed->stream);
    if (!bed->bytes)
        return false;
    assert_ok((bed->is_delta ? udpai_xds_delta_request_decode : udpai_xds_request_decode)(
        &bed->decoder, udpai_bytes_view(bed->bytes), true, &bed->request, NULL));
    return true;
}

static void
expect_request(upstream_bed *bed, const char *type_url, const char *names)
{
    assert_true(next_request(bed));
    assert_str(bed->request.type_url, type_url);
    char joined[256] = "";
    for (size_t i = 0; i < bed->request.n_names; i++)
        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%.*s", i ? " " : "",
                 (int)bed->request.names[i].len, bed->request.names[i].data);
    assert_string_equal(joined, names);
}

static void
expect_no_request(upstream_bed *bed)
{
    assert_false(next_request(bed));
}

/* ---- responses ---- */

static udpai_str
any(const char *type_url, udpai_str value)
{
    return W_JOIN(W_TEXT(1, type_url), wire_bytes(2, value));
}

/* A Cluster with endpoints by EDS, and a number that makes it another one. */
static udpai_str
cluster(const char *name, uint64_t number)
{
    return any(CLUSTER, W_JOIN(W_TEXT(1, name), W_VARINT(2, 3), W_VARINT(18, number)));
}

static udpai_str
endpoints(const char *name, uint64_t number)
{
    return any(ENDPOINTS, W_JOIN(W_TEXT(1, name), W_VARINT(99, number)));
}

static udpai_str
resource(const char *name, const char *version, udpai_str payload)
{
    return W_MESSAGE(2, W_TEXT(3, name), W_TEXT(1, version), wire_bytes(2, payload));
}

static udpai_str
of_type(const char *type_url, const char *nonce)
{
    return W_JOIN(W_TEXT(4, type_url), W_TEXT(5, nonce), W_TEXT(1, "v1"));
}

static void
respond(upstream_bed *bed, udpai_str response)
{
    fake_stream_receive(&bed->stream, response.data, response.len);
}

/* ---- what is handed up ---- */

/* The next publication as text: "+name", "-name", "complete"; judged, with this error of its first
 * entry (NULL: none). Empty: there is none. */
static void
judge(upstream_bed *bed, const char *expected, udpa_error *error)
{
    udpai_report *report = fake_hub_take_report(&bed->hub, UDPAI_REPORT_PUBLICATION);
    char text[512] = "";
    if (report) {
        udpai_publication *publication = UDPAI_TAKE(report->publication);
        for (size_t i = 0; i < publication->entries.n; i++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "+%s ",
                     udpa_resource_name(publication->entries.items[i].resource));
        for (size_t i = 0; i < publication->removals.n; i++)
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "-%.*s ",
                     (int)publication->removals.items[i].name.len,
                     publication->removals.items[i].name.data);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s",
                 publication->complete                                   ? "complete"
                 : publication->entries.n + publication->removals.n == 0 ? "nothing"
                                                                         : "");
        if (error)
            udpai_publication_refuse(&publication->entries.items[0].error, error);
        udpai_report_free(report);
        udpai_order *judged = udpai_order_new(UDPAI_ORDER_JUDGED);
        judged->session = bed->stream.session ? bed->stream.session->id : 0;
        judged->publication = publication;
        udpai_hub_order(bed->hub.hub, judged);
    }
    assert_string_equal(text, expected);
}

static void
expect(upstream_bed *bed, const char *expected)
{
    judge(bed, expected, NULL);
}

/* ---- the state of the world ---- */

static void
a_wildcard_is_answered_by_the_first_state(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    expect_request(bed, CLUSTER, "");
    assert_str(udpai_node_info_parts(bed->request.node)->id, "me");
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), wire_bytes(2, cluster("a", 1)),
                        wire_bytes(2, cluster("b", 1))));
    udpai_report *alive = fake_hub_take_report(&bed->hub, UDPAI_REPORT_ALIVE);
    assert_non_null(alive);
    udpai_report_free(alive);
    expect(bed, "+com.acme/a +com.acme/b ");
    expect(bed, "complete");
    expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n1");
    assert_false(bed->request.is_refusal);
    assert_null(bed->request.node);
    expect_no_request(bed);
}

static void
what_a_state_leaves_out_is_removed(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    assert_true(next_request(bed));
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), wire_bytes(2, cluster("a", 1)),
                        wire_bytes(2, cluster("b", 1))));
    expect(bed, "+com.acme/a +com.acme/b ");
    expect(bed, "complete");
    respond(bed, W_JOIN(of_type(CLUSTER, "n2"), wire_bytes(2, cluster("a", 1)),
                        wire_bytes(2, cluster("c", 1))));
    expect(bed, "+com.acme/c -com.acme/b ");
    respond(bed, W_JOIN(of_type(CLUSTER, "n3"), wire_bytes(2, cluster("a", 2)),
                        wire_bytes(2, cluster("c", 1))));
    expect(bed, "+com.acme/a ");
}

/* A node that was restarted holds what it held. */
static void
what_was_held_before_and_is_not_there_any_more_is_removed(void **state)
{
    upstream_bed *bed = *state;
    ask_holding(bed, CLUSTER, "", (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    assert_true(next_request(bed));
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), wire_bytes(2, cluster("a", 1))));
    expect(bed, "+com.acme/a -com.acme/old ");
    expect(bed, "complete");
}

static void
a_refusal_names_what_is_refused_and_keeps_the_version(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    assert_true(next_request(bed));
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), wire_bytes(2, cluster("a", 1))));
    expect(bed, "+com.acme/a ");
    expect(bed, "complete");
    expect_request(bed, CLUSTER, "");
    respond(bed, W_JOIN(W_TEXT(4, CLUSTER), W_TEXT(5, "n2"), W_TEXT(1, "v2"),
                        wire_bytes(2, cluster("a", 2))));
    judge(bed, "+com.acme/a ", udpa_error_new(UDPA_ERR_DENIED, NULL, "'com.acme/a' may not be"));
    expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n2");
    assert_true(bed->request.is_refusal);
    assert_int_equal(bed->request.error_code, 7);
    assert_str(bed->request.error_text, "'com.acme/a' may not be");
    assert_non_null(memmem(udpa_bytes_data(bed->bytes), udpa_bytes_size(bed->bytes), "v1", 2));
    assert_null(memmem(udpa_bytes_data(bed->bytes), udpa_bytes_size(bed->bytes), "v2", 2));
    respond(bed, W_JOIN(of_type(CLUSTER, "n3"), wire_bytes(2, cluster("a", 2))));
    expect(bed, "+com.acme/a "); /* judged again */
}

static void
what_cannot_be_is_refused_by_itself(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    assert_true(next_request(bed));
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), wire_bytes(2, cluster("a", 1)),
                        wire_bytes(2, cluster("a", 2)), wire_bytes(2, endpoints("b", 1))));
    expect(bed, "+com.acme/a ");
    expect(bed, "complete");
    assert_true(next_request(bed));
    assert_true(bed->request.is_refusal);
    assert_non_null(
        strstr(bed->request.error_text.data, "'com.acme/a' stands in one response twice"));
}

static void
names_change_with_the_answer_that_is_under_way(void **state)
{
    upstream_bed *bed = *state;
    ask_name(bed, ENDPOINTS, "com.acme/a");
    expect_request(bed, ENDPOINTS, "a");
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n1"), wire_bytes(2, endpoints("a", 1))));
    ask_name(bed, ENDPOINTS, "com.acme/b");
    expect_no_request(bed); /* it would be stale */
    expect(bed, "+com.acme/a ");
    assert_true(next_request(bed));
    assert_int_equal(bed->request.n_names, 2);
    assert_str(bed->request.nonce, "n1");
    expect(bed, "complete");
    expect(bed, "");
}

static void
what_is_not_sent_in_time_is_not_there(void **state)
{
    upstream_bed *bed = *state;
    ask_holding(bed, ENDPOINTS, "com.acme/old",
                (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    ask_name(bed, ENDPOINTS, "com.acme/a");
    assert_true(next_request(bed));
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n1"), wire_bytes(2, endpoints("a", 1))));
    expect(bed, "+com.acme/a ");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_PATIENCE_MS - 1);
    expect(bed, "");
    fake_hub_advance(&bed->hub, 2);
    expect(bed, "-com.acme/old ");
    expect(bed, "complete");
    expect(bed, "complete");
}

static void
who_says_nothing_takes_nothing_away(void **state)
{
    upstream_bed *bed = *state;
    ask_holding(bed, ENDPOINTS, "com.acme/old",
                (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    assert_true(next_request(bed));
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_PATIENCE_MS + 1);
    expect(bed, "complete");
}

static void
a_wildcard_beside_names_is_explicit(void **state)
{
    upstream_bed *bed = *state;
    ask_name(bed, CLUSTER, "com.acme/a");
    ask_all(bed, CLUSTER);
    expect_request(bed, CLUSTER, "a *");
    ask_no_more(bed, CLUSTER, "com.acme/a");
    expect_request(bed, CLUSTER, "*"); /* empty, it would unsubscribe */
}

/* ---- what has no wildcard ---- */

static void
endpoints_are_asked_for_as_clusters_name_them(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, ENDPOINTS);
    expect_request(bed, CLUSTER, "");
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), wire_bytes(2, cluster("a", 1)),
                        wire_bytes(2, cluster("b", 1))));
    expect(bed, "nothing"); /* nobody asked for clusters */
    expect(bed, "");
    assert_true(next_request(bed));
    while (bed->request.n_names == 0)
        assert_true(next_request(bed));
    assert_str(bed->request.type_url, ENDPOINTS);
    assert_int_equal(bed->request.n_names, 2);
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n1"), wire_bytes(2, endpoints("a", 1)),
                        wire_bytes(2, endpoints("b", 1)), wire_bytes(2, endpoints("c", 1))));
    expect(bed, "+com.acme/a +com.acme/b ");
    expect(bed, "complete");
    respond(bed, W_JOIN(of_type(CLUSTER, "n2"), wire_bytes(2, cluster("b", 1))));
    expect(bed, "nothing");
    expect(bed, "-com.acme/a ");
    do
        assert_true(next_request(bed));
    while (!udpai_str_eq(bed->request.type_url, UDPAI_STR(ENDPOINTS)) || bed->request.n_names != 1);
    assert_str(bed->request.names[0], "b");
}

static void
clusters_that_are_known_are_handed_up_when_asked_for(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, ENDPOINTS);
    assert_true(next_request(bed));
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), wire_bytes(2, cluster("a", 1))));
    expect(bed, "nothing");
    ask_all(bed, CLUSTER);
    expect(bed, "+com.acme/a ");
    expect(bed, "complete");
}

static void
nothing_to_follow_is_an_answer(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, ROUTES);
    expect_request(bed, LISTENER, "");
    respond(bed, of_type(LISTENER, "n1"));
    expect(bed, "nothing");
    expect(bed, "complete");
}

/* ---- the delta protocol ---- */

static void
a_delta_wildcard_is_answered_by_silence(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    expect_request(bed, CLUSTER, "");
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), resource("a", "1", cluster("a", 1))));
    expect(bed, "+com.acme/a ");
    expect(bed, "");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS - 1);
    respond(bed, W_JOIN(of_type(CLUSTER, "n2"), resource("b", "1", cluster("b", 1))));
    expect(bed, "+com.acme/b ");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS - 1);
    expect(bed, "");
    fake_hub_advance(&bed->hub, 2);
    expect(bed, "complete");
    expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n1");
    expect_request(bed, CLUSTER, "");
    assert_str(bed->request.nonce, "n2");
}

static void
a_delta_name_is_answered_either_way(void **state)
{
    upstream_bed *bed = *state;
    ask_name(bed, ENDPOINTS, "com.acme/none");
    expect_request(bed, ENDPOINTS, "none");
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n1"), W_TEXT(6, "none")));
    expect(bed, "nothing");
    expect(bed, "complete");
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n2"), resource("none", "1", endpoints("none", 1))));
    expect(bed, "+com.acme/none ");
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n3"), W_TEXT(6, "none")));
    expect(bed, "-com.acme/none ");
}

static char *
hash_of(udpai_str payload)
{
    static char hash[UDPAI_CONTENT_HASH_HEX + 1];
    udpa_bytes *bytes = NULL;
    udpa_resource *made = NULL;
    assert_ok(udpa_bytes_new(&bytes, payload.data, payload.len));
    assert_ok(udpai_resource_make(&made,
                                  &(udpai_resource_parts){.name = UDPAI_STR("x/y"), .any = bytes}));
    udpai_content_hash_hex(udpai_resource_content_hash(made), hash);
    udpa_resource_unref(made);
    udpa_bytes_unref(bytes);
    return hash;
}

static void
a_stream_goes_on_where_the_last_one_ended(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), resource("a", "17", cluster("a", 1))));
    expect(bed, "+com.acme/a ");
    disconnect(bed);
    connect(bed);
    ask_holding(
        bed, CLUSTER, "",
        (udpai_held_version){UDPAI_STR("com.acme/a"), udpai_str_from(hash_of(cluster("a", 1)))});
    expect_request(bed, CLUSTER, "");
    assert_int_equal(bed->request.n_versions, 1);
    assert_str(bed->request.versions[0].name, "a");
    assert_str(bed->request.versions[0].version, "17");
    respond(bed, of_type(CLUSTER, "n1"));
    expect(bed, "nothing");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS + 1);
    expect(bed, "complete"); /* and nothing is taken away */
    respond(bed, W_JOIN(of_type(CLUSTER, "n2"), W_TEXT(6, "a")));
    expect(bed, "-com.acme/a ");
}

static void
what_the_loop_side_does_not_hold_is_not_told_as_held(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), resource("a", "17", cluster("a", 1))));
    expect(bed, "+com.acme/a ");
    disconnect(bed);
    connect(bed);
    ask_all(bed, CLUSTER);
    expect_request(bed, CLUSTER, "");
    assert_int_equal(bed->request.n_versions, 0);
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), resource("a", "17", cluster("a", 1))));
    expect(bed, "+com.acme/a ");
}

/* After a restart: the version is of ours, which the server cannot have. */
static void
what_is_held_without_the_servers_version_is_asked_about(void **state)
{
    upstream_bed *bed = *state;
    ask_holding(bed, CLUSTER, "", (udpai_held_version){UDPAI_STR("com.acme/old"), UDPAI_STR("h")});
    expect_request(bed, CLUSTER, "");
    assert_int_equal(bed->request.n_versions, 1);
    assert_str(bed->request.versions[0].name, "old");
    assert_str(bed->request.versions[0].version, "?");
    respond(bed, W_JOIN(of_type(CLUSTER, "n1"), resource("a", "1", cluster("a", 1))));
    expect(bed, "+com.acme/a ");
    fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_SILENCE_MS + 1);
    expect(bed, "-com.acme/old ");
    expect(bed, "complete");
}

static void
what_is_unsubscribed_comes_anew(void **state)
{
    upstream_bed *bed = *state;
    ask_name(bed, ENDPOINTS, "com.acme/a");
    assert_true(next_request(bed));
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n1"), resource("a", "1", endpoints("a", 1))));
    expect(bed, "+com.acme/a ");
    expect(bed, "complete");
    ask_no_more(bed, ENDPOINTS, "com.acme/a");
    do
        assert_true(next_request(bed));
    while (bed->request.n_unsubscribed == 0);
    assert_str(bed->request.unsubscribed[0], "a");
    ask_name(bed, ENDPOINTS, "com.acme/a");
    expect_request(bed, ENDPOINTS, "a");
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n2"), resource("a", "1", endpoints("a", 1))));
    expect(bed, "+com.acme/a ");
    expect(bed, "complete");
}

static void
an_alias_is_answered_by_its_resource(void **state)
{
    upstream_bed *bed = *state;
    ask_name(bed, SECRET, "com.acme/routes/www");
    expect_request(bed, SECRET, "routes/www");
    respond(bed,
            W_JOIN(of_type(SECRET, "n1"),
                   W_MESSAGE(2, W_TEXT(3, "routes/host"), W_TEXT(1, "1"), W_TEXT(4, "routes/www"),
                             wire_bytes(2, any(SECRET, W_TEXT(1, "h"))))));
    expect(bed, "+com.acme/routes/host ");
    expect(bed, "complete");
}

static void
a_ttl_is_renewed_by_a_heartbeat(void **state)
{
    upstream_bed *bed = *state;
    ask_name(bed, ENDPOINTS, "com.acme/a");
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n1"),
                        W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"),
                                  wire_bytes(2, endpoints("a", 1)), W_MESSAGE(6, W_VARINT(1, 5)))));
    expect(bed, "+com.acme/a ");
    expect(bed, "complete");
    respond(bed, W_JOIN(of_type(ENDPOINTS, "n2"), W_MESSAGE(2, W_TEXT(3, "a"), W_TEXT(1, "1"),
                                                            W_MESSAGE(6, W_VARINT(1, 9)))));
    udpai_report *report = fake_hub_take_report(&bed->hub, UDPAI_REPORT_PUBLICATION);
    assert_int_equal(udpa_resource_ttl_ms(report->publication->entries.items[0].resource), 9000);
    udpai_report_free(report);
}

static void
a_service_of_one_type_refuses_others(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, ENDPOINTS);
    udpai_report *refused = fake_hub_take_report(&bed->hub, UDPAI_REPORT_SUBSCRIPTION_ERROR);
    assert_non_null(refused);
    assert_str(refused->subscription->type_url, ENDPOINTS);
    udpai_report_free(refused);
    expect_no_request(bed);
    ask_all(bed, CLUSTER);
    expect_request(bed, CLUSTER, "");
}

static void
what_has_another_namespace_is_not_the_servers(void **state)
{
    upstream_bed *bed = *state;
    ask_name(bed, CLUSTER, "com.other/a");
    expect(bed, "complete");
    expect_no_request(bed);
}

static void
garbage_ends_the_stream(void **state)
{
    upstream_bed *bed = *state;
    ask_all(bed, CLUSTER);
    respond(bed, UDPAI_STR("\x0a\x7f"));
    assert_true(bed->stream.is_finished);
    assert_int_equal(udpa_error_code(bed->stream.status), UDPA_ERR_MALFORMED);
}

int
main(void)
{
#define SOTW(test) cmocka_unit_test_setup_teardown(test, setup_sotw, teardown)
#define DELTA(test) cmocka_unit_test_setup_teardown(test, setup_delta, teardown)
    const struct CMUnitTest tests[] = {
        SOTW(a_wildcard_is_answered_by_the_first_state),
        SOTW(what_a_state_leaves_out_is_removed),
        SOTW(what_was_held_before_and_is_not_there_any_more_is_removed),
        SOTW(a_refusal_names_what_is_refused_and_keeps_the_version),
        SOTW(what_cannot_be_is_refused_by_itself),
        SOTW(names_change_with_the_answer_that_is_under_way),
        SOTW(what_is_not_sent_in_time_is_not_there),
        SOTW(who_says_nothing_takes_nothing_away),
        SOTW(a_wildcard_beside_names_is_explicit),
        SOTW(endpoints_are_asked_for_as_clusters_name_them),
        SOTW(clusters_that_are_known_are_handed_up_when_asked_for),
        SOTW(nothing_to_follow_is_an_answer),
        DELTA(a_delta_wildcard_is_answered_by_silence),
        DELTA(a_delta_name_is_answered_either_way),
        DELTA(a_stream_goes_on_where_the_last_one_ended),
        DELTA(what_the_loop_side_does_not_hold_is_not_told_as_held),
        DELTA(what_is_held_without_the_servers_version_is_asked_about),
        DELTA(what_is_unsubscribed_comes_anew),
        DELTA(an_alias_is_answered_by_its_resource),
        DELTA(a_ttl_is_renewed_by_a_heartbeat),
        cmocka_unit_test_setup_teardown(a_service_of_one_type_refuses_others, setup_clusters_only,
                                        teardown),
        DELTA(what_has_another_namespace_is_not_the_servers),
        DELTA(garbage_ends_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
