/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/position_fact.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/strbuf.h"

#define DIGITS 16

/* No origin has this key; the type is not looked at. */
static const char fact_key[] = "replicas";

/* The cluster, and the proof: its revision, the base behind a plus if there is one, a minus if
 * something is missing, and its key behind a space. */
static udpa_bytes *
write_name(const udpai_position_fact *fact)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "%016" PRIx64 "%016" PRIx64, fact->position.cluster_id,
                        (uint64_t)fact->proof.revision);
    if (fact->base)
        udpai_strbuf_printf(&text, "+%016" PRIx64, fact->base);
    udpai_strbuf_puts(&text, fact->is_partial ? "- " : " ");
    if (fact->proof.key)
        udpai_strbuf_str(&text, udpai_bytes_view(fact->proof.key));
    return udpai_bytes_of(&text);
}

udpa_err
udpai_position_fact_add(udpai_durable_batch *batch, const udpai_position_fact *fact)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = NULL, *name = NULL;
    if (udpa_bytes_new(&key, fact_key, sizeof(fact_key)) != UDPA_OK || !(name = write_name(fact)))
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_SEEN,
                                              .origin = key,
                                              .type = key,
                                              .name = name,
                                              .number = (uint64_t)fact->position.revision,
                                          });
}

static uint64_t
read_hex(udpai_str text, size_t at)
{
    char digits[DIGITS + 1] = "";
    if (text.len >= at + DIGITS)
        memcpy(digits, text.data + at, DIGITS);
    return strtoull(digits, NULL, 16);
}

static void
read_name(udpai_str text, udpai_position_fact *fact)
{
    size_t at = 2 * DIGITS;
    fact->position.cluster_id = read_hex(text, 0);
    if (text.len > at && text.data[at] == '+') {
        fact->base = read_hex(text, at + 1);
        at += 1 + DIGITS;
    }
    fact->is_partial = text.len > at && text.data[at] == '-';
    at += fact->is_partial;
    if (text.len <= at + 1)
        return;
    fact->proof.revision = (int64_t)read_hex(text, DIGITS);
    (void)!udpa_bytes_new(&fact->proof.key, text.data + at + 1, text.len - at - 1);
}

bool
udpai_position_fact_is(const udpai_durable_op *op)
{
    const udpai_str key = {fact_key, sizeof(fact_key)};
    return udpai_str_eq(udpai_bytes_view(op->origin), key);
}

bool
udpai_position_fact_read(const udpai_durable_op *op, udpai_position_fact *ret_fact)
{
    if (!udpai_position_fact_is(op))
        return false;
    *ret_fact = (udpai_position_fact){0};
    ret_fact->position.revision = op->number <= INT64_MAX ? (int64_t)op->number : 0;
    read_name(udpai_bytes_view(op->name), ret_fact);
    return true;
}
