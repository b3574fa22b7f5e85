/* SPDX-License-Identifier: Apache-2.0 */
#include "etcd/messages.h"

#include "etcdserverpb/rpc.pb-c.h"

typedef Etcdserverpb__Compare compare_message;
typedef Etcdserverpb__DeleteRangeRequest delete_message;
typedef Etcdserverpb__PutRequest put_message;
typedef Etcdserverpb__RangeRequest range_message;
typedef Etcdserverpb__RequestOp op_message;
typedef Etcdserverpb__TxnRequest txn_message;

/* ---- requests ---- */

static ProtobufCBinaryData
binary_of(udpai_str text)
{
    return (ProtobufCBinaryData){text.len, (uint8_t *)(uintptr_t)text.data};
}

static udpa_bytes *
encode(const ProtobufCMessage *message)
{
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(protobuf_c_message_get_packed_size(message), &room);
    if (bytes)
        protobuf_c_message_pack(message, room);
    return bytes;
}

udpa_bytes *
udpai_etcd_encode_range(const udpai_etcd_range *range)
{
    range_message message = ETCDSERVERPB__RANGE_REQUEST__INIT;
    message.key = binary_of(range->key);
    message.range_end = binary_of(range->end);
    message.limit = range->limit;
    message.revision = range->revision;
    message.serializable = range->is_serializable;
    message.keys_only = range->keys_only;
    return encode(&message.base);
}

static bool
fill_put(udpai_arena *arena, const udpai_etcd_op *op, op_message *message)
{
    put_message *put = udpai_arena_alloc(arena, sizeof(*put));
    if (!put)
        return false;
    etcdserverpb__put_request__init(put);
    put->key = binary_of(op->key);
    put->value = binary_of(op->value);
    put->lease = op->lease;
    message->request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_PUT;
    message->request_put = put;
    return true;
}

static bool
fill_delete(udpai_arena *arena, const udpai_etcd_op *op, op_message *message)
{
    delete_message *removal = udpai_arena_alloc(arena, sizeof(*removal));
    if (!removal)
        return false;
    etcdserverpb__delete_range_request__init(removal);
    removal->key = binary_of(op->key);
    removal->range_end = binary_of(op->end);
    message->request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_DELETE_RANGE;
    message->request_delete_range = removal;
    return true;
}

static bool
fill_range(udpai_arena *arena, const udpai_etcd_op *op, op_message *message)
{
    range_message *range = udpai_arena_alloc(arena, sizeof(*range));
    if (!range)
        return false;
    etcdserverpb__range_request__init(range);
    range->key = binary_of(op->key);
    range->range_end = binary_of(op->end);
    range->keys_only = op->keys_only;
    message->request_case = ETCDSERVERPB__REQUEST_OP__REQUEST_REQUEST_RANGE;
    message->request_range = range;
    return true;
}

static op_message *
make_op(udpai_arena *arena, const udpai_etcd_op *op)
{
    static bool (*const fill[])(udpai_arena *, const udpai_etcd_op *, op_message *) = {
        [UDPAI_ETCD_OP_PUT] = fill_put,
        [UDPAI_ETCD_OP_DELETE] = fill_delete,
        [UDPAI_ETCD_OP_RANGE] = fill_range,
    };
    op_message *message = udpai_arena_alloc(arena, sizeof(*message));
    if (!message)
        return NULL;
    etcdserverpb__request_op__init(message);
    return fill[op->kind](arena, op, message) ? message : NULL;
}

/* False without memory. */
static bool
make_ops(udpai_arena *arena, const udpai_etcd_op *ops, size_t n, op_message ***ret_messages)
{
    op_message **messages = udpai_arena_alloc(arena, n * sizeof(*messages));
    bool is_complete = messages != NULL;
    for (size_t i = 0; i < n && is_complete; i++)
        is_complete = (messages[i] = make_op(arena, &ops[i])) != NULL;
    *ret_messages = messages;
    return is_complete;
}

static bool
make_compares(udpai_arena *arena, const udpai_etcd_txn *txn, compare_message ***ret_messages)
{
    size_t n = txn->n_compares;
    compare_message **messages = udpai_arena_alloc(arena, n * sizeof(*messages));
    compare_message *all = udpai_arena_alloc(arena, n * sizeof(*all));
    if (!messages || !all)
        return false;
    for (size_t i = 0; i < n; i++) {
        const udpai_etcd_compare *compare = &txn->compares[i];
        bool is_mod = compare->kind == UDPAI_ETCD_COMPARE_MOD_REVISION;
        etcdserverpb__compare__init(&all[i]);
        all[i].key = binary_of(compare->key);
        all[i].target = is_mod ? ETCDSERVERPB__COMPARE__COMPARE_TARGET__MOD
                               : ETCDSERVERPB__COMPARE__COMPARE_TARGET__CREATE;
        all[i].target_union_case = is_mod ? ETCDSERVERPB__COMPARE__TARGET_UNION_MOD_REVISION
                                          : ETCDSERVERPB__COMPARE__TARGET_UNION_CREATE_REVISION;
        all[i].mod_revision = compare->revision; /* a union with create_revision */
        messages[i] = &all[i];
    }
    *ret_messages = messages;
    return true;
}

udpa_bytes *
udpai_etcd_encode_txn(const udpai_etcd_txn *txn)
{
    txn_message message = ETCDSERVERPB__TXN_REQUEST__INIT;
    udpai_arena arena;
    udpai_arena_init(&arena);
    message.n_compare = txn->n_compares;
    message.n_success = txn->n_ops;
    message.n_failure = txn->n_else_ops;
    bool is_complete = make_compares(&arena, txn, &message.compare) &&
                       make_ops(&arena, txn->ops, txn->n_ops, &message.success) &&
                       make_ops(&arena, txn->else_ops, txn->n_else_ops, &message.failure);
    udpa_bytes *bytes = is_complete ? encode(&message.base) : NULL;
    udpai_arena_done(&arena);
    return bytes;
}

udpa_bytes *
udpai_etcd_encode_lease_grant(int64_t ttl_s)
{
    Etcdserverpb__LeaseGrantRequest message = ETCDSERVERPB__LEASE_GRANT_REQUEST__INIT;
    message.ttl = ttl_s;
    return encode(&message.base);
}

udpa_bytes *
udpai_etcd_encode_lease_keep_alive(int64_t lease)
{
    Etcdserverpb__LeaseKeepAliveRequest message = ETCDSERVERPB__LEASE_KEEP_ALIVE_REQUEST__INIT;
    message.id = lease;
    return encode(&message.base);
}

udpa_bytes *
udpai_etcd_encode_status(void)
{
    Etcdserverpb__StatusRequest message = ETCDSERVERPB__STATUS_REQUEST__INIT;
    return encode(&message.base);
}

udpa_bytes *
udpai_etcd_encode_authenticate(const char *user, const char *password)
{
    Etcdserverpb__AuthenticateRequest message = ETCDSERVERPB__AUTHENTICATE_REQUEST__INIT;
    message.name = (char *)(uintptr_t)user;
    message.password = (char *)(uintptr_t)password;
    return encode(&message.base);
}

udpa_bytes *
udpai_etcd_encode_watch(udpai_str key, udpai_str end, int64_t revision)
{
    Etcdserverpb__WatchCreateRequest create = ETCDSERVERPB__WATCH_CREATE_REQUEST__INIT;
    create.key = binary_of(key);
    create.range_end = binary_of(end);
    create.start_revision = revision;
    create.progress_notify = true;
    create.fragment = true;
    Etcdserverpb__WatchRequest message = ETCDSERVERPB__WATCH_REQUEST__INIT;
    message.request_union_case = ETCDSERVERPB__WATCH_REQUEST__REQUEST_UNION_CREATE_REQUEST;
    message.create_request = &create;
    return encode(&message.base);
}

udpa_bytes *
udpai_etcd_encode_watch_progress(void)
{
    Etcdserverpb__WatchProgressRequest progress = ETCDSERVERPB__WATCH_PROGRESS_REQUEST__INIT;
    Etcdserverpb__WatchRequest message = ETCDSERVERPB__WATCH_REQUEST__INIT;
    message.request_union_case = ETCDSERVERPB__WATCH_REQUEST__REQUEST_UNION_PROGRESS_REQUEST;
    message.progress_request = &progress;
    return encode(&message.base);
}

/* ---- responses ---- */

static const void *
decode(udpai_arena *arena,
       const ProtobufCMessageDescriptor *type,
       udpai_str message,
       udpa_err *ret_err)
{
    const void *decoded = protobuf_c_message_unpack(type, &arena->allocator, message.len,
                                                    (const uint8_t *)message.data);
    *ret_err = decoded ? UDPA_OK : arena->failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED;
    return decoded;
}

static udpai_str
view_of(ProtobufCBinaryData data)
{
    return (udpai_str){(const char *)data.data, data.len};
}

static udpai_etcd_header
header_of(const Etcdserverpb__ResponseHeader *header)
{
    if (!header)
        return (udpai_etcd_header){0};
    return (udpai_etcd_header){
        .cluster_id = header->cluster_id,
        .member_id = header->member_id,
        .raft_term = header->raft_term,
        .revision = header->revision,
    };
}

static udpai_etcd_kv
kv_of(const Mvccpb__KeyValue *kv)
{
    return (udpai_etcd_kv){
        .key = view_of(kv->key),
        .value = view_of(kv->value),
        .create_revision = kv->create_revision,
        .mod_revision = kv->mod_revision,
        .version = kv->version,
        .lease = kv->lease,
    };
}

static size_t
copy_kvs(udpai_etcd_kv *kvs, const Etcdserverpb__RangeResponse *range)
{
    for (size_t i = 0; i < range->n_kvs; i++)
        kvs[i] = kv_of(range->kvs[i]);
    return range->n_kvs;
}

udpa_err
udpai_etcd_decode_range(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result)
{
    udpa_err err;
    const Etcdserverpb__RangeResponse *range =
        decode(arena, &etcdserverpb__range_response__descriptor, message, &err);
    if (!range)
        return err;
    udpai_etcd_kv *kvs = udpai_arena_alloc(arena, range->n_kvs * sizeof(*kvs));
    if (!kvs)
        return UDPA_ERR_NOMEM;
    ret_result->header = header_of(range->header);
    ret_result->has_more = range->more;
    ret_result->kvs = kvs;
    ret_result->n_kvs = copy_kvs(kvs, range);
    return UDPA_OK;
}

/* NULL: it is of another operation. */
static const Etcdserverpb__RangeResponse *
range_of(const Etcdserverpb__ResponseOp *op)
{
    bool is_range = op->response_case == ETCDSERVERPB__RESPONSE_OP__RESPONSE_RESPONSE_RANGE;
    return is_range ? op->response_range : NULL;
}

udpa_err
udpai_etcd_decode_txn(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result)
{
    udpa_err err;
    const Etcdserverpb__TxnResponse *txn =
        decode(arena, &etcdserverpb__txn_response__descriptor, message, &err);
    if (!txn)
        return err;
    size_t n = 0;
    for (size_t i = 0; i < txn->n_responses; i++)
        n += range_of(txn->responses[i]) ? range_of(txn->responses[i])->n_kvs : 0;
    udpai_etcd_kv *kvs = udpai_arena_alloc(arena, n * sizeof(*kvs));
    if (!kvs)
        return UDPA_ERR_NOMEM;
    ret_result->header = header_of(txn->header);
    ret_result->succeeded = txn->succeeded;
    ret_result->kvs = kvs;
    ret_result->n_kvs = 0;
    for (size_t i = 0; i < txn->n_responses; i++)
        if (range_of(txn->responses[i]))
            ret_result->n_kvs += copy_kvs(kvs + ret_result->n_kvs, range_of(txn->responses[i]));
    return UDPA_OK;
}

udpa_err
udpai_etcd_decode_lease_grant(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result)
{
    udpa_err err;
    const Etcdserverpb__LeaseGrantResponse *grant =
        decode(arena, &etcdserverpb__lease_grant_response__descriptor, message, &err);
    if (!grant)
        return err;
    ret_result->header = header_of(grant->header);
    ret_result->lease = *grant->error ? 0 : grant->id;
    ret_result->ttl_s = grant->ttl;
    return UDPA_OK;
}

udpa_err
udpai_etcd_decode_lease_keep_alive(udpai_arena *arena,
                                   udpai_str message,
                                   udpai_etcd_result *ret_result)
{
    udpa_err err;
    const Etcdserverpb__LeaseKeepAliveResponse *alive =
        decode(arena, &etcdserverpb__lease_keep_alive_response__descriptor, message, &err);
    if (!alive)
        return err;
    ret_result->header = header_of(alive->header);
    ret_result->lease = alive->id;
    ret_result->ttl_s = alive->ttl;
    return UDPA_OK;
}

udpa_err
udpai_etcd_decode_lease_revoke(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result)
{
    udpa_err err;
    const Etcdserverpb__LeaseRevokeResponse *revoked =
        decode(arena, &etcdserverpb__lease_revoke_response__descriptor, message, &err);
    if (revoked)
        ret_result->header = header_of(revoked->header);
    return err;
}

/* etcd lists its alarms among the errors of its status, as the text of its own message. */
static bool
has_alarm(const Etcdserverpb__StatusResponse *status, const char *alarm)
{
    for (size_t i = 0; i < status->n_errors; i++)
        if (strstr(status->errors[i], alarm))
            return true;
    return false;
}

udpa_err
udpai_etcd_decode_status(udpai_arena *arena, udpai_str message, udpai_etcd_result *ret_result)
{
    udpa_err err;
    const Etcdserverpb__StatusResponse *status =
        decode(arena, &etcdserverpb__status_response__descriptor, message, &err);
    if (!status)
        return err;
    ret_result->header = header_of(status->header);
    ret_result->status = (udpai_etcd_status){
        .version = udpai_str_from(status->version),
        .size_bytes = status->dbsize,
        .used_bytes = status->dbsizeinuse,
        .quota_bytes = status->dbsizequota,
        .leader = status->leader,
        .is_learner = status->islearner,
        .has_no_space = has_alarm(status, "NOSPACE"),
        .is_corrupt = has_alarm(status, "CORRUPT"),
    };
    return UDPA_OK;
}

udpa_err
udpai_etcd_decode_authenticate(udpai_arena *arena, udpai_str message, udpai_str *ret_token)
{
    udpa_err err;
    const Etcdserverpb__AuthenticateResponse *response =
        decode(arena, &etcdserverpb__authenticate_response__descriptor, message, &err);
    if (response)
        *ret_token = udpai_str_from(response->token);
    return err;
}

/* What is put or deleted must be named; NULL: it is not, or there is no memory. */
static const udpai_etcd_event *
events_of(udpai_arena *arena, const Etcdserverpb__WatchResponse *response, udpa_err *ret_err)
{
    udpai_etcd_event *events = udpai_arena_alloc(arena, response->n_events * sizeof(*events));
    *ret_err = events ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < response->n_events && *ret_err == UDPA_OK; i++) {
        const Mvccpb__Event *event = response->events[i];
        if (event->kv)
            events[i] = (udpai_etcd_event){
                .is_delete = event->type == MVCCPB__EVENT__EVENT_TYPE__DELETE,
                .kv = kv_of(event->kv),
            };
        else
            *ret_err = UDPA_ERR_MALFORMED;
    }
    return *ret_err == UDPA_OK ? events : NULL;
}

udpa_err
udpai_etcd_decode_watch(udpai_arena *arena, udpai_str message, udpai_etcd_changes *ret_changes)
{
    udpa_err err;
    const Etcdserverpb__WatchResponse *response =
        decode(arena, &etcdserverpb__watch_response__descriptor, message, &err);
    const udpai_etcd_event *events = response ? events_of(arena, response, &err) : NULL;
    if (!events)
        return err;
    *ret_changes = (udpai_etcd_changes){
        .header = header_of(response->header),
        .events = events,
        .n_events = response->n_events,
        .is_created = response->created,
        .is_part = response->fragment,
        .is_cancelled = response->canceled,
        .compact_revision = response->compact_revision,
        .reason = udpai_str_from(response->cancel_reason),
    };
    return UDPA_OK;
}
