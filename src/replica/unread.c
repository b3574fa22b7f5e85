/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/unread.h"

#include <stdio.h>

#include "base/alloc.h"

static udpai_str
key_of(const void *item)
{
    return udpai_bytes_view(((const udpai_unread_record *)item)->key);
}

void
udpai_unread_init(udpai_unread *unread)
{
    udpai_map_init(&unread->records, key_of);
    unread->has_grown = false;
}

static void
free_record(udpai_unread_record *record)
{
    if (!record)
        return;
    udpa_bytes_unref(record->key);
    udpa_bytes_unref(record->value);
    udpa_bytes_unref(record->type);
    udpai_free(record);
}

void
udpai_unread_done(udpai_unread *unread)
{
    size_t at = 0;
    udpai_unread_record *record;
    while ((record = udpai_map_next(&unread->records, &at)))
        free_record(record);
    udpai_map_done(&unread->records);
}

udpa_err
udpai_unread_set(
    udpai_unread *unread, udpai_str key, udpai_str value, udpa_bytes *type, const char *key_id)
{
    udpai_unread_record *record = udpai_alloc(sizeof(*record));
    if (!record || udpa_bytes_new(&record->key, key.data, key.len) != UDPA_OK ||
        udpa_bytes_new(&record->value, value.data, value.len) != UDPA_OK ||
        !udpai_map_reserve(&unread->records, 1)) {
        free_record(record);
        return UDPA_ERR_NOMEM;
    }
    record->type = udpa_bytes_ref(type);
    snprintf(record->key_id, sizeof(record->key_id), "%s", *key_id ? key_id : "unknown");
    free_record(udpai_map_remove(&unread->records, key));
    (void)udpai_map_add(&unread->records, record);
    unread->has_grown = true;
    return UDPA_OK;
}

void
udpai_unread_end(udpai_unread *unread, udpai_str key)
{
    udpai_unread_record *record = udpai_map_get(&unread->records, key);
    if (record)
        record->is_over = true;
}

void
udpai_unread_end_all(udpai_unread *unread)
{
    size_t at = 0;
    udpai_unread_record *record;
    while ((record = udpai_map_next(&unread->records, &at)))
        record->is_over = true;
}

static udpai_unread_record *
next_over(const udpai_unread *unread, size_t *at)
{
    udpai_unread_record *record;
    while ((record = udpai_map_next(&unread->records, at)))
        if (record->is_over)
            return record;
    return NULL;
}

bool
udpai_unread_sweep(udpai_unread *unread)
{
    size_t n_before = unread->records.n, at = 0;
    udpai_map left;
    udpai_unread_record *record;
    if (!next_over(unread, &at))
        return false;
    udpai_map_init(&left, key_of);
    if (!udpai_map_reserve(&left, n_before)) { /* one by one */
        for (at = 0; (record = next_over(unread, &at)); at = 0)
            free_record(udpai_map_remove(&unread->records, key_of(record)));
        return true;
    }
    for (at = 0; (record = udpai_map_next(&unread->records, &at));) {
        if (record->is_over)
            free_record(record);
        else
            (void)udpai_map_add(&left, record);
    }
    udpai_map_done(&unread->records);
    unread->records = left;
    return true;
}

const udpai_unread_record *
udpai_unread_find(const udpai_unread *unread, udpai_str key)
{
    const udpai_unread_record *record = udpai_map_get(&unread->records, key);
    return record && !record->is_over ? record : NULL;
}

/* ---- which keys ---- */

/* The least one that is greater than the one before. */
static const char *
next_id(const udpai_unread *unread, const char *before)
{
    const char *next = NULL;
    size_t at = 0;
    const udpai_unread_record *record;
    while ((record = udpai_map_next(&unread->records, &at)))
        if (strcmp(record->key_id, before) > 0 && (!next || strcmp(record->key_id, next) < 0))
            next = record->key_id;
    return next;
}

udpa_bytes *
udpai_unread_key_ids(const udpai_unread *unread)
{
    udpai_strbuf text = {0};
    const char *id = next_id(unread, "");
    if (!id)
        return NULL;
    for (size_t n = 0; id && n < UDPAI_UNREAD_KEYS_MAX; n++, id = next_id(unread, id))
        udpai_strbuf_printf(&text, "%s%s", n ? " " : "", id);
    if (id)
        udpai_strbuf_puts(&text, " …");
    return udpai_bytes_of(&text);
}
