/* SPDX-License-Identifier: Apache-2.0 */
/* A source that is polled by REST: options that may not be, and a server that answers. */
#include "pair.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness/wire.h"

#define ANSWER                                                                                     \
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"                                                 \
    "{}"

/* ---- a server that says the same to everybody, and ends with its listener ---- */

typedef struct server {
    int listener, port;
    pthread_t thread;
} test_server;

static void *
run_server(void *userdata)
{
    const test_server *self = userdata;
    int fd;
    while ((fd = accept(self->listener, NULL, NULL)) >= 0) {
        char room[4096];
        if (read(fd, room, sizeof(room)) > 0) /* requests of this test are small */
            (void)!send(fd, ANSWER, strlen(ANSWER), MSG_NOSIGNAL);
        close(fd);
    }
    return NULL;
}

static void
start_server(test_server *self)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(self->listener, 8), 0);
    assert_int_equal(getsockname(self->listener, (struct sockaddr *)&address, &len), 0);
    self->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&self->thread, NULL, run_server, self), 0);
}

static void
stop_server(test_server *self)
{
    shutdown(self->listener, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->listener);
}

/* ---- the application's part ---- */

typedef struct codec {
    udpai_str response; /* what every JSON stands for */
    bool is_lazy;       /* says that all is well, and returns nothing */
} codec;

static udpa_err
to_json(void *userdata,
        const char *type,
        const void *from,
        size_t size,
        udpa_bytes **ret_to,
        udpa_error **ret_error)
{
    (void)userdata, (void)ret_error;
    assert_string_equal(type, "envoy.service.discovery.v3.DiscoveryRequest");
    assert_non_null(memmem(from, size, "me", 2)); /* who the endpoint is */
    return udpa_bytes_new(ret_to, "{}", 2);
}

static udpa_err
to_bytes(void *userdata,
         const char *type,
         const void *from,
         size_t size,
         udpa_bytes **ret_to,
         udpa_error **ret_error)
{
    const codec *self = userdata;
    (void)ret_error;
    assert_string_equal(type, "envoy.service.discovery.v3.DiscoveryResponse");
    assert_memory_equal(from, "{}", size);
    return self->is_lazy ? UDPA_OK
                         : udpa_bytes_new(ret_to, self->response.data, self->response.len);
}

/* ---- an endpoint ---- */

typedef struct bed {
    test_pair pair;
    codec codec;
    udpa_rest_server rest;
    udpa_source source;
    udpa_endpoint_options options;
    char address[32];
} bed;

static bed *
make_bed(int port)
{
    bed *self = calloc(1, sizeof(*self));
    pair_begin(&self->pair);
    snprintf(self->address, sizeof(self->address), "127.0.0.1:%d", port);
    self->rest = (udpa_rest_server)UDPA_REST_SERVER_INIT;
    self->rest.authority = "legacy";
    self->rest.name_space = "com.acme";
    self->rest.to_json = to_json;
    self->rest.to_bytes = to_bytes;
    self->rest.userdata = &self->codec;
    self->source = (udpa_source)UDPA_SOURCE_INIT;
    self->source.name = "old";
    self->source.address = self->address;
    self->source.rest = &self->rest;
    self->options = (udpa_endpoint_options)UDPA_ENDPOINT_OPTIONS_INIT;
    self->options.node_id = "me";
    self->options.sources = &self->source;
    self->options.n_sources = 1;
    return self;
}

static void
drop_bed(bed *self)
{
    pair_end(&self->pair);
    free(self);
    wire_free_all();
}

static void
begin(bed *self)
{
    udpa_error *error = NULL;
    if (udpa_endpoint_new(&self->pair.client, &self->pair.loop, &self->options, &error))
        fail_msg("%s", udpa_error_message(error));
}

static void
on_complete(void *userdata)
{
    ((test_ear *)userdata)->n_complete++;
}

/* To all clusters: of what other tests subscribe to, REST knows nothing. */
static void
subscribe(test_ear *ear, test_pair *pair)
{
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    ear->pair = pair;
    options.type_url = TEST_CDS;
    options.name_space = "com.acme";
    options.update = ear_fn;
    options.complete = on_complete;
    options.userdata = ear;
    assert_ok(udpa_subscribe(&ear->subscription, pair->client, &options, NULL));
}

static void
expect_mistake(bed *self, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_endpoint *endpoint = NULL;
    assert_int_equal(udpa_endpoint_new(&endpoint, &self->pair.loop, &self->options, &error),
                     UDPA_ERR_INVAL);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
}

static void
options_that_may_not_be(void **state)
{
    (void)state;
    bed *self = make_bed(1);
    udpa_xds_server xds = UDPA_XDS_SERVER_INIT;
    self->source.xds = &xds;
    expect_mistake(self, "set xds or rest, not both");
    self->source.xds = NULL;
    self->rest.to_bytes = NULL;
    expect_mistake(self, "needs to_json and to_bytes");
    self->rest.to_bytes = to_bytes;
    self->rest.refresh_delay_ms = 3600001;
    expect_mistake(self, "at most 3600000");
    self->rest.refresh_delay_ms = 0;
    self->rest.authority = NULL;
    expect_mistake(self, "authority is required");
    self->rest.authority = "legacy";
    self->source.address = "a/b:1";
    expect_mistake(self, "'a/b:1' is no address to ask by HTTP");
    self->rest.struct_size--;
    expect_mistake(self, "UDPA_REST_SERVER_INIT");
    drop_bed(self);
}

static void
what_it_answers_is_told(void **state)
{
    (void)state;
    test_server server;
    test_ear ear = {0};
    start_server(&server);
    bed *self = make_bed(server.port);
    self->codec.response = W_JOIN(
        W_TEXT(1, "v1"), W_MESSAGE(2, W_TEXT(1, TEST_CDS), W_MESSAGE(2, W_TEXT(1, "backend"))));
    begin(self);
    subscribe(&ear, &self->pair);
    pair_run_until(&self->pair, &ear.n_complete, 1);
    assert_int_equal(ear.n_additions, 1);
    assert_string_equal(ear.last_name, "com.acme/backend");
    drop_bed(self);
    stop_server(&server);
}

static bool
has_failed(const bed *self, const char *words)
{
    const udpa_error *error = udpa_endpoint_source_error(self->pair.client, "old");
    return error && strstr(udpa_error_message(error), words);
}

static void
expect_failure(bed *self, const char *words)
{
    uint64_t end = uv_now(&self->pair.loop) + PAIR_PATIENCE_MS;
    while (!has_failed(self, words) && uv_now(&self->pair.loop) < end)
        uv_run(&self->pair.loop, UV_RUN_ONCE);
    assert_true(has_failed(self, words));
}

static void
who_is_not_there_is_told_of(void **state)
{
    (void)state;
    test_server server;
    start_server(&server);
    stop_server(&server);
    bed *self = make_bed(server.port);
    begin(self);
    expect_failure(self, "Connection refused");
    drop_bed(self);
}

static void
codec_that_breaks_its_promise_is_no_disaster(void **state)
{
    (void)state;
    test_server server;
    test_ear ear = {0};
    start_server(&server);
    bed *self = make_bed(server.port);
    self->codec.is_lazy = true;
    begin(self);
    subscribe(&ear, &self->pair);
    expect_failure(self, "the answer cannot be used");
    assert_int_equal(ear.n_updates, 0);
    drop_bed(self);
    stop_server(&server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_may_not_be),
        cmocka_unit_test(what_it_answers_is_told),
        cmocka_unit_test(who_is_not_there_is_told_of),
        cmocka_unit_test(codec_that_breaks_its_promise_is_no_disaster),
    };
    return cmocka_run_group_tests_name("endpoint polled", tests, NULL, NULL);
}
