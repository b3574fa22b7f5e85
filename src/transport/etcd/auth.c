/* SPDX-License-Identifier: Apache-2.0 */
/* The token that etcd gives for a user and a password. It is asked for with the first request, and
 * anew when etcd does not know it any more: after five minutes without use, or a restart. */
#include "transport/etcd/client_internal.h"

/* etcd compares a bcrypt hash, which takes it a tenth of a second. */
#define AUTHENTICATE_TIMEOUT_MS 3000
#define TOKEN_MAX 8192

/* Those that come meanwhile wait for the next token. */
static void
let_go(udpai_etcd_client *client, udpai_etcd_outcome outcome, const udpa_error *error)
{
    udpai_list waiting, *at;
    udpai_list_init(&waiting);
    udpai_list_splice(&waiting, &client->auth.waiting);
    while ((at = udpai_list_pop(&waiting))) {
        udpai_etcd_waiter *waiter = UDPAI_LIST_ENTRY(at, udpai_etcd_waiter, node);
        waiter->go_on(waiter, outcome, error);
    }
}

/* It becomes a header. */
static bool
is_token(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    return text.len > 0 && text.len <= TOKEN_MAX;
}

static udpa_err
read_token(udpai_etcd_client *client, grpc_byte_buffer *response)
{
    grpc_slice owned;
    udpai_str token, message = udpai_slices_join(response, &owned);
    udpa_err err = udpai_etcd_decode_authenticate(&client->arena, message, &token);
    if (err == UDPA_OK && !is_token(token))
        err = UDPA_ERR_MALFORMED;
    if (err == UDPA_OK) {
        client->auth.token = udpai_bytes_cstring(token);
        err = client->auth.token ? UDPA_OK : UDPA_ERR_NOMEM;
    }
    udpai_arena_reset(&client->arena);
    grpc_slice_unref(owned);
    return err;
}

static void
on_answer(udpai_etcd_rpc *rpc)
{
    udpai_etcd_client *client = rpc->client;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_etcd_end end = udpai_etcd_rpc_end(rpc, true);
    udpai_etcd_outcome outcome = udpai_etcd_outcome_of(&end, &error);
    client->auth.rpc = NULL;
    if (outcome == UDPAI_ETCD_DONE) {
        udpa_err err = rpc->response ? read_token(client, rpc->response) : UDPA_ERR_MALFORMED;
        if (err != UDPA_OK) {
            outcome = UDPAI_ETCD_NOT_DONE;
            error = udpa_error_new(err, NULL, "etcd at %s: the token it gave cannot be read",
                                   end.address);
        }
    } else if (udpai_etcd_end_blames_member(&end)) {
        udpai_etcd_client_member_failed(client, rpc->member);
    }
    let_go(client, outcome, error);
}

static void
authenticate(udpai_etcd_client *client)
{
    static const udpai_etcd_method method = {
        .path = "/etcdserverpb.Auth/Authenticate",
        .timeout_ms = AUTHENTICATE_TIMEOUT_MS,
        .ended = on_answer,
    };
    udpai_etcd_auth *auth = &client->auth;
    pthread_mutex_lock(&client->mutex);
    udpa_bytes *request = udpai_etcd_encode_authenticate(auth->user, auth->password);
    pthread_mutex_unlock(&client->mutex);
    if (request)
        auth->rpc = udpai_etcd_rpc_begin(client, &method, request, NULL);
    udpa_bytes_unref(request);
}

bool
udpai_etcd_auth_wait(udpai_etcd_client *client, udpai_etcd_waiter *waiter)
{
    if (!client->auth.user || client->auth.token)
        return false;
    if (!client->auth.rpc)
        authenticate(client);
    if (!client->auth.rpc) /* without memory it is tried without, and refused */
        return false;
    udpai_list_append(&client->auth.waiting, &waiter->node);
    return true;
}
