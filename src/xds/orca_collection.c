/* SPDX-License-Identifier: Apache-2.0 */
/* It comes from a peer, so it may have anything in it. */
#include "xds/orca_collection.h"

#include <inttypes.h>
#include <stdlib.h>

#include "udpa/load/v1/orca.pb-c.h"
#include "wire/scan.h"

#define ADDRESS_MAX 253 /* of a name in DNS */
#define NANOS_PER_S 1000000000
#define CREDENTIAL_MAX 128

typedef Udpa__Load__V1__OrcaCollection collection_message;
typedef Udpa__Load__V1__OrcaBackend backend_message;

static const collection_message *
unpack(udpai_arena *arena, const udpa_resource *resource, udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type = &udpa__load__v1__orca_collection__descriptor;
    udpai_str payload = udpai_resource_value(resource);
    if (udpai_scan(type, payload, NULL, ret_error) != UDPA_OK)
        return NULL;
    const void *message = protobuf_c_message_unpack(type, &arena->allocator, payload.len,
                                                    (const uint8_t *)payload.data);
    if (!message)
        (void)udpai_fail_code(ret_error, arena->failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED);
    return message;
}

static udpa_err
read_interval(const Google__Protobuf__Duration *interval, uint64_t *ret_ms, udpa_error **ret_error)
{
    uint64_t ms = 0;
    if (!interval) {
        *ret_ms = UDPAI_ORCA_INTERVAL_MS;
        return UDPA_OK;
    }
    if (interval->seconds >= 0 && interval->seconds <= UDPAI_ORCA_INTERVAL_MAX_MS / 1000 &&
        interval->nanos >= 0 && interval->nanos < NANOS_PER_S)
        ms = (uint64_t)interval->seconds * 1000 + (uint64_t)interval->nanos / 1000000;
    if (ms < UDPAI_ORCA_INTERVAL_MIN_MS || ms > UDPAI_ORCA_INTERVAL_MAX_MS)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "its interval is %" PRId64 " s and %d ns: it may be from 100 ms to an "
                          "hour",
                          interval->seconds, (int)interval->nanos);
    *ret_ms = ms;
    return UDPA_OK;
}

/* What an address can have; the rest is a matter of its resolver. */
static bool
is_host(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && !strchr("-_.:", c))
            return false;
    }
    return text.len > 0 && text.len <= ADDRESS_MAX;
}

static udpa_err
read_backend(udpai_orca_backend *to, const backend_message *from, udpa_error **ret_error)
{
    to->address = udpai_str_from(from->address);
    to->port = from->port;
    if (!is_host(to->address))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the address '%.*s' is none of a host: IPv4, IPv6 without brackets, or a "
                          "name",
                          UDPAI_SHOWN(to->address));
    if (to->port == 0 || to->port > UINT16_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the port %" PRIu32 " of %s is none: from 1 to %d", from->port,
                          from->address, UINT16_MAX);
    return UDPA_OK;
}

static int
compare(const void *a, const void *b)
{
    const udpai_orca_backend *left = a, *right = b;
    int order = udpai_str_cmp(left->address, right->address);
    return order ? order : (left->port > right->port) - (left->port < right->port);
}

static udpa_err
check_unique(const udpai_orca_collection *collection, udpa_error **ret_error)
{
    for (size_t i = 1; i < collection->n_backends; i++) {
        const udpai_orca_backend *backend = &collection->backends[i];
        if (compare(backend - 1, backend) == 0)
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "the backend %.*s, port %" PRIu32 ", is there twice",
                              UDPAI_SHOWN(backend->address), backend->port);
    }
    return UDPA_OK;
}

static udpa_err
read_backends(udpai_arena *arena,
              const collection_message *message,
              const udpai_orca_backend *like,
              udpai_orca_collection *collection,
              udpa_error **ret_error)
{
    size_t n = message->n_backends;
    if (n > UDPAI_ORCA_BACKENDS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "it has %zu backends: at most %d may be", n,
                          UDPAI_ORCA_BACKENDS_MAX);
    collection->backends = udpai_arena_alloc(arena, (n + 1) * sizeof(*collection->backends));
    if (!collection->backends)
        return UDPA_ERR_NOMEM;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        collection->backends[i] = *like;
        err = read_backend(&collection->backends[i], message->backends[i], ret_error);
    }
    if (err != UDPA_OK)
        return err;
    collection->n_backends = n;
    qsort(collection->backends, n, sizeof(*collection->backends), compare);
    return check_unique(collection, ret_error);
}

static udpa_err
read_all(udpai_arena *arena,
         const udpa_resource *resource,
         udpai_orca_collection *collection,
         udpa_error **ret_error)
{
    const collection_message *message = unpack(arena, resource, ret_error);
    udpai_orca_backend like = {.cluster = udpai_resource_name(resource)};
    if (!message)
        return arena->failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED;
    collection->credential = udpai_str_from(message->credential);
    if (collection->credential.len > CREDENTIAL_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "its credential is longer than %d bytes",
                          CREDENTIAL_MAX);
    udpa_err err = read_interval(message->interval, &like.interval_ms, ret_error);
    return err == UDPA_OK ? read_backends(arena, message, &like, collection, ret_error) : err;
}

udpa_err
udpai_orca_collection_read(udpai_arena *arena,
                           const udpa_resource *resource,
                           udpai_orca_collection *ret_collection,
                           udpa_error **ret_error)
{
    udpai_orca_collection collection = {.n_backends = 0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_arena_reset(arena);
    udpa_err err = read_all(arena, resource, &collection, &error);
    if (err == UDPA_OK) {
        *ret_collection = collection;
        return UDPA_OK;
    }
    if (err == UDPA_ERR_NOMEM)
        return udpai_fail_code(ret_error, err);
    return udpai_fail(ret_error, err, "the OrcaCollection '%s': %s", udpa_resource_name(resource),
                      error ? udpa_error_message(error) : udpa_err_text(err));
}
