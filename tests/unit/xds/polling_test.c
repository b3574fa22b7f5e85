/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/xds/polling_test.h"

#include <stdio.h>

#include "tests/harness/test.h"
#include "tests/harness/wire.h"
#include "xds/request.h"

/* ---- the surroundings ---- */

static udpa_err
on_begin(void *userdata, const udpai_polling_request *request)
{
    polling_bed *bed = userdata;
    polling_asked *to = &bed->asked[request->index];
    assert_true(request->index < UDPAI_XDS_POLLS);
    assert_false(to->is_under_way);
    udpa_bytes_unref(to->message);
    *to = (polling_asked){.message = udpa_bytes_ref(request->message), .is_under_way = true};
    snprintf(to->path, sizeof(to->path), "%s", request->path);
    bed->n_asked++;
    return UDPA_OK;
}

static void
on_cancel(void *userdata, size_t index)
{
    polling_bed *bed = userdata;
    assert_true(bed->asked[index].is_under_way && !bed->asked[index].is_cancelled);
    bed->asked[index].is_cancelled = true;
}

static void
on_deliver(void *userdata, udpai_str response, const udpai_trace *trace)
{
    polling_bed *bed = userdata;
    bed->delivered = udpa_bytes_unref(bed->delivered);
    assert_ok(udpa_bytes_new(&bed->delivered, response.data, response.len));
    bed->n_delivered++;
    bed->trace = *trace;
    if (!bed->stream)
        return;
    bed->stream->session->trace = *trace;
    fake_stream_receive(bed->stream, response.data, response.len);
}

static void
on_fail(void *userdata, udpa_error *error)
{
    polling_bed *bed = userdata;
    assert_null(bed->error);
    bed->error = error;
}

static uint64_t
on_random(void *userdata)
{
    return ((polling_bed *)userdata)->random;
}

void
polling_open(polling_bed *bed)
{
    const udpai_polling_ops ops = {on_begin, on_cancel, on_deliver, on_fail, on_random, bed};
    bed->polling = udpai_polling_new(bed->server, &bed->wheel, &ops);
    assert_non_null(bed->polling);
}

int
polling_setup(void **state)
{
    polling_bed *bed = calloc(1, sizeof(*bed));
    udpai_wheel_init(&bed->wheel, 100000);
    bed->server = udpai_polled_server_new(
        &(udpai_polling_options){.node = W_TEXT(1, "me"), .refresh_ms = POLLING_REFRESH});
    assert_non_null(bed->server);
    polling_open(bed);
    *state = bed;
    return 0;
}

int
polling_teardown(void **state)
{
    polling_bed *bed = *state;
    udpai_polling_free(bed->polling);
    udpai_polled_server_free(bed->server);
    for (size_t i = 0; i < UDPAI_XDS_POLLS; i++)
        udpa_bytes_unref(bed->asked[i].message);
    udpa_bytes_unref(bed->delivered);
    udpa_error_unref(bed->error);
    free(bed);
    wire_free_all();
    return 0;
}

void
polling_pass(polling_bed *bed, uint64_t ms)
{
    udpai_wheel_advance(&bed->wheel, bed->wheel.now_ms + ms);
}

size_t
polling_index(const char *type_url)
{
    return udpai_xds_rest_index(udpai_str_from(type_url));
}

/* ---- the server ---- */

void
polling_expect(polling_bed *bed, const char *type_url, const char *expected)
{
    const polling_asked *from = &bed->asked[polling_index(type_url)];
    udpai_decoder decoder;
    udpai_xds_request request;
    char text[256] = "";
    assert_true(from->is_under_way && !from->is_cancelled);
    udpai_decoder_init(&decoder);
    assert_ok(
        udpai_xds_request_decode(&decoder, udpai_bytes_view(from->message), true, &request, NULL));
    assert_str(udpai_node_info_parts(request.node)->id, "me");
    assert_str(request.type_url, type_url);
    assert_int_equal(request.nonce.len, 0);
    assert_false(request.is_refusal);
    snprintf(text, sizeof(text), "%.*s:", (int)request.version.len, request.version.data);
    for (size_t i = 0; i < request.n_names; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " %.*s",
                 (int)request.names[i].len, request.names[i].data);
    assert_string_equal(text, expected);
    udpai_xds_request_done(&request);
    udpai_decoder_done(&decoder);
}

void
polling_expect_nothing(const polling_bed *bed)
{
    for (size_t i = 0; i < UDPAI_XDS_POLLS; i++)
        assert_false(bed->asked[i].is_under_way);
}

void
polling_respond(polling_bed *bed, const char *type_url, const udpai_polling_response *what)
{
    size_t index = polling_index(type_url);
    assert_true(bed->asked[index].is_under_way);
    bed->asked[index].is_under_way = bed->asked[index].is_cancelled = false;
    udpai_polling_receive(bed->polling, index, what);
}
