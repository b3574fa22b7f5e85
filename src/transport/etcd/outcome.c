/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a call means: was it done, can it be, who is to blame. etcd has a status code of
 * gRPC for each of its errors, and says in words which it is. */
#include "transport/etcd/client_internal.h"

#define TEXT_MAX 500

static bool
says(const udpai_etcd_end *end, const char *words)
{
    return end->text.len && memmem(end->text.data, end->text.len, words, strlen(words));
}

bool
udpai_etcd_end_lacks_token(const udpai_etcd_end *end)
{
    return end->is_sent && ((end->code == GRPC_STATUS_UNAUTHENTICATED) ||
                            (end->code == GRPC_STATUS_INVALID_ARGUMENT &&
                             says(end, "revision of auth store is old")));
}

bool
udpai_etcd_end_is_compacted(const udpai_etcd_end *end)
{
    return end->code == GRPC_STATUS_OUT_OF_RANGE && says(end, "has been compacted");
}

bool
udpai_etcd_end_is_future(const udpai_etcd_end *end)
{
    return end->code == GRPC_STATUS_OUT_OF_RANGE && says(end, "future revision");
}

/* Its database is full; reads and deletions go on. The write that has filled it was done, and is
 * answered like those that are refused after it. */
static bool
lacks_space(const udpai_etcd_end *end)
{
    return end->code == GRPC_STATUS_RESOURCE_EXHAUSTED && says(end, "space exceeded");
}

static bool
is_too_busy(const udpai_etcd_end *end)
{
    return end->code == GRPC_STATUS_RESOURCE_EXHAUSTED && says(end, "too many requests");
}

bool
udpai_etcd_end_blames_member(const udpai_etcd_end *end)
{
    switch (end->code) {
    case GRPC_STATUS_OK:
    case GRPC_STATUS_INVALID_ARGUMENT:
    case GRPC_STATUS_NOT_FOUND:
    case GRPC_STATUS_ALREADY_EXISTS:
    case GRPC_STATUS_PERMISSION_DENIED:
    case GRPC_STATUS_FAILED_PRECONDITION:
    case GRPC_STATUS_OUT_OF_RANGE:
    case GRPC_STATUS_UNAUTHENTICATED:
        return false;
    case GRPC_STATUS_RESOURCE_EXHAUSTED:
        return is_too_busy(end);
    default:
        return true;
    }
}

/* It has found that its members have different data: nothing is read or written until that is
 * repaired. */
static bool
is_corrupt(const udpai_etcd_end *end)
{
    return end->code == GRPC_STATUS_DATA_LOSS && says(end, "corrupt cluster");
}

/* gRPC at either end says so, too, and ours when it refuses the answer: then it was done. */
static bool
is_of_grpc(const udpai_etcd_end *end)
{
    return end->code == GRPC_STATUS_RESOURCE_EXHAUSTED && !says(end, "etcdserver:") &&
           !says(end, "grpc: received message larger than max");
}

static udpai_etcd_outcome
outcome_of(const udpai_etcd_end *end)
{
    if (end->code == GRPC_STATUS_OK)
        return UDPAI_ETCD_DONE;
    if (!end->is_sent || udpai_etcd_end_lacks_token(end) || is_too_busy(end) || is_corrupt(end))
        return UDPAI_ETCD_NOT_DONE;
    if (!end->is_read && (lacks_space(end) || is_of_grpc(end)))
        return UDPAI_ETCD_UNKNOWN;
    if (!udpai_etcd_end_blames_member(end))
        return UDPAI_ETCD_REJECTED;
    return end->is_read ? UDPAI_ETCD_NOT_DONE : UDPAI_ETCD_UNKNOWN;
}

static const char *
hint_of(const udpai_etcd_end *end)
{
    if (lacks_space(end))
        return "; compact and defragment it, then disarm its alarm (etcdctl alarm disarm), or "
               "raise its quota";
    if (is_corrupt(end))
        return "; a member has other data than the others (alarm CORRUPT): find it (etcdctl "
               "endpoint hashkv), replace it, then run 'etcdctl alarm disarm'";
    if (says(end, "user name is empty") || says(end, "user name not found"))
        return "; it wants a user: set store.user, or a certificate whose common name is one";
    if (end->code == GRPC_STATUS_PERMISSION_DENIED)
        return "; its role must allow reading and writing all keys below store.prefix";
    if (says(end, "too many operations"))
        return "; it must be started with --max-txn-ops of at least 128";
    return "";
}

static udpa_err
code_of(const udpai_etcd_end *end)
{
    udpa_err code = udpa_err_from_grpc((int)end->code);
    if (is_corrupt(end))
        return UDPA_ERR_UNAVAILABLE;
    return code == UDPA_OK ? UDPA_ERR_UNAVAILABLE : code;
}

static udpa_error *
not_connected(const udpai_etcd_end *end)
{
    const char *hint = "";
    udpai_str text = udpai_client_reason(end->text, &hint);
    if (end->code == GRPC_STATUS_DEADLINE_EXCEEDED)
        return udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                              "cannot connect to etcd at %s within %llu ms", end->address,
                              (unsigned long long)end->timeout_ms);
    if (says(end, "Channel Destroyed")) /* gRPC says so when the member was given up */
        return udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "etcd at %s does not answer",
                              end->address);
    return udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "cannot connect to etcd at %s: %.*s%s",
                          end->address, (int)udpai_min_size(text.len, TEXT_MAX), text.data, hint);
}

udpai_etcd_outcome
udpai_etcd_outcome_of(const udpai_etcd_end *end, udpa_error **ret_error)
{
    udpai_etcd_outcome outcome = outcome_of(end);
    *ret_error = NULL;
    if (outcome == UDPAI_ETCD_DONE)
        return outcome;
    if (!end->is_sent)
        *ret_error = not_connected(end);
    else if (end->code == GRPC_STATUS_DEADLINE_EXCEEDED)
        *ret_error =
            udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "etcd at %s has not answered within %llu ms",
                           end->address, (unsigned long long)end->timeout_ms);
    else
        *ret_error = udpa_error_new(code_of(end), NULL, "etcd at %s: %.*s%s", end->address,
                                    (int)udpai_min_size(end->text.len, TEXT_MAX), end->text.data,
                                    hint_of(end));
    return outcome;
}
