/* SPDX-License-Identifier: Apache-2.0 */
/* What etcd answers: the first byte chooses the response, the rest is that. What is taken must lie
 * in the message or the arena as a whole; nothing is left behind. */
#include "base/alloc.h"
#include "etcd/messages.h"
#include "tests/fuzz/fuzz.h"

static size_t n_read;

static void
check_text(udpai_str text, size_t size)
{
    FUZZ_CHECK(text.len <= size && (text.data || !text.len));
    for (size_t i = 0; i < text.len; i++)
        n_read += (unsigned char)text.data[i];
}

static void
check_kv(const udpai_etcd_kv *kv, size_t size)
{
    check_text(kv->key, size);
    check_text(kv->value, size);
}

static void
decode_changes(udpai_arena *arena, udpai_str message)
{
    udpai_etcd_changes changes;
    if (udpai_etcd_decode_watch(arena, message, &changes) != UDPA_OK)
        return;
    FUZZ_CHECK(changes.n_events <= message.len);
    check_text(changes.reason, message.len);
    for (size_t i = 0; i < changes.n_events; i++)
        check_kv(&changes.events[i].kv, message.len);
}

static void
decode_token(udpai_arena *arena, udpai_str message)
{
    udpai_str token;
    if (udpai_etcd_decode_authenticate(arena, message, &token) == UDPA_OK)
        check_text(token, message.len);
}

static void
decode_result(udpai_arena *arena, udpai_str message, unsigned which)
{
    static const udpai_etcd_decode_fn decode[] = {
        udpai_etcd_decode_range,        udpai_etcd_decode_txn,
        udpai_etcd_decode_lease_grant,  udpai_etcd_decode_lease_keep_alive,
        udpai_etcd_decode_lease_revoke, udpai_etcd_decode_status,
    };
    udpai_etcd_result result = {0};
    if (decode[which % UDPAI_ARRAY_LEN(decode)](arena, message, &result) != UDPA_OK)
        return;
    FUZZ_CHECK(result.n_kvs <= message.len);
    check_text(result.status.version, message.len);
    for (size_t i = 0; i < result.n_kvs; i++)
        check_kv(&result.kvs[i], message.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    uint8_t which = fuzz_take_byte(&input);
    udpai_arena arena;
    udpai_arena_init(&arena);
    if (which == 'w')
        decode_changes(&arena, input);
    else if (which == 'a')
        decode_token(&arena, input);
    else
        decode_result(&arena, input, which - '0');
    udpai_arena_done(&arena);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
