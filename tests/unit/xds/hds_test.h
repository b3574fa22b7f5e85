/* SPDX-License-Identifier: Apache-2.0 */
/* A client of HDS on a fake stream, and the specifiers that it is sent. */
#ifndef UDPAI_TESTS_HDS_TEST_H
#define UDPAI_TESTS_HDS_TEST_H

#include "tests/unit/reports/health_test.h"
#include "xds/hds_internal.h"
#include "xds_test.h"

#define SPECIFIER UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE)

typedef struct hds_fixture {
    xds_world world;
    udpai_hds_service service;
    fake_stream stream;
} hds_fixture;

static inline int
hds_setup_with(void **state, const udpai_hub_options *options)
{
    hds_fixture *self = calloc(1, sizeof(*self));
    xds_world_init_with(&self->world, options);
    udpai_hds_init(&self->service, &self->world.xds_server);
    xds_settle(&self->world);
    *state = self;
    return 0;
}

static inline int
hds_setup(void **state)
{
    udpai_hub_options options = fake_hub_options();
    return hds_setup_with(state, &options);
}

static inline int
hds_teardown(void **state)
{
    hds_fixture *self = *state;
    fake_stream_close(&self->stream);
    xds_world_done(&self->world);
    wire_free_all();
    free(self);
    return 0;
}

static inline void
hds_open_stream(hds_fixture *self, bool is_fetch)
{
    const udpai_stream_info info = {.context = &self->service.methods[is_fetch]};
    fake_stream_close(&self->stream);
    fake_stream_open(&self->stream, &self->world.hub, udpai_hds_session_new, &info);
}

static inline udpai_str
hds_request_of(const char *id, unsigned capability)
{
    udpai_str protocols = W_NOTHING;
    for (unsigned i = 0; i < 3; i++)
        if (capability & 1u << i)
            protocols = W_JOIN(protocols, W_VARINT(1, i));
    return W_MESSAGE(1, W_MESSAGE(1, W_TEXT(1, id), W_TEXT(10, "udpa.node.v1")),
                     wire_bytes(2, protocols));
}

static inline void
hds_send_message(hds_fixture *self, udpai_str message)
{
    fake_stream_receive(&self->stream, message.data, message.len);
    fake_stream_run(&self->stream, &self->world.hub);
}

static inline void
hds_say_hello(hds_fixture *self, const char *id)
{
    hds_open_stream(self, false);
    hds_send_message(self, hds_request_of(id, UDPAI_HEALTH_HTTP | UDPAI_HEALTH_TCP));
}

/* ---- specifiers ---- */

static inline udpai_str
hds_cluster_of(const char *name, uint32_t check, const char *endpoint)
{
    return W_MESSAGE(1, W_TEXT(1, name), W_MESSAGE(2, W_EMPTY(check)),
                     W_MESSAGE(3, health_endpoint(2, endpoint)));
}

static inline udpa_resource *
hds_make_specifier(const char *name, udpai_str payload)
{
    udpa_resource *resource = NULL;
    udpa_bytes *any = udpai_any_make(SPECIFIER, payload);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    assert_ok(udpai_resource_make(&resource, &parts));
    udpa_bytes_unref(any);
    return resource;
}

static inline void
hds_change(hds_fixture *self, udpai_change_kind kind, const char *name, udpai_str payload)
{
    udpai_change_set *set = udpai_change_set_new();
    const udpai_change one = {.kind = kind, .resource = hds_make_specifier(name, payload)};
    assert_ok(udpai_change_set_add(set, &one));
    udpa_resource_unref(one.resource);
    fake_hub_apply(&self->world.hub, set);
    if (self->stream.session)
        fake_stream_run(&self->stream, &self->world.hub);
}

static inline void
hds_publish(hds_fixture *self, const char *name, udpai_str payload)
{
    hds_change(self, UDPAI_CHANGE_SET, name, payload);
}

static inline void
hds_withdraw(hds_fixture *self, const char *name)
{
    hds_change(self, UDPAI_CHANGE_REMOVE, name, W_NOTHING);
}

/* Was just this written, and nothing else? */
static inline void
hds_expect_sent(hds_fixture *self, udpai_str specifier)
{
    udpa_bytes *message = fake_stream_take(&self->stream);
    assert_non_null(message);
    assert_true(udpai_str_eq(udpai_bytes_view(message), specifier));
    udpa_bytes_unref(message);
    assert_null(fake_stream_take(&self->stream));
}

static inline void
hds_expect_nothing_sent(hds_fixture *self)
{
    assert_false(self->stream.is_finished);
    assert_null(fake_stream_take(&self->stream));
}

static inline void
hds_expect_end(hds_fixture *self, udpa_err code, const char *words)
{
    assert_true(self->stream.is_finished);
    assert_non_null(self->stream.status);
    assert_int_equal(udpa_error_code(self->stream.status), code);
    if (!strstr(udpa_error_message(self->stream.status), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(self->stream.status), words);
}

#endif
