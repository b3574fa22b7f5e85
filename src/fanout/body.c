/* SPDX-License-Identifier: Apache-2.0 */
#include "fanout/body.h"

#include "base/alloc.h"

udpai_body *
udpai_body_new(void)
{
    udpai_body *body = udpai_alloc(sizeof(*body));
    if (body) {
        body->refs = 1;
        udpai_list_init(&body->in_view);
        udpai_list_init(&body->in_recent);
    }
    return body;
}

udpai_body *
udpai_body_ref(udpai_body *body)
{
    if (body)
        body->refs++;
    return body;
}

udpai_body *
udpai_body_unref(udpai_body *body)
{
    if (!body || --body->refs)
        return NULL;
    if (body->memory)
        body->memory->bytes -= body->counted;
    for (size_t i = 0; i < body->parts.n; i++)
        udpa_bytes_unref(body->parts.items[i]);
    for (size_t i = 0; i < body->resources.n; i++)
        udpa_resource_unref(body->resources.items[i]);
    for (size_t i = 0; i < body->removed.n; i++)
        udpa_bytes_unref(body->removed.items[i]);
    for (size_t i = 0; i < body->origins.n; i++) {
        udpa_bytes_unref(body->origins.items[i].from_node);
        udpa_bytes_unref(body->origins.items[i].visible_to);
    }
    udpai_vector_done(&body->origins);
    udpai_vector_done(&body->parts);
    udpai_vector_done(&body->resources);
    udpai_vector_done(&body->seqs);
    udpai_vector_done(&body->removed);
    udpai_listing_unref(body->listing);
    udpai_free((char *)body->version.data);
    udpai_free(body);
    return NULL;
}

bool
udpai_body_add_payload(udpai_body *body, udpa_bytes *part)
{
    if (!part || !udpai_vector_push(&body->parts, part)) {
        udpa_bytes_unref(part);
        return false;
    }
    body->size_bytes += udpa_bytes_size(part);
    return true;
}

bool
udpai_body_add_part(udpai_body *body, udpa_bytes *part)
{
    if (part)
        body->own_bytes += udpai_memory_of(udpa_bytes_size(part));
    return udpai_body_add_payload(body, part);
}

#define VECTOR_BYTES(vector) ((vector)->capacity * sizeof(*(vector)->items))

void
udpai_body_count_in(udpai_body *body, udpai_memory *memory)
{
    body->memory = memory;
    body->counted = udpai_memory_of(sizeof(*body)) + body->own_bytes + body->version.len +
                    VECTOR_BYTES(&body->parts) + VECTOR_BYTES(&body->resources) +
                    VECTOR_BYTES(&body->seqs) + VECTOR_BYTES(&body->removed) +
                    VECTOR_BYTES(&body->origins);
    for (size_t i = 0; i < body->removed.n; i++)
        body->counted += udpai_memory_of(udpa_bytes_size(body->removed.items[i]));
    memory->bytes += body->counted;
}

/* ---- the listing ---- */

static udpai_listing *
make_listing(const udpai_body *body)
{
    size_t n = body->resources.n, text = 0;
    for (size_t i = 0; i < n; i++)
        text += udpai_resource_name(body->resources.items[i]).len +
                udpai_resource_version(body->resources.items[i]).len +
                udpai_resource_asked_name(body->resources.items[i]).len;
    size_t size = sizeof(udpai_listing) + n * sizeof(((udpai_listing *)0)->resources[0]) + text;
    udpai_listing *listing = udpai_alloc_in(body->memory, size);
    if (!listing)
        return NULL;
    listing->memory = body->memory;
    listing->size = size;
    listing->refs = 1;
    listing->n = n;
    char *at = (char *)(listing->resources + n);
    for (size_t i = 0; i < n; i++) {
        listing->resources[i].name =
            udpai_str_put(&at, udpai_resource_name(body->resources.items[i]));
        listing->resources[i].asked_name =
            udpai_str_put(&at, udpai_resource_asked_name(body->resources.items[i]));
        listing->resources[i].version =
            udpai_str_put(&at, udpai_resource_version(body->resources.items[i]));
        listing->resources[i].seq = i < body->seqs.n ? body->seqs.items[i] : 0;
    }
    return listing;
}

udpai_listing *
udpai_body_list(udpai_body *body)
{
    if (!body->listing)
        body->listing = make_listing(body);
    if (body->listing)
        body->listing->refs++;
    return body->listing;
}

udpai_listing *
udpai_listing_unref(udpai_listing *listing)
{
    if (listing && --listing->refs == 0)
        udpai_free_in(listing->memory, listing, listing->size);
    return NULL;
}
