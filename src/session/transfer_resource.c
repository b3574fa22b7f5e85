/* SPDX-License-Identifier: Apache-2.0 */
/* Resources as bytes, and what is made of them: change sets and publications. A resource is written
 * by its parts, all of them; the Any stays the bytes that it is. */
#include "session/transfer_internal.h"

#include "model/links.h"

/* The least that one takes, of what is counted. */
#define RESOURCE_LEAST ((size_t)12)
#define HOP_LEAST ((size_t)4)

/* ---- resources ---- */

static void
put_signature(udpai_proto_writer *writer, const udpai_signature *signature)
{
    udpai_proto_put_bare_number(writer, signature->algorithm);
    if (!signature->algorithm)
        return;
    udpai_proto_put_bare_bytes(writer, signature->key_id);
    udpai_proto_put_bare_number(writer, (uint64_t)signature->not_before_us);
    udpai_proto_put_bare_number(writer, (uint64_t)signature->not_after_us);
    udpai_proto_put_bare_bytes(writer, signature->value);
}

/* Its bytes, as bare ones are written. */
static void
put_any(udpai_proto_writer *writer, const udpa_resource *resource)
{
    udpai_any_room room;
    udpai_proto_put_bare_number(writer, udpai_resource_any_size(resource));
    udpai_proto_put_raw(writer, udpai_resource_any_head(resource, &room));
    udpai_proto_put_raw(writer, udpai_resource_any_body(resource));
}

static void
put_resource(udpai_proto_writer *writer, const udpa_resource *resource)
{
    udpai_resource_room room;
    const udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    udpai_proto_put_bare_bytes(writer, parts.name);
    udpai_proto_put_bare_bytes(writer, parts.version);
    udpai_proto_put_bare_bytes(writer, parts.authority);
    put_any(writer, resource);
    udpai_proto_put_bare_number(writer, parts.generation);
    udpai_proto_put_bare_number(writer, parts.ttl_ms);
    udpai_proto_put_bare_number(writer, (uint64_t)parts.lazy | (uint64_t)parts.do_not_cache << 1);
    put_signature(writer, &parts.signature);
    udpai_proto_put_bare_number(writer, parts.n_hops);
    for (size_t i = 0; i < parts.n_hops; i++) {
        udpai_proto_put_bare_bytes(writer, parts.hops[i].node_id);
        udpai_proto_put_bare_bytes(writer, parts.hops[i].authority);
        udpai_proto_put_bare_bytes(writer, parts.hops[i].instance);
        udpai_proto_put_bare_number(writer, (uint64_t)parts.hops[i].time_us);
    }
    udpai_transfer_put_texts(writer, parts.aliases, parts.n_aliases);
    udpai_proto_put_bare_bytes(writer, parts.constraints);
    udpai_proto_put_bare_bytes(writer, parts.redirected_type);
}

static int64_t
take_time(udpai_transfer_reader *reader)
{
    return (int64_t)udpai_transfer_take_number(reader, UINT64_MAX);
}

static udpai_signature
take_signature(udpai_transfer_reader *reader)
{
    udpai_signature signature = {.algorithm =
                                     (uint32_t)udpai_transfer_take_number(reader, UINT32_MAX)};
    if (!signature.algorithm)
        return signature;
    signature.key_id = udpai_transfer_take_text(reader);
    signature.not_before_us = take_time(reader);
    signature.not_after_us = take_time(reader);
    signature.value = udpai_transfer_take_bytes(reader);
    return signature;
}

static void
take_hops(udpai_transfer_reader *reader, udpai_resource_parts *parts, udpai_resource_room *room)
{
    size_t n = udpai_transfer_take_count(reader, HOP_LEAST);
    if (n > UDPAI_ARRAY_LEN(room->hops)) {
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a resource has too many hops");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        room->hops[i].node_id = udpai_transfer_take_text(reader);
        room->hops[i].authority = udpai_transfer_take_text(reader);
        room->hops[i].instance = udpai_transfer_take_text(reader);
        room->hops[i].time_us = take_time(reader);
    }
    parts->hops = room->hops;
    parts->n_hops = n;
}

static void
take_aliases(udpai_transfer_reader *reader, udpai_resource_parts *parts, udpai_resource_room *room)
{
    size_t n = udpai_transfer_take_count(reader, 1);
    if (n > UDPAI_ARRAY_LEN(room->aliases)) {
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a resource has too many aliases");
        return;
    }
    for (size_t i = 0; i < n; i++)
        room->aliases[i] = udpai_transfer_take_text(reader);
    parts->aliases = room->aliases;
    parts->n_aliases = n;
}

/* Of all but the Any. */
static udpai_resource_parts
take_parts(udpai_transfer_reader *reader, udpai_str *ret_any, udpai_resource_room *room)
{
    udpai_resource_parts parts = {.name = udpai_transfer_take_text(reader)};
    parts.version = udpai_transfer_take_text(reader);
    parts.authority = udpai_transfer_take_text(reader);
    *ret_any = udpai_transfer_take_bytes(reader);
    parts.generation = udpai_transfer_take_number(reader, UINT64_MAX);
    parts.ttl_ms = udpai_transfer_take_number(reader, UINT64_MAX);
    uint64_t flags = udpai_transfer_take_number(reader, 3);
    parts.lazy = flags & 1;
    parts.do_not_cache = flags & 2;
    parts.signature = take_signature(reader);
    take_hops(reader, &parts, room);
    take_aliases(reader, &parts, room);
    parts.constraints = udpai_transfer_take_bytes(reader);
    parts.redirected_type = udpai_transfer_take_text(reader);
    return parts;
}

/* With the error that it has, if it may not be; so that its sender is sent that. */
static void
check(udpai_transfer_reader *reader, const udpai_resource_parts *parts)
{
    udpa_error *error = NULL;
    if (reader->err == UDPA_OK && udpai_resource_parts_check(parts, &error) != UDPA_OK)
        udpai_transfer_fail_because(reader, error, "it has a resource that may not be");
}

static udpa_resource *
take_resource(udpai_transfer_reader *reader, bool is_checked)
{
    udpai_resource_room room;
    udpai_str any, type_url, value;
    udpai_resource_parts parts = take_parts(reader, &any, &room);
    if (reader->err == UDPA_OK && !udpai_any_parse(any, &type_url, &value))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "the Any of a resource is malformed");
    if (reader->err != UDPA_OK)
        return NULL;
    parts.type = udpai_transfer_share_type(reader, parts.redirected_type.len ? parts.redirected_type
                                                                             : type_url);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpa_err err = udpai_resource_parts_set_any(&parts, any, &bytes);
    if (err == UDPA_OK && is_checked)
        check(reader, &parts);
    udpa_resource *resource = NULL;
    parts.hop_path = reader->transfer->decoder.last_hop_path;
    if (err == UDPA_OK && reader->err == UDPA_OK)
        err = udpai_resource_make(&resource, &parts);
    if (resource)
        udpai_decoder_share_path(&reader->transfer->decoder, resource);
    if (err != UDPA_OK)
        udpai_transfer_fail(reader, err, udpa_err_text(err));
    return resource;
}

/* A removal with a generation, if it has one. */
static void
put_removed(udpai_proto_writer *writer, const udpa_resource *removal)
{
    udpai_proto_put_bare_number(writer, removal != NULL);
    if (removal)
        put_resource(writer, removal);
}

static udpa_resource *
take_removed(udpai_transfer_reader *reader, bool is_checked)
{
    return udpai_transfer_take_flag(reader) ? take_resource(reader, is_checked) : NULL;
}

/* ---- change sets ---- */

void
udpai_transfer_put_changes(udpai_proto_writer *writer, const udpai_change_set *set)
{
    size_t n = udpai_change_set_size(set);
    udpai_proto_put_bare_number(writer, n);
    for (size_t i = 0; i < n; i++) {
        const udpai_change *change = udpai_change_set_at(set, i);
        udpai_proto_put_bare_number(writer, change->kind);
        udpai_proto_put_bare_number(writer, change->deadline_ms);
        udpai_proto_put_bare_number(writer, change->from_node != NULL);
        if (change->from_node)
            udpai_proto_put_bare_bytes(writer, udpai_bytes_view(change->from_node));
        udpai_proto_put_bare_number(writer, change->visible_to != NULL);
        if (change->visible_to)
            udpai_proto_put_bare_bytes(writer, udpai_bytes_view(change->visible_to));
        put_resource(writer, change->resource);
        put_removed(writer, change->removal);
    }
}

static udpa_bytes *
take_links(udpai_transfer_reader *reader)
{
    if (!udpai_transfer_take_flag(reader))
        return NULL;
    udpai_str links = udpai_transfer_take_bytes(reader);
    if (reader->err == UDPA_OK && !udpai_links_check(links))
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "what should be links is none");
    return udpai_transfer_share_node(reader, links); /* few are different */
}

static void
take_change(udpai_transfer_reader *reader, udpai_change_set *set)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL, *removal = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *node = NULL, *links = NULL;
    udpai_change change = {
        .kind = (udpai_change_kind)udpai_transfer_take_number(reader, UDPAI_CHANGE_REMOVE)};
    change.deadline_ms = udpai_transfer_take_number(reader, UINT64_MAX);
    if (udpai_transfer_take_flag(reader))
        node = udpai_transfer_share_node(reader, udpai_transfer_take_text(reader));
    links = take_links(reader);
    resource = take_resource(reader, false);
    removal = take_removed(reader, false);
    change.resource = resource;
    change.removal = removal;
    change.from_node = node;
    change.visible_to = links;
    if (reader->err == UDPA_OK && udpai_change_set_add(set, &change) != UDPA_OK)
        udpai_transfer_out_of_memory(reader);
}

udpai_change_set *
udpai_transfer_take_changes(udpai_transfer_reader *reader)
{
    size_t n = udpai_transfer_take_count(reader, RESOURCE_LEAST + 5);
    udpai_change_set *set = udpai_change_set_new();
    if (!set)
        udpai_transfer_out_of_memory(reader);
    for (size_t i = 0; i < n && reader->err == UDPA_OK; i++)
        take_change(reader, set);
    return set;
}

/* ---- publications ---- */

static void
put_verdict(udpai_proto_writer *writer, const udpa_error *error)
{
    udpai_proto_put_bare_number(writer, error != NULL);
    if (error)
        udpai_transfer_put_error(writer, error);
}

static udpa_error *
take_verdict(udpai_transfer_reader *reader)
{
    return udpai_transfer_take_flag(reader) ? udpai_transfer_take_error(reader) : NULL;
}

void
udpai_transfer_put_publication(udpai_proto_writer *writer, const udpai_publication *publication)
{
    udpai_proto_put_bare_number(writer, publication->is_trial);
    udpai_proto_put_bare_number(writer, publication->state_of_the_world);
    udpai_proto_put_bare_number(writer, publication->complete);
    udpai_proto_put_bare_number(writer, publication->receipt_required);
    udpai_proto_put_bare_bytes(writer, publication->type_url);
    udpai_proto_put_bare_bytes(writer, publication->name_space);
    udpai_proto_put_bare_bytes(writer, publication->nonce);
    udpai_proto_put_bare_bytes(writer, publication->waits);
    udpai_proto_put_bare_number(writer, publication->waits_behind);
    udpai_proto_put_bare_number(writer, publication->commit);
    udpai_proto_put_bare_number(writer, publication->size_bytes);
    udpai_transfer_put_trace(writer, &publication->trace);
    udpai_proto_put_bare_number(writer, publication->entries.n);
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        udpai_proto_put_bare_number(writer, entry->is_refresh);
        udpai_proto_put_bare_number(writer, entry->is_ignored);
        put_verdict(writer, entry->error);
        put_resource(writer, entry->resource);
    }
    udpai_proto_put_bare_number(writer, publication->removals.n);
    for (size_t i = 0; i < publication->removals.n; i++) {
        const udpai_removal *removal = &publication->removals.items[i];
        udpai_proto_put_bare_bytes(writer, removal->name);
        put_verdict(writer, removal->error);
        put_removed(writer, removal->statement);
    }
    udpai_proto_put_bare_number(writer, publication->effects.n);
    for (size_t i = 0; i < publication->effects.n; i++) {
        udpai_proto_put_bare_number(writer, publication->effects.items[i].kind);
        udpai_proto_put_bare_bytes(writer, publication->effects.items[i].effective);
    }
}

/* The resource of an entry with an error need not be one that may be. */
static udpa_err
take_entry(udpai_transfer_reader *reader, udpai_publication *publication, bool is_new)
{
    bool is_refresh = udpai_transfer_take_flag(reader);
    bool is_ignored = udpai_transfer_take_flag(reader);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = take_verdict(reader);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = take_resource(reader, is_new && !error);
    if (!resource)
        return UDPA_OK; /* reported by the reader */
    if (is_new && !error && !is_refresh && udpai_resource_any_size(resource) == 0)
        udpai_transfer_fail(reader, UDPA_ERR_MALFORMED, "a resource has no payload");
    udpa_err err = udpai_publication_add(publication, resource, is_refresh);
    if (err != UDPA_OK)
        return err;
    udpai_publication_entry *entry = &publication->entries.items[publication->entries.n - 1];
    entry->is_ignored = is_ignored;
    entry->error = UDPAI_TAKE(error);
    return UDPA_OK;
}

static udpa_err
take_removal(udpai_transfer_reader *reader, udpai_publication *publication, bool is_new)
{
    udpai_str name = udpai_transfer_take_text(reader);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = take_verdict(reader);
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = take_removed(reader, is_new);
    if (reader->err != UDPA_OK)
        return UDPA_OK;
    udpa_err err = udpai_publication_remove_stated(publication, name, removal);
    if (err == UDPA_OK)
        publication->removals.items[publication->removals.n - 1].error = UDPAI_TAKE(error);
    return err;
}

static udpa_err
take_effect(udpai_transfer_reader *reader, udpai_publication *publication)
{
    uint64_t kind = udpai_transfer_take_number(reader, UDPAI_EFFECT_KINDS - 1);
    udpai_str effective = udpai_transfer_take_text(reader);
    return reader->err == UDPA_OK
               ? udpai_publication_add_effect(publication, (udpai_effect_kind)kind, effective)
               : UDPA_OK;
}

static udpa_err
take_into(udpai_transfer_reader *reader, udpai_publication *publication, bool is_new)
{
    publication->is_trial = udpai_transfer_take_flag(reader);
    publication->state_of_the_world = udpai_transfer_take_flag(reader);
    publication->complete = udpai_transfer_take_flag(reader);
    publication->receipt_required = udpai_transfer_take_flag(reader);
    udpa_err err = udpai_publication_set(&publication->type_url, udpai_transfer_take_text(reader));
    if (err == UDPA_OK)
        err = udpai_publication_set(&publication->name_space, udpai_transfer_take_text(reader));
    if (err == UDPA_OK)
        err = udpai_publication_set(&publication->nonce, udpai_transfer_take_text(reader));
    if (err == UDPA_OK)
        err = udpai_publication_set(&publication->waits, udpai_transfer_take_bytes(reader));
    publication->waits_behind = (uint32_t)udpai_transfer_take_number(reader, UINT32_MAX);
    publication->commit = udpai_transfer_take_number(reader, UINT64_MAX);
    publication->size_bytes = udpai_transfer_take_number(reader, SIZE_MAX);
    if (err == UDPA_OK)
        publication->trace = udpai_transfer_take_trace(reader);
    size_t n = err == UDPA_OK ? udpai_transfer_take_count(reader, RESOURCE_LEAST + 2) : 0;
    for (size_t i = 0; i < n && err == UDPA_OK && reader->err == UDPA_OK; i++)
        err = take_entry(reader, publication, is_new);
    n = err == UDPA_OK ? udpai_transfer_take_count(reader, 3) : 0;
    for (size_t i = 0; i < n && err == UDPA_OK && reader->err == UDPA_OK; i++)
        err = take_removal(reader, publication, is_new);
    n = err == UDPA_OK ? udpai_transfer_take_count(reader, 2) : 0;
    for (size_t i = 0; i < n && err == UDPA_OK && reader->err == UDPA_OK; i++)
        err = take_effect(reader, publication);
    return err;
}

udpai_publication *
udpai_transfer_take_publication(udpai_transfer_reader *reader, bool is_new)
{
    udpai_publication *publication = udpai_publication_new();
    udpa_err err = publication ? take_into(reader, publication, is_new) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        udpai_transfer_fail(reader, err, udpa_err_text(err));
    return publication;
}
