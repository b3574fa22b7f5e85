/* SPDX-License-Identifier: Apache-2.0 */
/* The table of single names that have sources of their own, by type and name. */
#include "federation/named.h"

#include "base/alloc.h"
#include "base/map.h"

struct udpai_named_table {
    udpai_map items; /* udpai_named, by key */
};

static udpai_str
key_of(const void *item)
{
    return udpai_bytes_view(((const udpai_named *)item)->key);
}

udpa_err
udpai_named_table_new(udpai_named_table **ret_table)
{
    udpai_named_table *table = udpai_alloc(sizeof(*table));
    if (!table)
        return UDPA_ERR_NOMEM;
    udpai_map_init(&table->items, key_of);
    *ret_table = table;
    return UDPA_OK;
}

void
udpai_named_table_free(udpai_named_table *table)
{
    if (table)
        udpai_map_done(&table->items);
    udpai_free(table);
}

bool
udpai_named_table_add(udpai_named_table *table, udpai_named *named)
{
    return udpai_map_add(&table->items, named);
}

void
udpai_named_table_remove(udpai_named_table *table, const udpai_named *named)
{
    udpai_map_remove(&table->items, udpai_bytes_view(named->key));
}

size_t
udpai_named_table_size(const udpai_named_table *table)
{
    return table->items.n;
}

udpai_named *
udpai_named_table_next(const udpai_named_table *table, size_t *at)
{
    return udpai_map_next(&table->items, at);
}

udpai_named *
udpai_named_find(const udpai_named_table *table, udpai_str type_url, udpai_str name)
{
    char room[UDPAI_NAMED_KEY_MAX];
    if (type_url.len > UDPAI_TYPE_URL_MAX || name.len > UDPAI_NAME_MAX)
        return NULL;
    return udpai_map_get(&table->items, udpai_type_key(room, type_url, name));
}
