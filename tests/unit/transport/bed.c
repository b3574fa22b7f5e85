/* SPDX-License-Identifier: Apache-2.0 */
#include "bed.h"

#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/front/front.h"

atomic_uint bed_n_received, bed_n_written;

/* ---- the obedient protocol ---- */

#define PARTS 70 /* more than fit on a stack */
#define LATER_MAX 8

typedef struct obedient {
    udpai_session session;
    udpa_bytes *out[PARTS], *later[LATER_MAX];
    size_t n_out, n_later;
    bool floods, holds, leaves;
} obedient;

static udpa_bytes *
text_bytes(udpai_str text)
{
    udpa_bytes *bytes = NULL;
    if (udpa_bytes_new(&bytes, text.data, text.len) != UDPA_OK)
        abort();
    return bytes;
}

/* Part i is (i * i) % 400 characters. */
static udpa_bytes *
make_part(size_t i)
{
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(i * i % 400, &room);
    if (!bytes)
        abort();
    memset(room, 'a' + (int)(i % 26), i * i % 400);
    return bytes;
}

size_t
bed_parts_text(char *room, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < PARTS; i++)
        for (size_t k = 0; k < i * i % 400 && len < size; k++)
            room[len++] = (char)('a' + i % 26);
    for (const char *c = "the tail"; *c && len < size; c++)
        room[len++] = *c;
    return len;
}

static void
drop(obedient *self)
{
    for (size_t i = 0; i < PARTS; i++)
        self->out[i] = udpa_bytes_unref(self->out[i]);
    self->n_out = 0;
}

static void
say(obedient *self, udpai_str text)
{
    if (self->n_out && self->n_later == LATER_MAX)
        abort();
    if (self->n_out) {
        self->later[self->n_later++] = text_bytes(text);
        return;
    }
    drop(self);
    self->out[0] = text_bytes(text);
    self->n_out = 1;
    udpai_session_ready(&self->session);
}

/* What was said before the last one was written. */
static void
say_later(obedient *self)
{
    udpa_bytes *text = self->later[0];
    if (!self->n_later)
        return;
    memmove(self->later, self->later + 1, --self->n_later * sizeof(*self->later));
    say(self, udpai_bytes_view(text));
    udpa_bytes_unref(text);
}

static void
report(obedient *self, udpai_report_kind kind)
{
    udpai_report *made = udpai_report_new(kind);
    if (!made)
        abort();
    made->session = self->session.id;
    made->link = self->session.info.link;
    made->identity = udpai_identity_ref(self->session.info.identity);
    made->address = udpa_bytes_ref(self->session.info.address);
    made->error = udpa_error_ref((udpa_error *)(uintptr_t)self->session.why);
    udpai_hub_report(self->session.hub, made);
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    obedient *self = UDPAI_CONTAINER_OF(session, obedient, session);
    atomic_fetch_add(&bed_n_received, 1);
    report(self, UDPAI_REPORT_ALIVE);
    session->is_calm = udpai_str_starts(message, UDPAI_STR("calm"));
    if (session->info.link) {
        return UDPA_OK;
    } else if (udpai_str_starts(message, UDPAI_STR("echo"))) {
        say(self, message);
    } else if (udpai_str_eq(message, UDPAI_STR("hold"))) {
        self->holds = true;
    } else if (udpai_str_eq(message, UDPAI_STR("parts")) ||
               udpai_str_eq(message, UDPAI_STR("parts, then bye"))) {
        self->holds = self->leaves = message.len > 5;
        drop(self);
        for (self->n_out = 0; self->n_out < PARTS; self->n_out++)
            self->out[self->n_out] = make_part(self->n_out);
        udpai_session_ready(session);
    } else if (udpai_str_eq(message, UDPAI_STR("finish"))) {
        return udpai_fail(ret_error, UDPA_ERR_DENIED, "as you wish");
    } else if (udpai_str_eq(message, UDPAI_STR("bye"))) {
        udpai_session_finish(session, NULL);
    } else if (udpai_str_eq(message, UDPAI_STR("pause"))) {
        udpai_session_pause(session, true);
    } else if (udpai_str_eq(message, UDPAI_STR("flood"))) {
        self->floods = true;
        udpai_session_ready(session);
    }
    return UDPA_OK;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    (void)ret_error;
    obedient *self = UDPAI_CONTAINER_OF(session, obedient, session);
    if (self->floods) {
        uint8_t *room;
        drop(self);
        self->out[0] = udpai_bytes_make(65536, &room);
        if (!self->out[0])
            abort();
        memset(room, 'f', 65536);
        self->n_out = 1;
    }
    if (self->n_out == 0) {
        if (self->leaves)
            udpai_session_finish(session, NULL);
        say_later(self);
    }
    if (self->n_out == 0) {
        return UDPA_OK;
    }
    atomic_fetch_add(&bed_n_written, 1);
    out->parts = self->out;
    out->n_parts = self->n_out;
    out->is_answered = true;
    if (self->n_out == PARTS) {
        memcpy(out->tail, "the tail", 8);
        out->tail_len = 8;
    }
    self->n_out = 0;
    *ret_any = true;
    return UDPA_OK;
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    (void)ret_error;
    if (!UDPAI_CONTAINER_OF(session, obedient, session)->holds)
        udpai_session_finish(session, NULL);
    return UDPA_OK;
}

static void
order(udpai_session *session, udpai_order *given)
{
    if (given->kind == UDPAI_ORDER_PUBLICATION_DONE)
        udpai_session_pause(session, false);
    else if (given->kind == UDPAI_ORDER_FORGET)
        (void)nanosleep(&(struct timespec){.tv_sec = BED_BLOCK_S}, NULL);
    else if (given->kind == UDPAI_ORDER_SUBSCRIBE)
        say(UDPAI_CONTAINER_OF(session, obedient, session), UDPAI_STR("pushed"));
}

static udpa_bytes *
describe(const udpai_session *session)
{
    (void)session;
    return text_bytes(UDPAI_STR("obedient"));
}

static void
free_obedient(udpai_session *session)
{
    obedient *self = UDPAI_CONTAINER_OF(session, obedient, session);
    report(self, UDPAI_REPORT_CLOSED);
    drop(self);
    for (size_t i = 0; i < self->n_later; i++)
        udpa_bytes_unref(self->later[i]);
    udpai_free(self);
}

static const udpai_session_ops ops = {
    .name = "obedient",
    .receive = receive,
    .next = next,
    .ended = ended,
    .order = order,
    .describe = describe,
    .free = free_obedient,
};

static udpa_err
open_obedient(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    obedient *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    udpa_err err = udpai_session_init(&self->session, hub, &ops, info);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    report(self, UDPAI_REPORT_OPENED);
    *ret_session = &self->session;
    if (info->link)
        say(self, UDPAI_STR("echo hello"));
    return UDPA_OK;
}

const udpai_grpc_method bed_method = {BED_PATH, open_obedient, NULL, true};

/* ---- the bed ---- */

static void
on_report(void *userdata, udpai_report *got)
{
    test_bed *self = userdata;
    pthread_mutex_lock(&self->mutex);
    udpai_list_append(&self->reports, &got->node);
    pthread_cond_broadcast(&self->cond);
    pthread_mutex_unlock(&self->mutex);
}

static void
on_stopped(void *userdata)
{
    test_bed *self = userdata;
    pthread_mutex_lock(&self->mutex);
    self->n_stopped++;
    pthread_cond_broadcast(&self->cond);
    pthread_mutex_unlock(&self->mutex);
}

void
bed_count(void *userdata)
{
    test_bed *self = userdata;
    pthread_mutex_lock(&self->mutex);
    self->n_closed++;
    pthread_cond_broadcast(&self->cond);
    pthread_mutex_unlock(&self->mutex);
}

bool
bed_is_own(void)
{
    return getenv("UDPA_TEST_OWN_LISTENER") != NULL;
}

void
bed_start(test_bed *self, const udpai_stream_thread_options *given)
{
    memset(self, 0, sizeof(*self));
    pthread_mutex_init(&self->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&self->cond, &attributes);
    pthread_condattr_destroy(&attributes);
    udpai_list_init(&self->reports);
    const udpai_node_parts parts = {.id = UDPAI_STR("bed")};
    assert_ok(udpai_node_info_new(&self->info, &parts));
    udpai_stream_thread_options options = {0};
    if (given)
        options = *given;
    options.hub = (udpai_hub_options){
        .fanout = {.cycle_timeout_ms = 20000,
                   .view_linger_ms = 1000,
                   .tombstones_min = 8,
                   .max_views = 1000,
                   .max_views_per_owner = 1000,
                   .max_names = 1000,
                   .max_held = 10000,
                   .max_held_bytes = 1 << 20,
                   .body_cache_bytes = 1 << 20,
                   .response_bytes = 65536},
        .info = self->info,
        .max_pending = 4,
        .max_pending_bytes = 1 << 20,
    };
    if (!options.methods) {
        options.methods = &bed_method;
        options.n_methods = 1;
    }
    if (bed_is_own())
        options.acceptance = &udpai_front_acceptance;
    options.report = on_report;
    options.stopped = on_stopped;
    options.userdata = self;
    assert_ok(udpai_stream_thread_new(&self->thread, &options, NULL));
}

void
bed_listen(test_bed *self, udpai_server_tls *tls)
{
    bed_listen_with(self, &(udpai_listen_options){.tls = tls});
}

void
bed_listen_with(test_bed *self, const udpai_listen_options *given)
{
    udpa_error *error = NULL;
    udpai_listen_options options = *given;
    options.address = "127.0.0.1:0";
    if (udpai_stream_thread_listen(self->thread, &options, &self->listener, &error))
        fail_msg("%s", udpa_error_message(error));
    self->port = udpai_listener_port(self->listener);
    assert_true(self->port > 0);
}

void
bed_stop(test_bed *self)
{
    self->thread = udpai_stream_thread_free(self->thread);
    assert_int_equal(self->n_stopped, 1);
    udpai_list *at;
    while ((at = udpai_list_pop(&self->reports)))
        udpai_report_free(UDPAI_LIST_ENTRY(at, udpai_report, node));
    udpai_node_info_unref(self->info);
    pthread_cond_destroy(&self->cond);
    pthread_mutex_destroy(&self->mutex);
}

static struct timespec
patience(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += BED_PATIENCE_S;
    return until;
}

udpai_report *
bed_report(test_bed *self, udpai_report_kind kind)
{
    struct timespec until = patience();
    udpai_report *found = NULL;
    int result = 0;
    pthread_mutex_lock(&self->mutex);
    while (!found && result == 0) {
        udpai_list *at = udpai_list_pop(&self->reports);
        udpai_report *got = at ? UDPAI_LIST_ENTRY(at, udpai_report, node) : NULL;
        if (!got)
            result = pthread_cond_timedwait(&self->cond, &self->mutex, &until);
        else if (got->kind == kind)
            found = got;
        else
            udpai_report_free(got);
    }
    pthread_mutex_unlock(&self->mutex);
    if (!found)
        fail_msg("no report of kind %d within %d s", (int)kind, BED_PATIENCE_S);
    return found;
}

void
bed_wait_count(test_bed *self, const unsigned *counter, unsigned n)
{
    struct timespec until = patience();
    int result = 0;
    pthread_mutex_lock(&self->mutex);
    while (*counter < n && result == 0)
        result = pthread_cond_timedwait(&self->cond, &self->mutex, &until);
    unsigned reached = *counter;
    pthread_mutex_unlock(&self->mutex);
    assert_int_equal(reached, n);
}

/* The thread does not say when it changes, so its own answer to an order is waited for in between.
 */
void
bed_wait_streams(test_bed *self, size_t n_streams, size_t n_tags_most)
{
    struct timespec until = patience(), now;
    udpai_stream_thread_stats stats;
    do {
        udpai_order *ask = udpai_order_new(UDPAI_ORDER_STATUS);
        udpai_stream_thread_order(self->thread, ask);
        udpai_report_free(bed_report(self, UDPAI_REPORT_STATUS));
        udpai_stream_thread_stats_get(self->thread, &stats);
        if (stats.n_streams == n_streams && stats.n_tags <= n_tags_most)
            return;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < until.tv_sec);
    fail_msg("%zu streams and %zu tags instead of %zu and %zu", stats.n_streams, stats.n_tags,
             n_streams, n_tags_most);
}

void
bed_dial(test_bed *self, uint64_t link, const udpai_grpc_target_options *given)
{
    udpai_grpc_target_options options = *given;
    if (!options.method.path)
        options.method = bed_method;
    udpai_grpc_target *target;
    udpa_error *error = NULL;
    if (udpai_grpc_target_new(&target, &options, &error))
        fail_msg("%s", udpa_error_message(error));
    udpai_order *dial = udpai_order_new(UDPAI_ORDER_DIAL);
    assert_non_null(dial);
    dial->link = link;
    dial->is_source = true;
    dial->target = target;
    dial->release_target = udpai_grpc_target_drop;
    udpai_stream_thread_order(self->thread, dial);
}

void
bed_hang_up(test_bed *self, uint64_t session, uint64_t link)
{
    udpai_order *hang_up = udpai_order_new(UDPAI_ORDER_HANG_UP);
    assert_non_null(hang_up);
    hang_up->session = session;
    hang_up->link = link;
    udpai_stream_thread_order(self->thread, hang_up);
}

const char *
bed_address(const test_bed *self)
{
    static char address[32];
    snprintf(address, sizeof(address), "127.0.0.1:%d", self->port);
    return address;
}
