/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/position_fact.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/strbuf.h"

#define PROOF_AT 33

/* No origin has this key; the type is not looked at. */
static const char fact_key[] = "replicas";

/* The cluster, and the proof: its revision, and its key behind a space. */
static udpa_bytes *
write_name(udpai_durable_position position, const udpai_replication_proof *proof)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "%016" PRIx64 "%016" PRIx64 " ", position.cluster_id,
                        (uint64_t)proof->revision);
    if (proof->key)
        udpai_strbuf_str(&text, udpai_bytes_view(proof->key));
    return udpai_bytes_of(&text);
}

udpa_err
udpai_position_fact_add(udpai_durable_batch *batch,
                        udpai_durable_position position,
                        const udpai_replication_proof *proof)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = NULL, *name = NULL;
    if (udpa_bytes_new(&key, fact_key, sizeof(fact_key)) != UDPA_OK ||
        !(name = write_name(position, proof)))
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_SEEN,
                                              .origin = key,
                                              .type = key,
                                              .name = name,
                                              .number = (uint64_t)position.revision,
                                          });
}

static uint64_t
read_hex(udpai_str text, size_t at)
{
    char digits[17] = "";
    if (text.len >= at + 16)
        memcpy(digits, text.data + at, 16);
    return strtoull(digits, NULL, 16);
}

static void
read_proof(udpai_replication_proof *proof, udpai_str text)
{
    if (text.len <= PROOF_AT)
        return;
    proof->revision = (int64_t)read_hex(text, 16);
    udpa_bytes_unref(proof->key);
    proof->key = NULL;
    (void)!udpa_bytes_new(&proof->key, text.data + PROOF_AT, text.len - PROOF_AT);
}

bool
udpai_position_fact_read(const udpai_durable_op *op,
                         udpai_durable_position *ret_position,
                         udpai_replication_proof *proof)
{
    const udpai_str key = {fact_key, sizeof(fact_key)};
    if (!udpai_str_eq(udpai_bytes_view(op->origin), key))
        return false;
    udpai_str text = udpai_bytes_view(op->name);
    *ret_position = (udpai_durable_position){
        .cluster_id = read_hex(text, 0),
        .revision = op->number <= INT64_MAX ? (int64_t)op->number : 0,
    };
    read_proof(proof, text);
    return true;
}
