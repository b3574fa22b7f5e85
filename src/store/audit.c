/* SPDX-License-Identifier: Apache-2.0 */
#include "store/audit.h"

#include <inttypes.h>

#include "base/json_shown.h"

static void
put_pair(udpai_strbuf *out, const char *key, udpai_str value)
{
    if (value.len == 0)
        return;
    udpai_strbuf_printf(out, "%s\"%s\":", out->len > 1 ? "," : "", key);
    udpai_json_put_shown(out, value, UDPAI_AUDIT_TEXT_MAX);
}

static udpa_bytes *
encode(const udpai_audit_record *record)
{
    udpai_strbuf out = {0};
    udpai_strbuf_putc(&out, '{');
    put_pair(&out, "action", record->action);
    put_pair(&out, "actor", record->actor);
    if (record->actor.len)
        udpai_strbuf_printf(&out, ",\"proven\":%s", record->is_proven ? "true" : "false");
    put_pair(&out, "peer", record->peer);
    put_pair(&out, "address", record->address);
    put_pair(&out, "node", record->node);
    put_pair(&out, "type", record->type_url);
    put_pair(&out, "name", record->name);
    put_pair(&out, "version", record->version);
    if (record->generation)
        udpai_strbuf_printf(&out, ",\"generation\":%" PRIu64, record->generation);
    put_pair(&out, "rule", record->rule);
    put_pair(&out, "reason", record->reason);
    udpai_strbuf_putc(&out, '}');
    return udpai_bytes_of(&out);
}

udpa_err
udpai_audit_add(udpai_durable_batch *batch, const udpai_audit_record *record, int64_t at_us)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *line = encode(record);
    if (!line)
        return UDPA_ERR_NOMEM;
    return udpai_durable_batch_add(batch, &(udpai_durable_op){
                                              .kind = UDPAI_DURABLE_AUDIT,
                                              .name = line,
                                              .number = at_us > 0 ? (uint64_t)at_us : 0,
                                          });
}

const char *
udpai_audit_reason(udpai_cause cause)
{
    switch (cause) {
    case UDPAI_CAUSE_STATED:
        return NULL;
    case UDPAI_CAUSE_TTL:
        return "its ttl has ended";
    case UDPAI_CAUSE_RULES:
        return "the rules do not allow it any more";
    case UDPAI_CAUSE_SIGNATURE:
        return "its signature is not good any more";
    case UDPAI_CAUSE_REVOKED:
        return "the certificate of its publisher was revoked";
    case UDPAI_CAUSE_REMOVAL:
        return "its authority has removed it elsewhere";
    case UDPAI_CAUSE_OTHER:
        break;
    }
    return "the node has ended it";
}

const udpai_durable_op *
udpai_audit_next(const udpai_durable_batch *batch, size_t *at)
{
    while (*at < batch->ops.n) {
        const udpai_durable_op *op = &batch->ops.items[(*at)++];
        if (op->kind == UDPAI_DURABLE_AUDIT)
            return op;
    }
    return NULL;
}
