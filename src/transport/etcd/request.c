/* SPDX-License-Identifier: Apache-2.0 */
/* What the owner of the client asks: one request, with as many members as it takes. A read is asked
 * of each of them, a write of the next one only if the one before cannot have it. */
#include "transport/etcd/client_internal.h"

typedef struct request_kind {
    const char *path;
    udpai_etcd_decode_fn decode;
    bool is_read; /* it changes nothing, or nothing more if it is done twice */
} request_kind;

static const request_kind RANGE = {"/etcdserverpb.KV/Range", udpai_etcd_decode_range, true};
static const request_kind TXN = {"/etcdserverpb.KV/Txn", udpai_etcd_decode_txn, false};
static const request_kind REPEATABLE_TXN = {"/etcdserverpb.KV/Txn", udpai_etcd_decode_txn, true};
static const request_kind GRANT = {"/etcdserverpb.Lease/LeaseGrant", udpai_etcd_decode_lease_grant,
                                   false};
/* A stream, of which one request and its response are used. */
static const request_kind KEEP_ALIVE = {"/etcdserverpb.Lease/LeaseKeepAlive",
                                        udpai_etcd_decode_lease_keep_alive, true};
static const request_kind REVOKE = {"/etcdserverpb.Lease/LeaseRevoke",
                                    udpai_etcd_decode_lease_revoke, true};
static const request_kind STATUS = {"/etcdserverpb.Maintenance/Status", udpai_etcd_decode_status,
                                    true};

typedef struct etcd_request {
    udpai_etcd_client *client;
    udpai_list node;
    const request_kind *kind;
    udpai_etcd_call *call; /* NULL: cancelled */
    udpa_bytes *bytes;
    udpai_etcd_rpc *rpc; /* NULL: it waits */
    udpai_etcd_waiter waiter;
    udpai_timer begin;   /* set: it is just to be asked */
    uint64_t timeout_ms; /* with each of them; 0: the client's */
    size_t n_asked;      /* members */
    bool has_new_token;  /* that is not valid either */
} etcd_request;

static void ask(etcd_request *request);

/* ---- the end ---- */

static void
free_request(etcd_request *request)
{
    udpai_etcd_client *client = request->client;
    udpai_list_remove(&request->node);
    udpai_list_remove(&request->waiter.node);
    udpai_timer_cancel(&request->begin);
    udpa_bytes_unref(request->bytes);
    udpai_free(request);
    udpai_etcd_client_check_end(client);
}

static void
finish(etcd_request *request, const udpai_etcd_result *result)
{
    udpai_etcd_call *call = request->call;
    free_request(request);
    if (!call)
        return;
    call->engine = NULL;
    call->done(call, result);
}

static void
finish_with(etcd_request *request, udpai_etcd_outcome outcome, const udpa_error *error)
{
    const udpai_etcd_result result = {.outcome = outcome, .error = error};
    finish(request, &result);
}

/* What was answered counts, if it can be read; it was done in any case. */
static void
finish_done(etcd_request *request, const udpai_etcd_rpc *rpc)
{
    udpai_etcd_client *client = request->client;
    udpai_etcd_result result = {.outcome = UDPAI_ETCD_DONE};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    grpc_slice owned = grpc_empty_slice();
    udpa_err err = UDPA_ERR_MALFORMED;
    if (rpc->response)
        err = request->kind->decode(&client->arena, udpai_slices_join(rpc->response, &owned),
                                    &result);
    if (err != UDPA_OK) {
        error = udpa_error_new(err, NULL, "etcd at %s: what it has answered cannot be read",
                               udpai_etcd_client_address(client, rpc->member));
        result = (udpai_etcd_result){
            .outcome = request->kind->is_read ? UDPAI_ETCD_NOT_DONE : UDPAI_ETCD_UNKNOWN,
            .error = error,
        };
    }
    finish(request, &result);
    udpai_arena_reset(&client->arena);
    grpc_slice_unref(owned);
}

/* ---- the next member ---- */

static void
blame(const etcd_request *request, const udpai_etcd_end *end, size_t member)
{
    if (request->timeout_ms && end->code == GRPC_STATUS_DEADLINE_EXCEEDED)
        udpai_etcd_client_pass_over(request->client, member);
    else
        udpai_etcd_client_member_failed(request->client, member);
}

/* True: it is asked again, with another token. */
static bool
renews_token(etcd_request *request, const udpai_etcd_end *end)
{
    if (!udpai_etcd_end_lacks_token(end) || request->has_new_token || !request->client->auth.user)
        return false;
    request->has_new_token = true;
    udpai_etcd_auth_drop(request->client);
    ask(request);
    return true;
}

static void
on_ended(udpai_etcd_rpc *rpc)
{
    etcd_request *request = rpc->context;
    udpai_etcd_client *client = request->client;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_etcd_end end = udpai_etcd_rpc_end(rpc, request->kind->is_read);
    udpai_etcd_outcome outcome = udpai_etcd_outcome_of(&end, &error);
    request->rpc = NULL;
    if (outcome == UDPAI_ETCD_DONE) {
        finish_done(request, rpc);
        return;
    }
    bool blames_member = udpai_etcd_end_blames_member(&end) && request->call;
    if (blames_member && !client->is_stopping)
        blame(request, &end, rpc->member);
    bool may_go_on = request->call && !client->is_stopping && outcome == UDPAI_ETCD_NOT_DONE;
    if (may_go_on && renews_token(request, &end))
        return;
    if (may_go_on && blames_member && ++request->n_asked < client->n_members) {
        ask(request);
        return;
    }
    const udpai_etcd_result result = {
        .outcome = outcome,
        .error = error,
        .is_compacted = udpai_etcd_end_is_compacted(&end),
        .is_future = udpai_etcd_end_is_future(&end),
    };
    finish(request, &result);
}

static void
on_token(udpai_etcd_waiter *waiter, udpai_etcd_outcome outcome, const udpa_error *error)
{
    etcd_request *request = UDPAI_CONTAINER_OF(waiter, etcd_request, waiter);
    bool may_go_on = request->call && !request->client->is_stopping;
    if (outcome == UDPAI_ETCD_DONE && may_go_on)
        ask(request);
    else if (outcome == UDPAI_ETCD_NOT_DONE && may_go_on &&
             ++request->n_asked < request->client->n_members)
        ask(request);
    else
        finish_with(request, outcome == UDPAI_ETCD_DONE ? UDPAI_ETCD_NOT_DONE : outcome, error);
}

static void
ask(etcd_request *request)
{
    udpai_etcd_client *client = request->client;
    if (udpai_etcd_auth_wait(client, &request->waiter))
        return;
    uint64_t timeout_ms =
        request->kind->is_read ? client->read_timeout_ms : client->write_timeout_ms;
    const udpai_etcd_method method = {
        .path = request->kind->path,
        .timeout_ms = request->timeout_ms ? request->timeout_ms : timeout_ms,
        .ended = on_ended,
    };
    request->rpc = udpai_etcd_rpc_begin(client, &method, request->bytes, request);
    if (!request->rpc) {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error = udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory");
        finish_with(request, UDPAI_ETCD_NOT_DONE, error);
    }
}

/* ---- the beginning ---- */

static void
on_begin(udpai_timer *timer)
{
    ask(UDPAI_CONTAINER_OF(timer, etcd_request, begin));
}

/* Consumes the bytes. It is begun a little later, so that nothing is called back from here. */
static udpa_err
begin(udpai_etcd *etcd, udpai_etcd_call *call, const request_kind *kind, udpa_bytes *bytes)
{
    udpai_etcd_client *client = UDPAI_CONTAINER_OF(etcd, udpai_etcd_client, etcd);
    etcd_request *request = bytes && !client->is_stopping ? udpai_alloc(sizeof(*request)) : NULL;
    if (!request) {
        udpa_bytes_unref(bytes);
        return client->is_stopping ? UDPA_ERR_CLOSED : UDPA_ERR_NOMEM;
    }
    request->client = client;
    request->kind = kind;
    request->call = call;
    request->bytes = bytes;
    request->timeout_ms = call->timeout_ms;
    request->waiter.go_on = on_token;
    udpai_list_init(&request->waiter.node);
    udpai_timer_init(&request->begin, on_begin);
    udpai_timer_set(&client->wheel, &request->begin, client->wheel.now_ms);
    udpai_list_append(&client->requests, &request->node);
    call->engine = request;
    return UDPA_OK;
}

udpa_err
udpai_etcd_client_range(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_range *what)
{
    return begin(etcd, call, &RANGE, udpai_etcd_encode_range(what));
}

udpa_err
udpai_etcd_client_txn(udpai_etcd *etcd, udpai_etcd_call *call, const udpai_etcd_txn *what)
{
    return begin(etcd, call, call->is_repeatable ? &REPEATABLE_TXN : &TXN,
                 udpai_etcd_encode_txn(what));
}

udpa_err
udpai_etcd_client_lease_grant(udpai_etcd *etcd, udpai_etcd_call *call, int64_t ttl_s)
{
    return begin(etcd, call, &GRANT, udpai_etcd_encode_lease_grant(ttl_s));
}

udpa_err
udpai_etcd_client_lease_keep_alive(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease)
{
    return begin(etcd, call, &KEEP_ALIVE, udpai_etcd_encode_lease_keep_alive(lease));
}

udpa_err
udpai_etcd_client_lease_revoke(udpai_etcd *etcd, udpai_etcd_call *call, int64_t lease)
{
    return begin(etcd, call, &REVOKE, udpai_etcd_encode_lease_keep_alive(lease));
}

udpa_err
udpai_etcd_client_status(udpai_etcd *etcd, udpai_etcd_call *call)
{
    return begin(etcd, call, &STATUS, udpai_etcd_encode_status());
}

/* ---- cancelling ---- */

static void
cancel_request(etcd_request *request)
{
    if (request->call)
        request->call->engine = NULL;
    request->call = NULL;
    if (request->rpc)
        udpai_etcd_rpc_cancel(request->rpc);
    else
        free_request(request);
}

void
udpai_etcd_client_cancel(udpai_etcd *etcd, udpai_etcd_call *call)
{
    (void)etcd;
    if (call->engine)
        cancel_request(call->engine);
}

void
udpai_etcd_requests_stop(udpai_etcd_client *client)
{
    UDPAI_LIST_FOREACH_SAFE (at, &client->requests)
        cancel_request(UDPAI_LIST_ENTRY(at, etcd_request, node));
    if (client->auth.rpc)
        udpai_etcd_rpc_cancel(client->auth.rpc);
}
