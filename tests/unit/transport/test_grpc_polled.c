/* SPDX-License-Identifier: Apache-2.0 */
/* A server that is polled, on a real stream thread: the test is whoever asks it, and answers what
 * it likes; the session is that of an xDS server. */
#include "bed.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "model/types.h"
#include "tests/harness/wire.h"
#include "transport/http_client.h"
#include "xds/upstream.h"

#define LINK 7
#define CLUSTER UDPAI_TYPE_CLUSTER

/* Keeps what it is asked until the test answers; what is cancelled it ends itself. */
typedef struct fake_asker {
    udpai_http_client base; /* first */
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    udpai_list asked;
    bool is_broken; /* nothing can be begun */
    unsigned *n_freed;
} fake_asker;

typedef struct polled_bed {
    test_bed bed;
    fake_asker *client;
    uint64_t session;
    unsigned n_freed;
} polled_bed;

static udpa_err
on_begin(udpai_http_client *base, udpai_http_request *request, udpa_error **ret_error)
{
    fake_asker *self = (fake_asker *)base;
    if (self->is_broken)
        return udpai_fail(ret_error, UDPA_ERR_IO, "no thread");
    pthread_mutex_lock(&self->mutex);
    udpai_list_append(&self->asked, &request->node);
    pthread_cond_broadcast(&self->cond);
    pthread_mutex_unlock(&self->mutex);
    return UDPA_OK;
}

static void
on_cancel(udpai_http_client *base, udpai_http_request *request)
{
    fake_asker *self = (fake_asker *)base;
    pthread_mutex_lock(&self->mutex);
    bool is_here = udpai_list_linked(&request->node);
    udpai_list_remove(&request->node);
    pthread_mutex_unlock(&self->mutex);
    if (!is_here) /* the test has it, and answers */
        return;
    request->error = udpa_error_new(UDPA_ERR_CANCELLED, NULL, "nobody waits");
    request->over(request);
}

static void
on_free(udpai_http_client *base)
{
    fake_asker *self = (fake_asker *)base;
    assert_true(udpai_list_empty(&self->asked));
    ++*self->n_freed;
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->cond);
    udpai_free(self);
}

static const udpai_http_client_ops ops = {on_begin, on_cancel, on_free};

static fake_asker *
make_asker(unsigned *n_freed)
{
    fake_asker *self = udpai_alloc(sizeof(*self));
    assert_non_null(self);
    self->base.ops = &ops;
    self->n_freed = n_freed;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->cond, NULL);
    udpai_list_init(&self->asked);
    return self;
}

/* ---- the test's side ---- */

static int
setup(void **state)
{
    polled_bed *self = calloc(1, sizeof(*self));
    bed_start(&self->bed, NULL);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    polled_bed *self = *state;
    bed_stop(&self->bed);
    assert_int_equal(self->n_freed, 1);
    free(self);
    wire_free_all();
    return 0;
}

static void
dial(polled_bed *self, bool is_broken)
{
    udpai_upstream *upstream = NULL;
    udpai_polled_server *server = udpai_polled_server_new(
        &(udpai_polling_options){.node = W_TEXT(1, "me"), .refresh_ms = 1, .timeout_ms = 4321});
    assert_ok(udpai_upstream_new(&upstream, &(udpai_upstream_options){
                                                .is_rest = true,
                                                .type_url = {"", 0},
                                                .name_space = UDPAI_STR("com.acme"),
                                                .authority = UDPAI_STR("legacy"),
                                            }));
    self->client = make_asker(&self->n_freed);
    self->client->is_broken = is_broken;
    const udpai_grpc_target_options options = {
        .address = "control.test:80",
        .method = {"", udpai_upstream_session_new, upstream},
        .release_context = udpai_upstream_drop,
        .client = &self->client->base,
        .server = server,
    };
    bed_dial(&self->bed, LINK, &options);
}

/* What is asked next. */
static udpai_http_request *
next_inquiry(polled_bed *self)
{
    fake_asker *client = self->client;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BED_PATIENCE_S;
    pthread_mutex_lock(&client->mutex);
    int result = 0;
    while (udpai_list_empty(&client->asked) && result == 0)
        result = pthread_cond_timedwait(&client->cond, &client->mutex, &until);
    udpai_list *at = udpai_list_pop(&client->asked);
    pthread_mutex_unlock(&client->mutex);
    assert_non_null(at);
    return UDPAI_LIST_ENTRY(at, udpai_http_request, node);
}

static void
connect(polled_bed *self)
{
    dial(self, false);
    udpai_http_request *probe = next_inquiry(self);
    assert_null(probe->path);
    assert_null(probe->message);
    probe->over(probe);
    udpai_report *opened = bed_report(&self->bed, UDPAI_REPORT_OPENED);
    assert_int_equal(opened->link, LINK);
    assert_str(udpai_bytes_view(opened->address), "control.test:80");
    self->session = opened->session;
    udpai_report_free(opened);
}

static void
ask_for_all(polled_bed *self)
{
    const udpai_str all = {"", 0};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
    order->session = self->session;
    order->subscription = udpai_subscription_message_copy(
        &(udpai_subscription_message){.type_url = UDPAI_STR(CLUSTER), .names = &all, .n_names = 1});
    udpai_stream_thread_order(self->bed.thread, order);
}

static void
answer_with_cluster(udpai_http_request *request, const char *version)
{
    udpai_str cluster = W_MESSAGE(2, W_TEXT(1, CLUSTER), W_MESSAGE(2, W_TEXT(1, "a")));
    udpai_str response = W_JOIN(W_TEXT(1, version), cluster);
    assert_ok(udpa_bytes_new(&request->answer, response.data, response.len));
    request->over(request);
}

static void
expect_closed(polled_bed *self, udpa_err err, const char *words)
{
    udpai_report *closed = bed_report(&self->bed, UDPAI_REPORT_CLOSED);
    assert_int_equal(closed->link, LINK);
    assert_int_equal(closed->session, self->session);
    assert_int_equal(udpa_error_code(closed->error), err);
    if (words)
        assert_string_equal(udpa_error_message(closed->error), words);
    udpai_report_free(closed);
}

/* ---- tests ---- */

static void
server_that_is_not_there_is_told(void **state)
{
    polled_bed *self = *state;
    dial(self, false);
    udpai_http_request *probe = next_inquiry(self);
    probe->error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "nobody there");
    probe->over(probe);
    expect_closed(self, UDPA_ERR_UNAVAILABLE, "nobody there");
}

static void
thread_that_cannot_be_begun_is_told(void **state)
{
    polled_bed *self = *state;
    dial(self, true);
    expect_closed(self, UDPA_ERR_IO, "no thread");
}

static void
answers_are_the_session_s_and_are_judged(void **state)
{
    polled_bed *self = *state;
    connect(self);
    ask_for_all(self);
    udpai_http_request *request = next_inquiry(self);
    assert_string_equal(request->path, "/v3/discovery:clusters");
    assert_int_equal(request->timeout_ms, 4321);
    assert_int_equal(request->max_bytes, UDPAI_MAX_SOURCE_MESSAGE_BYTES);
    answer_with_cluster(request, "v1");
    udpai_report_free(bed_report(&self->bed, UDPAI_REPORT_ALIVE));
    udpai_report *report = bed_report(&self->bed, UDPAI_REPORT_PUBLICATION);
    assert_string_equal(udpa_resource_name(report->publication->entries.items[0].resource),
                        "com.acme/a");
    udpai_order *judged = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    judged->session = self->session;
    judged->publication = UDPAI_TAKE(report->publication);
    udpai_report_free(report);
    udpai_stream_thread_order(self->bed.thread, judged);

    request = next_inquiry(self);
    udpai_str begin = W_TEXT(1, "v1");
    assert_true(udpai_str_starts(udpai_bytes_view(request->message), begin));
    request->over(request); /* nothing has changed */
    request = next_inquiry(self);
    request->error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "it has failed");
    request->over(request);
    expect_closed(self, UDPA_ERR_UNAVAILABLE, "it has failed");
}

static void
hanging_up_drops_what_is_asked(void **state)
{
    polled_bed *self = *state;
    connect(self);
    ask_for_all(self);
    udpai_http_request *held = next_inquiry(self); /* not to be taken away from the test */
    bed_hang_up(&self->bed, self->session, LINK);
    answer_with_cluster(held, "v1");
    expect_closed(self, UDPA_OK, NULL);
}

static void
hanging_up_ends_an_attempt_to_connect(void **state)
{
    polled_bed *self = *state;
    dial(self, false);
    bed_hang_up(&self->bed, 0, LINK);
    expect_closed(self, UDPA_OK, NULL);
}

static void
stop_drops_what_is_asked(void **state)
{
    polled_bed *self = *state;
    connect(self);
    ask_for_all(self);
    udpai_stream_thread_stop(self->bed.thread, "the end");
    expect_closed(self, UDPA_ERR_UNAVAILABLE, "the end");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(server_that_is_not_there_is_told),         TEST(thread_that_cannot_be_begun_is_told),
        TEST(answers_are_the_session_s_and_are_judged), TEST(hanging_up_drops_what_is_asked),
        TEST(hanging_up_ends_an_attempt_to_connect),    TEST(stop_drops_what_is_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
