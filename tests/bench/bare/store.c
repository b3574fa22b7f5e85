/* SPDX-License-Identifier: Apache-2.0 */
/* What the bare server of the benchmark sends: bytes of a fleet, made once for all streams. */
#include <grpc/byte_buffer.h>

#include "bare/bare.h"

#define PAGE_BYTES (64 * 1024)

/* ---- making bytes ---- */

static grpc_slice
make_head(const bare_store *store)
{
    grpc_slice slice = grpc_slice_malloc(store->fleet.head_size);
    peer_put_head(GRPC_SLICE_START_PTR(slice), &store->fleet, store->head);
    return slice;
}

static grpc_slice
make_page(const bare_store *store, size_t page)
{
    size_t begin = page * store->entries_per_page;
    size_t n = udpai_min_size(store->entries_per_page, store->fleet.n - begin);
    grpc_slice slice = grpc_slice_malloc(n * store->fleet.entry_size);
    peer_put_entries(GRPC_SLICE_START_PTR(slice), &store->fleet, begin, n);
    return slice;
}

static grpc_slice
make_change(const bare_store *store, size_t index)
{
    grpc_slice slice = grpc_slice_malloc(store->fleet.head_size + store->fleet.entry_size);
    uint8_t *at = peer_put_head(GRPC_SLICE_START_PTR(slice), &store->fleet, store->head);
    peer_put_entries(at, &store->fleet, index, 1);
    return slice;
}

/* ---- changes ---- */

static void
replace(grpc_slice *slice, grpc_slice with)
{
    grpc_slice_unref(*slice);
    *slice = with;
}

void
bare_store_change(bare_store *store, size_t index, uint64_t serial)
{
    store->fleet.serials[index] = serial;
    store->latest[index] = ++store->head;
    replace(&store->latest_message, make_change(store, index));
    replace(&store->pages[index / store->entries_per_page], grpc_empty_slice());
    bare_change *change = &store->changes[store->head % BARE_CHANGES_KEPT];
    change->index = index;
    replace(&change->entry, grpc_slice_sub(store->latest_message, store->fleet.head_size,
                                           GRPC_SLICE_LENGTH(store->latest_message)));
}

/* ---- messages ---- */

static grpc_byte_buffer *
next_pages(bare_store *store, bare_place *place)
{
    grpc_slice slices[1 + PEER_MESSAGE_MAX / PAGE_BYTES];
    size_t n = udpai_min_size(store->pages_per_message, store->n_pages - place->page);
    if (place->page == 0)
        place->change = store->head; /* what changes on the way comes again */
    slices[0] = make_head(store);
    for (size_t i = 0; i < n; i++) {
        grpc_slice *page = &store->pages[place->page + i];
        if (GRPC_SLICE_LENGTH(*page) == 0)
            *page = make_page(store, place->page + i);
        slices[1 + i] = *page;
    }
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(slices, 1 + n);
    grpc_slice_unref(slices[0]);
    place->page += n;
    return message;
}

/* Those that were superseded are left out. */
static grpc_byte_buffer *
next_changes(bare_store *store, bare_place *place)
{
    grpc_slice slices[1 + BARE_CHANGES_KEPT];
    size_t n = 0;
    slices[n++] = make_head(store);
    while (place->change < store->head && n <= store->changes_per_message) {
        const bare_change *change = &store->changes[++place->change % BARE_CHANGES_KEPT];
        if (store->latest[change->index] == place->change)
            slices[n++] = change->entry;
    }
    grpc_byte_buffer *message = grpc_raw_byte_buffer_create(slices, n);
    grpc_slice_unref(slices[0]);
    return message;
}

grpc_byte_buffer *
bare_store_next(bare_store *store, bare_place *place)
{
    if (place->page < store->n_pages)
        return next_pages(store, place);
    uint64_t n_behind = store->head - place->change;
    if (n_behind == 0)
        return NULL;
    if (n_behind == 1) {
        place->change = store->head;
        return grpc_raw_byte_buffer_create(&store->latest_message, 1);
    }
    if (n_behind < BARE_CHANGES_KEPT)
        return next_changes(store, place);
    place->page = 0;
    return next_pages(store, place);
}

/* ---- */

void
bare_store_init(bare_store *store, size_t n_resources, size_t size_bytes)
{
    *store = (bare_store){.latest_message = grpc_empty_slice()};
    peer_fleet_init(&store->fleet, n_resources, size_bytes);
    size_t most = peer_fleet_most(&store->fleet);
    store->entries_per_page = udpai_max_size(1, PAGE_BYTES / store->fleet.entry_size);
    store->n_pages = (n_resources + store->entries_per_page - 1) / store->entries_per_page;
    store->pages_per_message = udpai_min_size(udpai_max_size(1, most / store->entries_per_page),
                                              PEER_MESSAGE_MAX / PAGE_BYTES);
    store->changes_per_message = udpai_min_size(most, BARE_CHANGES_KEPT);
    store->pages = udpai_alloc_array(store->n_pages, sizeof(*store->pages));
    store->latest = udpai_alloc_array(n_resources, sizeof(*store->latest));
    if (!store->pages || !store->latest)
        peer_fail("no memory for %zu resources", n_resources);
    for (size_t i = 0; i < store->n_pages; i++)
        store->pages[i] = grpc_empty_slice();
    for (size_t i = 0; i < BARE_CHANGES_KEPT; i++)
        store->changes[i].entry = grpc_empty_slice();
}

void
bare_store_done(bare_store *store)
{
    for (size_t i = 0; i < store->n_pages; i++)
        grpc_slice_unref(store->pages[i]);
    for (size_t i = 0; i < BARE_CHANGES_KEPT; i++)
        grpc_slice_unref(store->changes[i].entry);
    grpc_slice_unref(store->latest_message);
    udpai_free(store->pages);
    udpai_free(store->latest);
    peer_fleet_done(&store->fleet);
}
