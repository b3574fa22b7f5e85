/* SPDX-License-Identifier: Apache-2.0 */
/* An op: its kind as a byte, when it expires as 8 bytes, and two or three texts, each behind its
 * length as 4 bytes; numbers have their least byte first. A PUT has the key of its origin, and the
 * resource as a Resource message; a DELETE the key, the type URL, and the name. */
#include "daemon/batch_text.h"

#include "model/resource.h"
#include "wire/entry.h"
#include "wire/message.h"

/* ---- putting ---- */

static void
put_number(udpai_strbuf *text, uint64_t number, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        udpai_strbuf_putc(text, (char)(number >> (8 * i) & 0xff));
}

static void
put_text(udpai_strbuf *text, udpai_str part)
{
    put_number(text, part.len, 4);
    udpai_strbuf_str(text, part);
}

static udpa_err
put_op(udpai_strbuf *text, const udpai_durable_op *op)
{
    udpai_strbuf_putc(text, (char)op->kind);
    put_number(text, (uint64_t)op->expires_us, 8);
    put_text(text, udpai_bytes_view(op->origin));
    if (op->kind == UDPAI_DURABLE_PUT) {
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *data = udpai_entry_encode(op->resource, udpa_resource_ttl_ms(op->resource));
        if (!data)
            return UDPA_ERR_NOMEM;
        put_text(text, udpai_bytes_view(data));
        return UDPA_OK;
    }
    put_text(text, (udpai_str){udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1});
    put_text(text, udpai_bytes_view(op->name));
    return UDPA_OK;
}

udpa_err
udpai_batch_text_put(udpai_strbuf *text, const udpai_durable_batch *batch)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < batch->ops.n && err == UDPA_OK; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        if (op->kind == UDPAI_DURABLE_PUT || op->kind == UDPAI_DURABLE_DELETE)
            err = put_op(text, op);
    }
    return err == UDPA_OK && udpai_strbuf_failed(text) ? UDPA_ERR_NOMEM : err;
}

/* ---- reading ---- */

static bool
take_number(udpai_str *text, size_t n_bytes, uint64_t *ret_number)
{
    *ret_number = 0;
    if (text->len < n_bytes)
        return false;
    for (size_t i = 0; i < n_bytes; i++)
        *ret_number |= (uint64_t)(uint8_t)text->data[i] << (8 * i);
    *text = (udpai_str){text->data + n_bytes, text->len - n_bytes};
    return true;
}

static bool
take_text(udpai_str *text, udpai_str *ret_part)
{
    uint64_t len;
    if (!take_number(text, 4, &len) || text->len < len)
        return false;
    *ret_part = (udpai_str){text->data, (size_t)len};
    *text = (udpai_str){text->data + len, text->len - (size_t)len};
    return true;
}

static udpa_err
take_put(udpai_decoder *decoder, udpai_str *text, udpai_durable_op *op)
{
    udpai_str data;
    return take_text(text, &data) ? udpai_resource_decode(decoder, data, &op->resource, NULL)
                                  : UDPA_ERR_MALFORMED;
}

static udpa_err
take_delete(udpai_str *text, udpai_durable_op *op)
{
    udpai_str type, name;
    if (!take_text(text, &type) || !take_text(text, &name))
        return UDPA_ERR_MALFORMED;
    op->type = udpai_bytes_cstring(type);
    return op->type ? udpa_bytes_new(&op->name, name.data, name.len) : UDPA_ERR_NOMEM;
}

/* What it has is the caller's, also after an error. */
static udpa_err
take_op(udpai_decoder *decoder, udpai_str *text, udpai_durable_op *op)
{
    uint64_t kind, expires_us;
    udpai_str origin;
    if (!take_number(text, 1, &kind) || !take_number(text, 8, &expires_us) ||
        !take_text(text, &origin) || (kind != UDPAI_DURABLE_PUT && kind != UDPAI_DURABLE_DELETE))
        return UDPA_ERR_MALFORMED;
    op->kind = (udpai_durable_kind)kind;
    op->expires_us = (int64_t)expires_us;
    udpa_err err = udpa_bytes_new(&op->origin, origin.data, origin.len);
    if (err != UDPA_OK)
        return err;
    return op->kind == UDPAI_DURABLE_PUT ? take_put(decoder, text, op) : take_delete(text, op);
}

udpa_err
udpai_batch_text_read(udpai_str text,
                      udpa_err (*take)(void *userdata, const udpai_durable_op *op),
                      void *userdata)
{
    udpai_decoder decoder;
    udpa_err err = UDPA_OK;
    udpai_decoder_init(&decoder);
    while (text.len && err == UDPA_OK) {
        udpai_durable_op op = {.kind = UDPAI_DURABLE_PUT};
        err = take_op(&decoder, &text, &op);
        if (err == UDPA_OK)
            err = take(userdata, &op);
        udpai_durable_op_done(&op);
    }
    udpai_decoder_done(&decoder);
    return err;
}
