/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a server that says whatever the test likes, over a real connection. */
#include "transport/http/curl_client.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "tests/harness/test.h"

#define PATH "/v3/discovery:clusters"
#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Length: "
#define PATIENCE_S 20

/* ---- a server: for each request one text, then it closes the connection ---- */

typedef struct server {
    int listener, port;
    pthread_t thread;
    const char *const *answers; /* NULL ends them: it closes; "": it says nothing, and stays */
    unsigned n_connections;
    udpai_strbuf heard;
} server;

static bool
read_request(int fd, udpai_strbuf *heard)
{
    size_t begin = heard->len, want = SIZE_MAX;
    while (heard->len - begin < want) {
        char room[4096];
        ssize_t n = read(fd, room, sizeof(room));
        if (n <= 0)
            return false;
        udpai_strbuf_append(heard, room, (size_t)n);
        const char *end = strstr(heard->data + begin, "\r\n\r\n");
        const char *length = strstr(heard->data + begin, "Content-Length: ");
        if (end && length)
            want = (size_t)(end + 4 - heard->data) - begin + strtoul(length + 16, NULL, 10);
    }
    return true;
}

static void
serve(server *self, int fd, size_t *at)
{
    while (read_request(fd, &self->heard)) {
        const char *answer = self->answers[*at];
        if (!answer)
            return;
        ++*at;
        if (*answer && send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
            return;
    }
}

static void *
run_server(void *userdata)
{
    server *self = userdata;
    size_t at = 0;
    for (;;) {
        int fd = accept(self->listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        self->n_connections++;
        serve(self, fd, &at);
        close(fd);
    }
}

static void
start_server(server *self, const char *const *answers)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    *self = (server){.answers = answers};
    self->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(self->listener >= 0);
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(self->listener, 8), 0);
    assert_int_equal(getsockname(self->listener, (struct sockaddr *)&address, &len), 0);
    self->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&self->thread, NULL, run_server, self), 0);
}

static void
stop_server(server *self)
{
    shutdown(self->listener, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->listener);
    udpai_strbuf_done(&self->heard);
}

/* ---- a codec whose JSON is easy to see ---- */

static udpa_err
to_json(void *userdata,
        const char *type,
        udpai_str bytes,
        udpa_bytes **ret_json,
        udpa_error **ret_error)
{
    char room[256];
    (void)userdata;
    assert_string_equal(type, "envoy.service.discovery.v3.DiscoveryRequest");
    if (udpai_str_eq(bytes, UDPAI_STR("odd")))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "it is odd");
    int len = snprintf(room, sizeof(room), "{\"%.*s\":1}", (int)bytes.len, bytes.data);
    return udpa_bytes_new(ret_json, room, (size_t)len);
}

static udpa_err
to_bytes(void *userdata,
         const char *type,
         udpai_str json,
         udpa_bytes **ret_bytes,
         udpa_error **ret_error)
{
    (void)userdata;
    assert_string_equal(type, "envoy.service.discovery.v3.DiscoveryResponse");
    if (!udpai_str_starts(json, UDPAI_STR("{")))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "body:1:1: no JSON");
    return udpa_bytes_new(ret_bytes, json.data, json.len);
}

static void
release(void *userdata)
{
    ++*(unsigned *)userdata;
}

/* ---- asking ---- */

typedef struct asking {
    server server;
    udpai_http_client *client;
    udpai_http_request request;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool is_over; /* under the mutex */
    unsigned n_released;
} asking;

static void
make_asker(asking *self, int port)
{
    char address[32];
    udpa_error *error = NULL;
    snprintf(address, sizeof(address), "127.0.0.1:%d", port);
    const udpai_curl_client_options options = {
        .address = address,
        .codec = {to_json, to_bytes, release, &self->n_released},
    };
    assert_ok(udpai_curl_client_new(&self->client, &options, &error));
}

static asking *
start(const char *const *answers)
{
    asking *self = calloc(1, sizeof(*self));
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->cond, NULL);
    start_server(&self->server, answers);
    make_asker(self, self->server.port);
    return self;
}

static void
forget(asking *self)
{
    udpa_bytes_unref(self->request.message);
    udpa_bytes_unref(self->request.answer);
    udpa_error_unref(self->request.error);
    self->request = (udpai_http_request){0};
    self->is_over = false;
}

static void
stop(asking *self)
{
    forget(self);
    self->client->ops->free(self->client);
    assert_int_equal(self->n_released, 1);
    stop_server(&self->server);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->cond);
    free(self);
}

static void
on_over(udpai_http_request *request)
{
    asking *self = UDPAI_CONTAINER_OF(request, asking, request);
    pthread_mutex_lock(&self->mutex);
    self->is_over = true;
    pthread_cond_broadcast(&self->cond);
    pthread_mutex_unlock(&self->mutex);
}

static void
begin(asking *self, const char *path, const char *message, uint64_t timeout_ms)
{
    udpa_error *error = NULL;
    forget(self);
    self->request.path = path;
    self->request.timeout_ms = timeout_ms;
    self->request.max_bytes = 100;
    self->request.over = on_over;
    udpai_list_init(&self->request.node);
    if (message)
        assert_ok(udpa_bytes_new(&self->request.message, message, strlen(message)));
    assert_ok(self->client->ops->begin(self->client, &self->request, &error));
}

static void
wait_over(asking *self)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&self->mutex);
    int result = 0;
    while (!self->is_over && result == 0)
        result = pthread_cond_timedwait(&self->cond, &self->mutex, &until);
    bool is_over = self->is_over;
    pthread_mutex_unlock(&self->mutex);
    assert_true(is_over);
}

static void
ask(asking *self)
{
    begin(self, PATH, "x", 10000);
    wait_over(self);
}

static void
expect_answer(const asking *self, const char *answer)
{
    if (self->request.error)
        fail_msg("%s", udpa_error_message(self->request.error));
    if (!answer)
        assert_null(self->request.answer);
    else
        assert_str(udpai_bytes_view(self->request.answer), answer);
}

/* "HOST" in the words stands for the server's address. */
static void
expect_error(const asking *self, udpa_err err, const char *words)
{
    udpai_strbuf text = {0};
    const char *host = strstr(words, "HOST");
    udpai_strbuf_append(&text, words, host ? (size_t)(host - words) : strlen(words));
    if (host)
        udpai_strbuf_printf(&text, "127.0.0.1:%d%s", self->server.port, host + 4);
    assert_null(self->request.answer);
    assert_non_null(self->request.error);
    assert_string_equal(udpa_error_message(self->request.error), text.data);
    assert_int_equal(udpa_error_code(self->request.error), err);
    udpai_strbuf_done(&text);
}

/* ---- what is sent ---- */

static void
asks_as_servers_expect(void **state)
{
    (void)state;
    asking *self = start((const char *const[]){OK_HEAD "2\r\n\r\n{}", NULL});
    ask(self);
    expect_answer(self, "{}");
    const char *heard = self->server.heard.data;
    assert_ptr_equal(strstr(heard, "POST " PATH " HTTP/1.1\r\nHost: 127.0.0.1:"), heard);
    assert_non_null(strstr(heard, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(heard, "\r\nPrefer: wait=8\r\n"));
    assert_non_null(strstr(heard, "\r\n\r\n{\"x\":1}"));
    static const char *const absent[] = {"Expect:", "Accept-Encoding:", "Upgrade:", "Cookie:"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(absent); i++)
        assert_null(strstr(heard, absent[i]));
    stop(self);
}

static void
connection_is_used_again(void **state)
{
    (void)state;
    asking *self =
        start((const char *const[]){OK_HEAD "2\r\n\r\n{}", OK_HEAD "3\r\n\r\n{ }", NULL});
    ask(self);
    ask(self);
    expect_answer(self, "{ }");
    assert_int_equal(self->server.n_connections, 1);
    stop(self);
}

static void
somebody_is_there_or_not(void **state)
{
    (void)state;
    asking *self = start((const char *const[]){NULL});
    begin(self, NULL, NULL, 10000);
    wait_over(self);
    expect_answer(self, NULL);
    forget(self);
    stop_server(&self->server);
    begin(self, NULL, NULL, 10000);
    wait_over(self);
    expect_error(self, UDPA_ERR_UNAVAILABLE,
                 "cannot connect to HOST: Connection refused; does it run, and listen there?");
    ask(self);
    expect_error(self, UDPA_ERR_UNAVAILABLE,
                 "HOST" PATH
                 " cannot be asked: Connection refused; does it run, and listen there?");
    start_server(&self->server, (const char *const[]){NULL});
    stop(self);
}

/* ---- what comes ---- */

static void
nothing_new_and_held(void **state)
{
    (void)state;
    asking *self = start(
        (const char *const[]){"HTTP/1.1 304 Not Modified\r\npreference-applied: wait=8\r\n\r\n",
                              "HTTP/1.1 304 Not Modified\r\n\r\n", NULL});
    ask(self);
    expect_answer(self, NULL);
    assert_true(self->request.server_holds);
    ask(self);
    expect_answer(self, NULL);
    assert_false(self->request.server_holds);
    stop(self);
}

static void
answer_may_belong_to_a_trace(void **state)
{
    static const char trace[] = "00-0102030405060708090a0b0c0d0e0f10-1112131415161718-01";
    char traced[256], other[256], room[UDPAI_TRACEPARENT_LEN];
    (void)state;
    snprintf(traced, sizeof(traced), OK_HEAD "2\r\nTraceParent: \t%s \r\n\r\n{}", trace);
    snprintf(other, sizeof(other), OK_HEAD "2\r\ntraceparent: %s-%s\r\n\r\n{}", trace, trace);
    asking *self = start((const char *const[]){traced, other, OK_HEAD "2\r\n\r\n{}", NULL});
    ask(self);
    expect_answer(self, "{}");
    udpai_trace_write(&self->request.trace, room);
    assert_memory_equal(room, trace, sizeof(room));
    for (int i = 0; i < 2; i++) {
        ask(self);
        expect_answer(self, "{}");
        assert_false(udpai_trace_is_set(&self->request.trace));
    }
    stop(self);
}

static void
other_statuses_are_failures_with_the_server_s_words(void **state)
{
    (void)state;
    asking *self = start((const char *const[]){
        "HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nno\x01\npath\n",
        "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n\xff\xff",
        "HTTP/1.1 302 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 None\r\n\r\n", NULL});
    ask(self);
    expect_error(self, UDPA_ERR_UNAVAILABLE,
                 "HOST" PATH " is answered with 404: no  path; is this where it serves xDS by "
                 "REST?");
    ask(self);
    expect_error(self, UDPA_ERR_UNAVAILABLE, "HOST" PATH " is answered with 503");
    ask(self);
    expect_error(self, UDPA_ERR_DENIED, "HOST" PATH " is answered with 403: (no text)");
    ask(self);
    expect_error(self, UDPA_ERR_UNAVAILABLE, "HOST" PATH " is answered with 302");
    ask(self);
    expect_error(self, UDPA_ERR_UNAVAILABLE, "HOST" PATH " is answered with 204");
    stop(self);
}

static void
what_is_no_message_is_a_failure(void **state)
{
    (void)state;
    asking *self = start((const char *const[]){OK_HEAD "4\r\n\r\noops", OK_HEAD "0\r\n\r\n", NULL});
    ask(self);
    expect_error(self, UDPA_ERR_MALFORMED,
                 "HOST" PATH ": the answer cannot be used: body:1:1: no JSON");
    ask(self);
    expect_error(self, UDPA_ERR_MALFORMED,
                 "HOST" PATH ": the answer cannot be used: body:1:1: no JSON");
    begin(self, PATH, "odd", 10000);
    wait_over(self);
    expect_error(self, UDPA_ERR_INVAL, "it is odd");
    stop(self);
}

static void
answers_have_a_size(void **state)
{
    (void)state;
    char large[300], headers[80000];
    snprintf(large, sizeof(large), "%s101\r\n\r\n{%0100d", OK_HEAD, 0);
    int at = snprintf(headers, sizeof(headers), "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 700; i++)
        at += snprintf(headers + at, sizeof(headers) - (size_t)at, "x: %0100d\r\n", i);
    asking *self = start((const char *const[]){large, headers, NULL});
    ask(self);
    expect_error(self, UDPA_ERR_LIMIT,
                 "HOST" PATH ": the answer is larger than 100 bytes, which is the limit "
                 "(limits.max_message_bytes_from_sources)");
    ask(self);
    assert_int_equal(udpa_error_code(self->request.error), UDPA_ERR_LIMIT);
    stop(self);
}

static void
no_http_is_a_failure(void **state)
{
    (void)state;
    asking *self = start((const char *const[]){"PRI * and so on\r\n\r\n", NULL});
    ask(self);
    assert_int_equal(udpa_error_code(self->request.error), UDPA_ERR_UNAVAILABLE);
    assert_non_null(strstr(udpa_error_message(self->request.error),
                           "does it speak gRPC there? Then it is a source of kind xds"));
    ask(self); /* the connection is closed without a word */
    expect_error(self, UDPA_ERR_UNAVAILABLE,
                 "HOST" PATH " cannot be asked: Empty reply from server; does it want TLS?");
    stop(self);
}

/* ---- time ---- */

static void
silent_server_is_given_up(void **state)
{
    (void)state;
    asking *self = start((const char *const[]){"", NULL});
    begin(self, PATH, "x", 150);
    wait_over(self);
    expect_error(self, UDPA_ERR_DEADLINE, "HOST" PATH ": no answer within 150 ms");
    stop(self);
}

static void
what_is_cancelled_is_over_soon(void **state)
{
    (void)state;
    asking *self = start((const char *const[]){"", NULL});
    begin(self, PATH, "x", 3600000);
    self->client->ops->cancel(self->client, &self->request);
    wait_over(self);
    expect_error(self, UDPA_ERR_CANCELLED, "no caller waits for it");
    stop(self);
}

/* ---- making one ---- */

static void
what_cannot_stand_in_a_url_is_no_address(void **state)
{
    (void)state;

    static const char *const good[] = {"a:1", "control.example.com:65535", "[2001:db8::1]:80",
                                       "10.0.0.1:8080"};
    static const char *const bad[] = {
        "",      "a",     ":1",    "a:0",   "a:65536", "a:x",  "a b:1",      "a/b:1",
        "u@a:1", "a?b:1", "[x]:1", "a:1/x", "a:1#:2",  "[]:1", "http://a:1", "a\r\nb:1"};

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(good); i++)
        assert_ok(udpai_http_address_check(good[i], NULL));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        assert_int_equal(udpai_http_address_check(bad[i], NULL), UDPA_ERR_INVAL);
}

static void
odd_options_are_refused(void **state)
{
    (void)state;
    unsigned n_released = 0;
    udpai_http_client *client = NULL;
    const udpai_tls_files files = {0}, vouched = {.authorities = (char *)(uintptr_t) "x"};
    udpai_curl_client_options options = {
        .address = "a",
        .codec = {.release = release, .userdata = &n_released},
    };
    assert_int_equal(udpai_curl_client_new(&client, &options, NULL), UDPA_ERR_INVAL);
    options.address = "a:1";
    options.tls = &files;
    assert_int_equal(udpai_curl_client_new(&client, &options, NULL), UDPA_ERR_INVAL);
    options.tls = &vouched;
    options.server_name = "a/b";
    assert_int_equal(udpai_curl_client_new(&client, &options, NULL), UDPA_ERR_INVAL);
    assert_int_equal(n_released, 3);
    assert_null(client);
}

static void
certificates_can_be_replaced(void **state)
{
    (void)state;
    unsigned n_released = 0;
    udpai_http_client *client = NULL;
    const udpai_tls_files files = {.authorities = (char *)(uintptr_t) "x"}, none = {0};
    udpai_curl_client_options options = {
        .address = "a:1",
        .codec = {.release = release, .userdata = &n_released},
    };
    assert_ok(udpai_curl_client_new(&client, &options, NULL));
    assert_int_equal(udpai_curl_client_replace_tls(client, &files, NULL), UDPA_ERR_PRECONDITION);
    client->ops->free(client);
    options.tls = &files;
    assert_ok(udpai_curl_client_new(&client, &options, NULL));
    assert_int_equal(udpai_curl_client_replace_tls(client, &none, NULL), UDPA_ERR_INVAL);
    assert_ok(udpai_curl_client_replace_tls(client, &files, NULL));
    client->ops->free(client);
    assert_int_equal(n_released, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_as_servers_expect),
        cmocka_unit_test(connection_is_used_again),
        cmocka_unit_test(somebody_is_there_or_not),
        cmocka_unit_test(nothing_new_and_held),
        cmocka_unit_test(answer_may_belong_to_a_trace),
        cmocka_unit_test(other_statuses_are_failures_with_the_server_s_words),
        cmocka_unit_test(what_is_no_message_is_a_failure),
        cmocka_unit_test(answers_have_a_size),
        cmocka_unit_test(no_http_is_a_failure),
        cmocka_unit_test(silent_server_is_given_up),
        cmocka_unit_test(what_is_cancelled_is_over_soon),
        cmocka_unit_test(what_cannot_stand_in_a_url_is_no_address),
        cmocka_unit_test(odd_options_are_refused),
        cmocka_unit_test(certificates_can_be_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
