/* SPDX-License-Identifier: Apache-2.0 */
/* How much of its limits each namespace and each publisher uses. */
#include "store/store_internal.h"

/* By resources or by bytes, of which the limits are these. */
static unsigned
percent_of(const udpai_use *use, uint64_t max_resources, uint64_t max_bytes)
{
    unsigned resources = udpai_percent_of(use->n, max_resources);
    unsigned bytes = udpai_percent_of(use->bytes, max_bytes);
    return resources > bytes ? resources : bytes;
}

void
udpai_store_note_fill_of_namespace(udpai_store *store, udpai_namespace_use *account)
{
    const udpai_store_options *options = &store->options;
    udpai_fullest_note(&store->fullest_namespace, &account->percent,
                       percent_of(&account->use, options->max_resources_per_namespace,
                                  options->max_bytes_per_namespace));
}

void
udpai_store_note_fill_of_origin(udpai_store *store, udpai_origin *origin)
{
    const udpai_store_options *options = &store->options;
    udpai_fullest_note(&store->fullest_publisher, &origin->percent,
                       origin->rank == UDPAI_ORIGIN_PUBLISHER
                           ? percent_of(&origin->use, options->max_resources_per_publisher,
                                        options->max_bytes_per_publisher)
                           : 0);
}

void
udpai_store_note_fills(udpai_store *store)
{
    size_t at = 0;
    udpai_namespace_use *account;
    udpai_origin *origin;
    while ((account = udpai_map_next(&store->namespaces, &at)))
        udpai_store_note_fill_of_namespace(store, account);
    for (at = 0; (origin = udpai_map_next(&store->origins, &at));)
        udpai_store_note_fill_of_origin(store, origin);
}
