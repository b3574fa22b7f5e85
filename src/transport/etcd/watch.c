/* SPDX-License-Identifier: Apache-2.0 */
/* A watch: a stream of its own to one member, until either end closes it. */
#include <grpc/byte_buffer.h>

#include "transport/etcd/client_internal.h"

/* A member that sees no leader says so, and a watch that only some of the members could serve is
 * ended. */
#define HAS_LEADER "hasleader"

typedef struct etcd_watch {
    udpai_etcd_client *client;
    udpai_list node;
    udpai_etcd_watch *watch; /* NULL: nobody is called back any more */
    udpa_bytes *request;
    size_t member;
    udpai_etcd_waiter waiter;
    udpai_timer begin, deadline; /* until it is created */
    grpc_call *call;             /* NULL: not yet */
    udpai_tag headers, write, read, end;
    unsigned n_out;
    grpc_byte_buffer *received;
    grpc_metadata sent_headers[2];
    grpc_metadata_array received_headers, received_trailers;
    grpc_status_code code;
    grpc_slice text;
    bool is_sent, is_created, is_writing, wants_progress;
    bool is_ended; /* by what it has said; `why` and the revision are kept */
    udpa_error *why;
    int64_t compact_revision;
} etcd_watch;

/* ---- the end ---- */

static void
free_watch(etcd_watch *self)
{
    udpai_etcd_client *client = self->client;
    udpai_list_remove(&self->node);
    udpai_list_remove(&self->waiter.node);
    udpai_timer_cancel(&self->begin);
    udpai_timer_cancel(&self->deadline);
    if (self->call)
        grpc_call_unref(self->call);
    grpc_slice_unref(self->sent_headers[0].value);
    grpc_slice_unref(self->sent_headers[1].value);
    grpc_metadata_array_destroy(&self->received_headers);
    grpc_metadata_array_destroy(&self->received_trailers);
    grpc_slice_unref(self->text);
    udpa_bytes_unref(self->request);
    udpa_error_unref(self->why);
    udpai_free(self);
    udpai_etcd_client_check_end(client);
}

static void
finish(etcd_watch *self, int64_t compact_revision, udpa_error *why)
{
    udpai_etcd_watch *watch = self->watch;
    UDPA_AUTO(udpa_error_unref) udpa_error *kept = udpa_error_ref(why);
    free_watch(self);
    if (!watch)
        return;
    watch->engine = NULL;
    watch->ended(watch, compact_revision, kept);
}

/* The stream is over. */
static void
settle(etcd_watch *self)
{
    udpai_etcd_client *client = self->client;
    const udpai_etcd_end end = {
        .address = udpai_etcd_client_address(client, self->member),
        .is_sent = self->is_sent,
        .is_read = true,
        .timeout_ms = client->write_timeout_ms,
        .code = self->code,
        .text = udpai_slice_view(&self->text),
    };
    if (!self->is_ended) {
        (void)udpai_etcd_outcome_of(&end, &self->why);
        if (!self->why)
            self->why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "etcd at %s has ended the watch",
                                       end.address);
        if (udpai_etcd_end_lacks_token(&end))
            udpai_etcd_auth_drop(client);
    }
    if (!client->is_stopping && !self->compact_revision && self->watch)
        udpai_etcd_client_member_failed(client, self->member);
    finish(self, self->compact_revision, self->why);
}

static void
tag_done(etcd_watch *self)
{
    udpai_etcd_client_tag_done(self->client);
    if (--self->n_out == 0)
        settle(self);
}

static void
batch(etcd_watch *self, const grpc_op *ops, size_t n_ops, udpai_tag *tag)
{
    self->n_out += udpai_etcd_client_batch(self->client, self->call, ops, n_ops, tag);
}

/* With a reason of ours; the first one stays. Consumes it. */
static void
end_with(etcd_watch *self, udpa_error *why)
{
    if (self->is_ended) {
        udpa_error_unref(why);
        return;
    }
    self->is_ended = true;
    self->why = why;
    if (self->call)
        grpc_call_cancel(self->call, NULL);
}

/* ---- writing ---- */

static void
write_message(etcd_watch *self, udpa_bytes *message)
{
    grpc_byte_buffer *buffer = udpai_etcd_message(message);
    const grpc_op op = {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = buffer};
    self->is_writing = true;
    batch(self, &op, 1, &self->write);
    grpc_byte_buffer_destroy(buffer);
}

static void
write_progress(etcd_watch *self)
{
    udpa_bytes *message = udpai_etcd_encode_watch_progress();
    if (message) /* else it is asked for again */
        write_message(self, message);
    udpa_bytes_unref(message);
}

static void
on_write(udpai_tag *tag, bool ok)
{
    etcd_watch *self = UDPAI_CONTAINER_OF(tag, etcd_watch, write);
    self->is_writing = false;
    if (ok && self->wants_progress && !self->is_ended) {
        self->wants_progress = false;
        write_progress(self);
    }
    tag_done(self);
}

/* ---- reading ---- */

static void
read_more(etcd_watch *self)
{
    const grpc_op op = {.op = GRPC_OP_RECV_MESSAGE,
                        .data.recv_message.recv_message = &self->received};
    batch(self, &op, 1, &self->read);
}

/* Some versions say of a token that has ended what they say of a right that there is not. */
static bool
may_mean_token(udpai_str reason)
{
    static const char *const words[] = {"permission denied", "auth token", "auth store"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(words); i++)
        if (memmem(reason.data, reason.len, words[i], strlen(words[i])))
            return true;
    return false;
}

static void
note_cancelled(etcd_watch *self, const udpai_etcd_changes *changes)
{
    udpai_str reason = changes->reason.len ? changes->reason : UDPAI_STR("no reason given");
    if (may_mean_token(reason))
        udpai_etcd_auth_drop(self->client);
    self->compact_revision = changes->compact_revision;
    end_with(self, udpa_error_new(
                       UDPA_ERR_UNAVAILABLE, NULL, "etcd at %s has cancelled the watch: %.*s",
                       udpai_etcd_client_address(self->client, self->member), UDPAI_SHOWN(reason)));
}

static void
take_changes(etcd_watch *self, const udpai_etcd_changes *changes)
{
    if (changes->is_cancelled) {
        note_cancelled(self, changes);
    } else if (changes->is_created == self->is_created) {
        end_with(self, udpa_error_new(UDPA_ERR_MALFORMED, NULL,
                                      "etcd at %s has not begun the watch, or has begun it twice",
                                      udpai_etcd_client_address(self->client, self->member)));
    } else if (changes->is_created) {
        self->is_created = true;
        udpai_timer_cancel(&self->deadline);
        self->watch->created(self->watch, &changes->header);
    } else {
        self->watch->changed(self->watch, &changes->header, changes->events, changes->n_events,
                             changes->is_part);
    }
}

static void
take_message(etcd_watch *self)
{
    grpc_slice owned;
    udpai_etcd_changes changes;
    udpai_str message = udpai_slices_join(self->received, &owned);
    udpa_err err = udpai_etcd_decode_watch(&self->client->arena, message, &changes);
    if (err == UDPA_OK)
        take_changes(self, &changes);
    else
        end_with(self, udpa_error_new(err, NULL, "etcd at %s: a change that it sent cannot be read",
                                      udpai_etcd_client_address(self->client, self->member)));
    udpai_arena_reset(&self->client->arena);
    grpc_slice_unref(owned);
}

static void
on_read(udpai_tag *tag, bool ok)
{
    etcd_watch *self = UDPAI_CONTAINER_OF(tag, etcd_watch, read);
    bool has_message = ok && self->received;
    if (has_message && self->watch && !self->is_ended)
        take_message(self);
    if (self->received)
        grpc_byte_buffer_destroy(self->received);
    self->received = NULL;
    if (has_message && !self->is_ended)
        read_more(self);
    tag_done(self);
}

/* ---- the beginning ---- */

static void
on_headers(udpai_tag *tag, bool ok)
{
    etcd_watch *self = UDPAI_CONTAINER_OF(tag, etcd_watch, headers);
    if (ok && !self->is_ended) {
        self->is_sent = true;
        write_message(self, self->request);
        read_more(self);
    }
    tag_done(self);
}

static void
on_end(udpai_tag *tag, bool ok)
{
    (void)ok;
    tag_done(UDPAI_CONTAINER_OF(tag, etcd_watch, end));
}

static void
on_deadline(udpai_timer *timer)
{
    etcd_watch *self = UDPAI_CONTAINER_OF(timer, etcd_watch, deadline);
    end_with(self, udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                                  "etcd at %s has not begun the watch within %llu ms",
                                  udpai_etcd_client_address(self->client, self->member),
                                  (unsigned long long)self->client->write_timeout_ms));
}

static void
begin_batches(etcd_watch *self)
{
    self->sent_headers[1] = (grpc_metadata){
        .key = grpc_slice_from_static_string(HAS_LEADER),
        .value = grpc_slice_from_static_string("true"),
    };
    size_t n_headers = udpai_etcd_auth_headers(self->client, self->sent_headers);
    const grpc_op sending = {
        .op = GRPC_OP_SEND_INITIAL_METADATA,
        .data.send_initial_metadata = {.metadata = &self->sent_headers[1 - n_headers],
                                       .count = n_headers + 1},
    };
    const grpc_op ending[] = {
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &self->received_headers},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &self->received_trailers,
                                        .status = &self->code,
                                        .status_details = &self->text}},
    };
    batch(self, &sending, 1, &self->headers);
    batch(self, ending, UDPAI_ARRAY_LEN(ending), &self->end);
}

static void
open_stream(etcd_watch *self)
{
    udpai_etcd_client *client = self->client;
    self->member = client->current;
    self->call = grpc_channel_create_call(
        udpai_etcd_client_channel(client, self->member), NULL, GRPC_PROPAGATE_DEFAULTS, client->cq,
        grpc_slice_from_static_string("/etcdserverpb.Watch/Watch"), NULL,
        gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    udpai_timer_set(&client->wheel, &self->deadline,
                    client->wheel.now_ms + client->write_timeout_ms);
    begin_batches(self);
}

static void
on_token(udpai_etcd_waiter *waiter, udpai_etcd_outcome outcome, const udpa_error *error)
{
    etcd_watch *self = UDPAI_CONTAINER_OF(waiter, etcd_watch, waiter);
    if (outcome == UDPAI_ETCD_DONE && self->watch)
        open_stream(self);
    else
        finish(self, 0, (udpa_error *)(uintptr_t)error);
}

static void
on_begin(udpai_timer *timer)
{
    etcd_watch *self = UDPAI_CONTAINER_OF(timer, etcd_watch, begin);
    if (!udpai_etcd_auth_wait(self->client, &self->waiter))
        open_stream(self);
}

udpa_err
udpai_etcd_client_watch(
    udpai_etcd *etcd, udpai_etcd_watch *watch, udpai_str key, udpai_str end, int64_t revision)
{
    udpai_etcd_client *client = UDPAI_CONTAINER_OF(etcd, udpai_etcd_client, etcd);
    if (client->is_stopping)
        return UDPA_ERR_CLOSED;
    etcd_watch *self = udpai_alloc(sizeof(*self));
    udpa_bytes *request = self ? udpai_etcd_encode_watch(key, end, revision) : NULL;
    if (!request) {
        udpai_free(self);
        return UDPA_ERR_NOMEM;
    }
    self->client = client;
    self->watch = watch;
    self->request = request;
    self->headers.done = on_headers;
    self->write.done = on_write;
    self->read.done = on_read;
    self->end.done = on_end;
    self->waiter.go_on = on_token;
    self->text = self->sent_headers[0].value = self->sent_headers[1].value = grpc_empty_slice();
    grpc_metadata_array_init(&self->received_headers);
    grpc_metadata_array_init(&self->received_trailers);
    udpai_list_init(&self->waiter.node);
    udpai_timer_init(&self->deadline, on_deadline);
    udpai_timer_init(&self->begin, on_begin);
    udpai_timer_set(&client->wheel, &self->begin, client->wheel.now_ms);
    udpai_list_append(&client->watches, &self->node);
    watch->engine = self;
    return UDPA_OK;
}

void
udpai_etcd_client_ask_progress(udpai_etcd *etcd, udpai_etcd_watch *watch)
{
    (void)etcd;
    etcd_watch *self = watch->engine;
    if (!self || !self->is_sent || self->is_ended)
        return;
    if (self->is_writing)
        self->wants_progress = true;
    else
        write_progress(self);
}

/* ---- ending it ---- */

static void
drop(etcd_watch *self)
{
    if (self->watch)
        self->watch->engine = NULL;
    self->watch = NULL;
    if (self->call)
        end_with(self, NULL);
    else
        free_watch(self);
}

void
udpai_etcd_client_unwatch(udpai_etcd *etcd, udpai_etcd_watch *watch)
{
    (void)etcd;
    etcd_watch *self = watch->engine;
    if (!self)
        return;
    if (self->is_sent) /* it was of no use */
        udpai_etcd_client_member_failed(self->client, self->member);
    drop(self);
}

void
udpai_etcd_watches_stop(udpai_etcd_client *client)
{
    UDPAI_LIST_FOREACH_SAFE (at, &client->watches)
        drop(UDPAI_LIST_ENTRY(at, etcd_watch, node));
}
