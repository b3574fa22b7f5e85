/* SPDX-License-Identifier: Apache-2.0 */
/* One FetchRequest, one FetchResponse: who is answered, with what, and when. */
#include "session/udpa_poll.h"

#include <stdio.h>

#include "base/alloc.h"
#include "one_peer.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"

#define PATIENCE_MS 30000
#define SECRET "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

static const udpai_str secret_types[] = {{"x/acme.Password", 15}};
static const udpai_udpa_polls polls = {secret_types, 1};

typedef struct poll {
    fake_stream stream;
    char version[64]; /* of the last response */
} poll;

typedef struct poll_ask {
    const char *type, *name_space, *version;
    const char *names[3];
    bool is_secure;
} poll_ask;

static void
begin_poll(poll *self, const poll_ask *ask)
{
    const udpai_stream_info info = {
        .context = (void *)(uintptr_t)&polls,
        .patience_ms = PATIENCE_MS,
        .is_secure = ask->is_secure,
    };
    memset(&self->stream, 0, sizeof(self->stream));
    fake_stream_open(&self->stream, &hub, udpai_udpa_poll_new, &info);
    udpai_str names = W_NOTHING;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(ask->names) && ask->names[i]; i++)
        names = W_JOIN(names, wire_bytes(3, udpai_str_from(ask->names[i])));
    udpai_str request = W_JOIN(W_TEXT(1, ask->type ? session_type_url(ask->type) : ""),
                               W_TEXT(2, ask->name_space ? ask->name_space : ""), names,
                               W_TEXT(4, ask->version ? ask->version : ""));
    fake_stream_receive(&self->stream, request.data, request.len);
    udpai_session_ended(self->stream.session);
}

#define BEGIN(self, ...) begin_poll((self), &(poll_ask){__VA_ARGS__})

static int
by_name(const void *a, const void *b)
{
    return strcmp((*(Udpa__Service__Discovery__V1__Resource *const *)a)->name,
                  (*(Udpa__Service__Discovery__V1__Resource *const *)b)->name);
}

/* "name=version …", in the order of names; and the stream has ended in peace. */
static void
expect(poll *self, const char *resources)
{
    char text[512] = "";
    size_t len = 0;
    fake_stream_run(&self->stream, &hub);
    udpa_bytes *bytes = fake_stream_take(&self->stream);
    assert_non_null(bytes);
    Udpa__Service__Discovery__V1__FetchResponse *response =
        udpa__service__discovery__v1__fetch_response__unpack(NULL, udpa_bytes_size(bytes),
                                                             udpa_bytes_data(bytes));
    assert_non_null(response);
    if (response->n_resources)
        qsort(response->resources, response->n_resources, sizeof(*response->resources), by_name);
    for (size_t i = 0; i < response->n_resources; i++) {
        assert_non_null(response->resources[i]->resource);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=%s", i ? " " : "",
                                response->resources[i]->name, response->resources[i]->version);
    }
    assert_string_equal(text, resources);
    assert_int_equal(strlen(response->version), 32);
    snprintf(self->version, sizeof(self->version), "%s", response->version);
    udpa__service__discovery__v1__fetch_response__free_unpacked(response, NULL);
    udpa_bytes_unref(bytes);
    assert_true(self->stream.is_finished);
    assert_null(self->stream.status);
    fake_stream_close(&self->stream);
}

static void
expect_held(poll *self)
{
    fake_stream_run(&self->stream, &hub);
    assert_null(fake_stream_take(&self->stream));
    assert_false(self->stream.is_finished);
}

/* Nothing has changed. */
static void
expect_nothing(poll *self)
{
    fake_stream_run(&self->stream, &hub);
    assert_null(fake_stream_take(&self->stream));
    assert_true(self->stream.is_finished);
    assert_null(self->stream.status);
    fake_stream_close(&self->stream);
}

static void
expect_refused(poll *self, udpa_err code, const char *words)
{
    fake_stream_run(&self->stream, &hub);
    assert_true(self->stream.is_finished);
    assert_int_equal(udpa_error_code(self->stream.status), code);
    if (!strstr(udpa_error_message(self->stream.status), words))
        fail_msg("'%s' is not in '%s'", words, udpa_error_message(self->stream.status));
    fake_stream_close(&self->stream);
}

static void
what_is_asked_for_is_answered(void **state)
{
    (void)state;
    poll self;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1 +C:org/c=1 +E:com.acme/a=1");
    BEGIN(&self, .type = "C");
    expect(&self, "com.acme/a=1 com.acme/b=1 org/c=1");
    BEGIN(&self, .type = "C", .name_space = "com.acme");
    expect(&self, "com.acme/a=1 com.acme/b=1");
    BEGIN(&self, .type = "C", .name_space = "com.acme", .names = {"*"});
    expect(&self, "com.acme/a=1 com.acme/b=1");
    BEGIN(&self, .type = "C", .names = {"org/c", "org/missing"});
    expect(&self, "org/c=1");
    BEGIN(&self, .type = "R");
    expect(&self, "");
}

static void
who_holds_it_waits(void **state)
{
    (void)state;
    poll self, named;
    session_change(&hub, "+C:com.acme/a=1 +C:com.acme/b=1");
    BEGIN(&self, .type = "C");
    expect(&self, "com.acme/a=1 com.acme/b=1");
    BEGIN(&named, .type = "C", .names = {"com.acme/a"});
    expect(&named, "com.acme/a=1");
    BEGIN(&self, .type = "C", .version = self.version);
    BEGIN(&named, .type = "C", .names = {"com.acme/a"}, .version = named.version);
    expect_held(&self);
    udpai_hub_order(hub.hub, udpai_order_new(UDPAI_ORDER_STATUS));
    udpai_report *status = session_take(&hub, UDPAI_REPORT_STATUS);
    assert_int_equal(status->statuses.n, 2);
    udpai_report_free(status);
    session_change(&hub, "+C:com.acme/b=2");
    expect(&self, "com.acme/a=1 com.acme/b=2");
    expect_held(&named);
    fake_hub_advance(&hub, PATIENCE_MS);
    expect_nothing(&named);
    BEGIN(&self, .type = "C", .version = self.version);
    expect_held(&self);
    session_change(&hub, "-C:com.acme/a");
    expect(&self, "com.acme/b=2");
    BEGIN(&self, .type = "C", .version = "another");
    expect(&self, "com.acme/b=2");
}

static void
what_is_no_configuration_is_refused(void **state)
{
    (void)state;
    static const char *const types[] = {
        "type.googleapis.com/udpa.status.v1.SessionStatus",
        "x/udpa.load.v1.Load",
        "type.googleapis.com/envoy.service.load_stats.v3.LoadStatsRequest",
    };
    poll self;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++) {
        BEGIN(&self, .type = types[i], .is_secure = true);
        expect_refused(&self, UDPA_ERR_DENIED, "what clients report");
    }
}

static void
secrets_are_for_those_whom_nobody_overhears(void **state)
{
    (void)state;
    poll self;
    BEGIN(&self, .type = SECRET);
    expect_refused(&self, UDPA_ERR_DENIED, "TLS");
    BEGIN(&self, .type = "y/acme.Password");
    expect_refused(&self, UDPA_ERR_DENIED, "TLS");
    BEGIN(&self, .type = SECRET, .is_secure = true);
    expect(&self, "");
}

static void
requests_that_cannot_be_are_refused(void **state)
{
    (void)state;
    poll self;
    BEGIN(&self, .names = {"a/b"});
    expect_refused(&self, UDPA_ERR_INVAL, "needs a type_url");
    BEGIN(&self, .type = "C", .name_space = "com.acme", .names = {"org/a"});
    expect_refused(&self, UDPA_ERR_INVAL, "outside the request's namespace");
    BEGIN(&self, .type = "C", .name_space = "//");
    expect_refused(&self, UDPA_ERR_INVAL, "");
    BEGIN(&self, .type = "C", .names = {"no-slash"});
    expect_refused(&self, UDPA_ERR_INVAL, "");
    const udpai_stream_info info = {.context = (void *)(uintptr_t)&polls};
    memset(&self.stream, 0, sizeof(self.stream));
    fake_stream_open(&self.stream, &hub, udpai_udpa_poll_new, &info);
    udpai_session_ended(self.stream.session);
    expect_refused(&self, UDPA_ERR_INVAL, "needs a FetchRequest");
    fake_stream_open(&self.stream, &hub, udpai_udpa_poll_new, &info);
    fake_stream_receive(&self.stream, "\x0a\xff", 2);
    assert_true(self.stream.is_finished);
    fake_stream_close(&self.stream);
}

static void
what_is_not_certain_is_waited_for(void **state)
{
    (void)state;
    poll self;
    session_settle_except(&hub, "com.acme", false);
    session_change(&hub, "+C:com.acme/a=1");
    BEGIN(&self, .type = "C");
    expect_held(&self);
    fake_hub_advance(&hub, PATIENCE_MS);
    expect_refused(&self, UDPA_ERR_UNAVAILABLE, "ask again");
    BEGIN(&self, .type = "C");
    expect_held(&self);
    session_settle(&hub);
    expect(&self, "com.acme/a=1");
}

static int
end_polls(void **state)
{
    (void)state;
    fake_hub_done(&hub);
    wire_free_all();
    return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_alone, end_polls)

/* The last of what a session needs: it begins, and ends at once. */
static void
without_memory_it_is_not_said_that_nothing_has_changed(void **state)
{
    (void)state;
    char address[] = "10.0.0.0:1";
    fake_stream stream = {0};
    for (long n = 50; n >= 0 && !stream.is_finished; n--) {
        fake_stream_close(&stream);
        memset(&stream, 0, sizeof(stream));
        address[7] = (char)('A' + n); /* of nobody who is known */
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
        assert_ok(udpa_bytes_new(&bytes, address, strlen(address)));
        const udpai_stream_info info = {.context = (void *)(uintptr_t)&polls, .address = bytes};
        udpai_alloc_fail_after(n);
        fake_stream_open(&stream, &hub, udpai_udpa_poll_new, &info);
        udpai_alloc_fail_after(-1);
    }
    assert_true(stream.is_finished);
    assert_int_equal(udpa_error_code(stream.status), UDPA_ERR_NOMEM);
    fake_stream_close(&stream);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_asked_for_is_answered),
        CASE(who_holds_it_waits),
        CASE(what_is_no_configuration_is_refused),
        CASE(secrets_are_for_those_whom_nobody_overhears),
        CASE(requests_that_cannot_be_are_refused),
        CASE(what_is_not_certain_is_waited_for),
        CASE(without_memory_it_is_not_said_that_nothing_has_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
