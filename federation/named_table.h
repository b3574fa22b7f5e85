/* SPDX-License-Identifier: Apache-2.0 */
/* Names with a provider of their own, by type and name: look-up alone. */
#ifndef UDPAI_FEDERATION_NAMED_TABLE_H
#define UDPAI_FEDERATION_NAMED_TABLE_H

#include "base/wheel.h"
#include "federation/node.h"
#include "federation/type_key.h"
#include "model/name.h"

typedef struct udpai_named_table udpai_named_table;
typedef struct udpai_named udpai_named;

udpa_err udpai_named_table_new(udpai_named_table **ret_table);
/* What is in it is not freed. NULL does nothing. */
void udpai_named_table_free(udpai_named_table *table);
/* False: without memory. */
bool udpai_named_table_add(udpai_named_table *table, udpai_named *named);
void udpai_named_table_remove(udpai_named_table *table, const udpai_named *named);

size_t udpai_named_table_size(const udpai_named_table *table);
/* Each of them, from *at = 0 on; NULL behind the last. */
udpai_named *udpai_named_table_next(const udpai_named_table *table, size_t *at);
/* NULL: the name has none. */
udpai_named *udpai_named_find(const udpai_named_table *table, udpai_str type_url, udpai_str name);

/* Of the room of a type and a name (type_key.h). */
#define UDPAI_NAMED_KEY_MAX (UDPAI_TYPE_URL_MAX + 1 + UDPAI_NAME_MAX)

#endif
