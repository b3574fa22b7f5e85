/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xds/upstream_test.h"

#include <stdio.h>

#include "tests/harness/test.h"
#include "tests/harness/wire.h"

#define LINK 7

/* ---- the bed ---- */

void
upstream_connect(upstream_bed *bed)
{
    fake_stream_open(
        &bed->stream, &bed->hub, udpai_upstream_session_new,
        &(udpai_stream_info){.link = LINK, .context = bed->upstream, .identity = bed->identity});
    udpai_report *opened = fake_hub_take_report(&bed->hub, UDPAI_REPORT_OPENED);
    assert_non_null(opened);
    assert_int_equal(opened->link, LINK);
    udpai_report_free(opened);
}

static upstream_bed *
upstream_make_bed(const udpai_upstream_options *kind)
{
    upstream_bed *bed = calloc(1, sizeof(*bed));
    udpai_hub_options options = fake_hub_options();
    fake_hub_init(&bed->hub, &options);
    udpai_decoder_init(&bed->decoder);
    bed->is_delta = kind->is_delta;
    udpai_upstream_options whole = *kind;
    whole.authority = UDPAI_STR("istio");
    whole.node = W_TEXT(1, "me");
    if (whole.name_space.len == 0)
        whole.name_space = UDPAI_STR("com.acme");
    assert_ok(udpai_upstream_new(&bed->upstream, &whole));
    upstream_connect(bed);
    return bed;
}

int
upstream_setup_sotw(void **state)
{
    *state = upstream_make_bed(&(udpai_upstream_options){.is_delta = false});
    return 0;
}

int
upstream_setup_rest(void **state)
{
    *state = upstream_make_bed(&(udpai_upstream_options){.is_rest = true});
    return 0;
}

int
upstream_setup_delta(void **state)
{
    *state = upstream_make_bed(&(udpai_upstream_options){.is_delta = true});
    return 0;
}

int
upstream_setup_in_a_path(void **state)
{
    *state = upstream_make_bed(&(udpai_upstream_options){
        .is_delta = true, .name_space = UDPAI_STR("com.acme/clients/one")});
    return 0;
}

int
upstream_setup_clusters_only(void **state)
{
    *state = upstream_make_bed(
        &(udpai_upstream_options){.is_delta = true, .type_url = UDPAI_STR(CLUSTER)});
    return 0;
}

static void
upstream_drop_request(upstream_bed *bed)
{
    udpai_xds_request_done(&bed->request);
    bed->request = (udpai_xds_request){0};
    bed->bytes = udpa_bytes_unref(bed->bytes);
}

void
upstream_disconnect(upstream_bed *bed)
{
    fake_stream_close(&bed->stream);
    udpai_report *closed = fake_hub_take_report(&bed->hub, UDPAI_REPORT_CLOSED);
    assert_non_null(closed);
    udpai_report_free(closed);
    fake_hub_drop_reports(&bed->hub);
}

int
upstream_teardown(void **state)
{
    upstream_bed *bed = *state;
    upstream_drop_request(bed);
    upstream_disconnect(bed);
    fake_hub_done(&bed->hub);
    udpai_upstream_free(bed->upstream);
    udpai_decoder_done(&bed->decoder);
    free(bed);
    wire_free_all();
    return 0;
}

/* ---- orders ---- */

static void
upstream_order(upstream_bed *bed, udpai_order_kind kind, const udpai_subscription_message *message)
{
    udpai_order *new_order = udpai_order_new(kind);
    assert_non_null(new_order);
    new_order->session = bed->stream.session->id;
    new_order->subscription = udpai_subscription_message_copy(message);
    assert_non_null(new_order->subscription);
    udpai_hub_order(bed->hub.hub, new_order);
}

void
upstream_ask_all(upstream_bed *bed, const char *type_url)
{
    const udpai_str all = {"", 0};
    upstream_order(bed, UDPAI_ORDER_SUBSCRIBE,
                   &(udpai_subscription_message){
                       .type_url = udpai_str_from(type_url), .names = &all, .n_names = 1});
}

void
upstream_ask_name(upstream_bed *bed, const char *type_url, const char *name)
{
    const udpai_str names[] = {udpai_str_from(name)};
    upstream_order(bed, UDPAI_ORDER_SUBSCRIBE,
                   &(udpai_subscription_message){
                       .type_url = udpai_str_from(type_url), .names = names, .n_names = 1});
}

void
upstream_ask_holding(upstream_bed *bed,
                     const char *type_url,
                     const char *asked,
                     udpai_held_version held)
{
    const udpai_str names[] = {udpai_str_from(asked)};
    upstream_order(bed, UDPAI_ORDER_SUBSCRIBE,
                   &(udpai_subscription_message){.type_url = udpai_str_from(type_url),
                                                 .names = names,
                                                 .n_names = 1,
                                                 .versions = &held,
                                                 .n_versions = 1});
}

void
upstream_ask_no_more(upstream_bed *bed, const char *type_url, const char *name)
{
    const udpai_str names[] = {udpai_str_from(name)};
    upstream_order(bed, UDPAI_ORDER_UNSUBSCRIBE,
                   &(udpai_subscription_message){
                       .type_url = udpai_str_from(type_url), .names = names, .n_names = 1});
}

/* ---- requests ---- */

bool
upstream_next_request(upstream_bed *bed)
{
    upstream_drop_request(bed);
    fake_stream_run(&bed->stream, &bed->hub);
    bed->bytes = fake_stream_take(&bed->stream);
    if (!bed->bytes)
        return false;
    assert_ok((bed->is_delta ? udpai_xds_delta_request_decode : udpai_xds_request_decode)(
        &bed->decoder, udpai_bytes_view(bed->bytes), true, &bed->request, NULL));
    return true;
}

void
upstream_expect_request(upstream_bed *bed, const char *type_url, const char *names)
{
    assert_true(upstream_next_request(bed));
    assert_str(bed->request.type_url, type_url);
    char joined[256] = "";
    for (size_t i = 0; i < bed->request.n_names; i++)
        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%.*s", i ? " " : "",
                 (int)bed->request.names[i].len, bed->request.names[i].data);
    assert_string_equal(joined, names);
}

void
upstream_expect_no_request(upstream_bed *bed)
{
    assert_false(upstream_next_request(bed));
}

/* ---- responses ---- */

udpai_str
upstream_any(const char *type_url, udpai_str value)
{
    return W_JOIN(W_TEXT(1, type_url), wire_bytes(2, value));
}

udpai_str
upstream_cluster(const char *name, uint64_t number)
{
    return upstream_any(CLUSTER, W_JOIN(W_TEXT(1, name), W_VARINT(2, 3), W_VARINT(18, number)));
}

udpai_str
upstream_endpoints(const char *name, uint64_t number)
{
    return upstream_any(ENDPOINTS, W_JOIN(W_TEXT(1, name), W_VARINT(99, number)));
}

udpai_str
upstream_scoped_listener(const char *name, udpai_str scopes)
{
    static const char manager_type[] =
        "type.googleapis.com/"
        "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager";
    udpai_str manager = W_MESSAGE(31, W_TEXT(1, "n"), scopes),
              any = W_MESSAGE(4, W_TEXT(1, manager_type), wire_bytes(2, manager));
    return upstream_any(LISTENER,
                        W_JOIN(W_TEXT(1, name), W_MESSAGE(3, W_MESSAGE(3, W_TEXT(1, "f"), any))));
}

udpai_str
upstream_scope(const char *name, const char *routes)
{
    return upstream_any(SCOPES, W_JOIN(W_TEXT(1, name), W_TEXT(2, routes)));
}

const char *
upstream_hash(udpai_str payload)
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

udpai_str
upstream_resource(const char *name, const char *version, udpai_str payload)
{
    return W_MESSAGE(2, W_TEXT(3, name), W_TEXT(1, version), wire_bytes(2, payload));
}

udpai_str
upstream_of_type(const char *type_url, const char *nonce)
{
    return W_JOIN(W_TEXT(4, type_url), W_TEXT(5, nonce), W_TEXT(1, "v1"));
}

void
upstream_respond(upstream_bed *bed, udpai_str response)
{
    fake_stream_receive(&bed->stream, response.data, response.len);
}

/* ---- what is handed up ---- */

void
upstream_judge(upstream_bed *bed, const char *expected, udpa_error *error)
{
    udpai_report *report = fake_hub_take_report(&bed->hub, UDPAI_REPORT_PUBLICATION);
    char text[512] = "";
    if (report) {
        udpai_publication *publication = UDPAI_TAKE(report->publication);
        bed->trace = publication->trace;
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
        udpai_order *judged = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
        judged->session = bed->stream.session ? bed->stream.session->id : 0;
        judged->publication = publication;
        udpai_hub_order(bed->hub.hub, judged);
    }
    assert_string_equal(text, expected);
}

void
upstream_expect(upstream_bed *bed, const char *expected)
{
    upstream_judge(bed, expected, NULL);
}
