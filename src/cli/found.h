/* SPDX-License-Identifier: Apache-2.0 */
/* Resources by type and name, the newest of each. Pure. */
#ifndef UDPAI_CLI_FOUND_H
#define UDPAI_CLI_FOUND_H

#include <udpa/resource.h>

#include "base/map.h"

typedef struct udpai_cli_found {
    udpai_map items; /* of a type of found.c's own */
} udpai_cli_found;

void udpai_cli_found_begin(udpai_cli_found *found);
void udpai_cli_found_done(udpai_cli_found *found);
/* Takes a reference, in place of what was there; *ret_replaced: was there something? */
udpa_err udpai_cli_found_put(udpai_cli_found *found, udpa_resource *resource, bool *ret_replaced);
/* Was it there? */
bool udpai_cli_found_drop(udpai_cli_found *found, const udpa_resource *resource);
size_t udpai_cli_found_size(const udpai_cli_found *found);
/* What is known by this name or alias; borrowed; NULL: nothing. */
udpa_resource *
udpai_cli_found_get(const udpai_cli_found *found, udpai_str type_url, udpai_str name);
/* All, borrowed, by the short name of their type and then by name, numbers in it as numbers; the
 * array is to be freed with udpai_free(); NULL without memory. */
udpa_resource **udpai_cli_found_sorted(const udpai_cli_found *found);

/* Is it the resource of this id, in whatever namespace: "com.acme/front" of "front"? */
bool udpai_cli_has_id(const udpa_resource *resource, udpai_str id);

#endif
