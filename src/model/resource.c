/* SPDX-License-Identifier: Apache-2.0 */
/* One allocation holds the object, its tables of hops and aliases, and all their text; the Any and
 * the type URL are shared. */
#include "model/resource.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "model/variant.h"

/* Positions are counted from the beginning of the text. Every text ends with a NUL. */
struct text_ref {
    uint32_t at, len;
};

struct stored_hop {
    int64_t time_us;
    struct text_ref node_id, authority;
};

struct udpa_resource {
    atomic_uint refs;
    uint16_t n_hops, n_aliases, n_constraint_keys;
    bool lazy, do_not_cache, has_signature, is_redirect;
    udpa_bytes *any, *type;
    uint32_t value_at, value_len;
    uint64_t digest;
    udpai_content_hash content_hash;
    uint64_t generation, ttl_ms;
    size_t size;
    struct text_ref name, version, authority, constraints;
    struct stored_hop hops[]; /* then the signature, struct text_ref aliases[], and the text */
};

/* Where the signature is, if there is one; its texts are views into this object. */
static udpai_signature *
signature_of(const udpa_resource *resource)
{
    return (udpai_signature *)(uintptr_t)(resource->hops + resource->n_hops);
}

static struct text_ref *
alias_table(const udpa_resource *resource)
{
    return (struct text_ref *)(signature_of(resource) + (resource->has_signature ? 1 : 0));
}

static char *
text_start(const udpa_resource *resource)
{
    return (char *)(alias_table(resource) + resource->n_aliases);
}

static udpai_str
text_of(const udpa_resource *resource, struct text_ref ref)
{
    return (udpai_str){text_start(resource) + ref.at, ref.len};
}

static size_t
text_size(const udpai_resource_parts *parts, size_t version_len)
{
    size_t size = parts->name.len + version_len + parts->authority.len + 3;
    if (parts->constraints.len)
        size += parts->constraints.len + 1;
    for (size_t i = 0; i < parts->n_hops; i++)
        size += parts->hops[i].node_id.len + parts->hops[i].authority.len + 2;
    for (size_t i = 0; i < parts->n_aliases; i++)
        size += parts->aliases[i].len + 1;
    if (parts->signature.algorithm)
        size += parts->signature.key_id.len + parts->signature.value.len + 2;
    return size;
}

static struct text_ref
put_text(udpa_resource *resource, size_t *at, udpai_str text)
{
    struct text_ref ref = {(uint32_t)*at, (uint32_t)text.len};
    if (text.len)
        memcpy(text_start(resource) + *at, text.data, text.len);
    *at += text.len + 1; /* the memory is zeroed */
    return ref;
}

static void
put_signature(udpa_resource *resource, size_t *at, const udpai_signature *signature)
{
    udpai_signature *stored = signature_of(resource);
    *stored = *signature;
    stored->key_id = text_of(resource, put_text(resource, at, signature->key_id));
    stored->value = text_of(resource, put_text(resource, at, signature->value));
}

static void
put_texts(udpa_resource *resource, const udpai_resource_parts *parts)
{
    char hex[UDPAI_CONTENT_HASH_HEX];
    udpai_str version = parts->version;
    if (version.len == 0) {
        udpai_content_hash_hex(resource->content_hash, hex);
        version = (udpai_str){hex, sizeof(hex)};
    }
    size_t at = 0;
    resource->name = put_text(resource, &at, parts->name);
    resource->version = put_text(resource, &at, version);
    resource->authority = put_text(resource, &at, parts->authority);
    for (size_t i = 0; i < parts->n_hops; i++) {
        struct stored_hop *hop = &resource->hops[i];
        hop->time_us = parts->hops[i].time_us;
        hop->node_id = put_text(resource, &at, parts->hops[i].node_id);
        hop->authority = put_text(resource, &at, parts->hops[i].authority);
    }
    for (size_t i = 0; i < parts->n_aliases; i++)
        alias_table(resource)[i] = put_text(resource, &at, parts->aliases[i]);
    if (resource->has_signature)
        put_signature(resource, &at, &parts->signature);
    if (parts->constraints.len)
        resource->constraints = put_text(resource, &at, parts->constraints);
}

static udpa_resource *
allocate(const udpai_resource_parts *parts)
{
    size_t version_len = parts->version.len ? parts->version.len : UDPAI_CONTENT_HASH_HEX;
    bool is_signed = parts->signature.algorithm != 0;
    size_t size = sizeof(udpa_resource) + parts->n_hops * sizeof(struct stored_hop) +
                  (is_signed ? sizeof(udpai_signature) : 0) +
                  parts->n_aliases * sizeof(struct text_ref) + text_size(parts, version_len);
    udpa_resource *resource = udpai_alloc(size);
    if (resource) {
        atomic_init(&resource->refs, 1);
        resource->size = size;
        resource->n_hops = (uint16_t)parts->n_hops;
        resource->n_aliases = (uint16_t)parts->n_aliases;
        resource->has_signature = is_signed;
    }
    return resource;
}

udpa_err
udpai_resource_make(udpa_resource **ret_resource, const udpai_resource_parts *parts)
{
    udpai_str any = udpai_bytes_view(parts->any), type_url, value;
    if (!udpai_any_parse(any, &type_url, &value))
        return UDPA_ERR_MALFORMED;
    udpa_resource *resource = allocate(parts);
    udpai_str stands_for = parts->redirected_type.len ? parts->redirected_type : type_url;
    udpa_bytes *type = parts->type ? udpa_bytes_ref(parts->type) : udpai_bytes_cstring(stands_for);
    if (!resource || !type) {
        udpai_free(resource);
        udpa_bytes_unref(type);
        return UDPA_ERR_NOMEM;
    }
    resource->any = udpa_bytes_ref(parts->any);
    resource->type = type;
    resource->value_at = value.len ? (uint32_t)(value.data - any.data) : 0;
    resource->value_len = (uint32_t)value.len;
    resource->digest = udpai_digest(parts->authority, any);
    resource->content_hash = udpai_content_hash_of(type_url, value);
    if (parts->constraints.len) {
        resource->n_constraint_keys = (uint16_t)udpai_constraints_n_keys(parts->constraints);
        resource->digest = udpai_digest_of_variant(resource->digest, parts->constraints);
        resource->content_hash =
            udpai_content_hash_of_variant(resource->content_hash, parts->constraints);
    }
    resource->generation = parts->generation;
    resource->ttl_ms = parts->ttl_ms;
    resource->is_redirect = parts->redirected_type.len > 0;
    resource->lazy = parts->lazy;
    resource->do_not_cache = parts->do_not_cache;
    put_texts(resource, parts);
    *ret_resource = resource;
    return UDPA_OK;
}

udpai_resource_parts
udpai_resource_parts_of(const udpa_resource *resource, udpai_resource_room *room)
{
    for (size_t i = 0; i < resource->n_hops; i++)
        room->hops[i] = udpai_resource_hop(resource, i);
    for (size_t i = 0; i < resource->n_aliases; i++)
        room->aliases[i] = udpai_resource_alias(resource, i);
    return (udpai_resource_parts){
        .name = udpai_resource_name(resource),
        .version = udpai_resource_version(resource),
        .authority = udpai_resource_authority(resource),
        .any = resource->any,
        .type = resource->type,
        .generation = resource->generation,
        .ttl_ms = resource->ttl_ms,
        .lazy = resource->lazy,
        .do_not_cache = resource->do_not_cache,
        .signature = resource->has_signature ? *signature_of(resource) : (udpai_signature){0},
        .hops = room->hops,
        .n_hops = resource->n_hops,
        .aliases = room->aliases,
        .n_aliases = resource->n_aliases,
        .constraints = udpai_resource_constraints(resource),
        .redirected_type =
            resource->is_redirect ? udpai_resource_type_url(resource) : (udpai_str){0},
    };
}

udpa_resource *
udpa_resource_ref(udpa_resource *resource)
{
    if (resource)
        atomic_fetch_add_explicit(&resource->refs, 1, memory_order_relaxed);
    return resource;
}

udpa_resource *
udpa_resource_unref(udpa_resource *resource)
{
    if (resource && atomic_fetch_sub_explicit(&resource->refs, 1, memory_order_acq_rel) == 1) {
        udpa_bytes_unref(resource->any);
        udpa_bytes_unref(resource->type);
        udpai_free(resource);
    }
    return NULL;
}

udpai_str
udpai_resource_name(const udpa_resource *resource)
{
    return text_of(resource, resource->name);
}

udpai_str
udpai_resource_version(const udpa_resource *resource)
{
    return text_of(resource, resource->version);
}

udpai_str
udpai_resource_authority(const udpa_resource *resource)
{
    return text_of(resource, resource->authority);
}

udpai_str
udpai_resource_type_url(const udpa_resource *resource)
{
    return (udpai_str){udpa_bytes_data(resource->type), udpa_bytes_size(resource->type) - 1};
}

udpa_bytes *
udpai_resource_type(const udpa_resource *resource)
{
    return resource->type;
}

udpai_str
udpai_resource_value(const udpa_resource *resource)
{
    const char *any = udpa_bytes_data(resource->any);
    return (udpai_str){any + resource->value_at, resource->value_len};
}

udpa_bytes *
udpai_resource_any(const udpa_resource *resource)
{
    return resource->any;
}

uint64_t
udpai_resource_digest(const udpa_resource *resource)
{
    return resource->digest;
}

udpai_content_hash
udpai_resource_content_hash(const udpa_resource *resource)
{
    return resource->content_hash;
}

bool
udpai_resource_is_lazy(const udpa_resource *resource)
{
    return resource->lazy;
}

bool
udpai_resource_do_not_cache(const udpa_resource *resource)
{
    return resource->do_not_cache;
}

const udpai_signature *
udpai_resource_signature(const udpa_resource *resource)
{
    return resource->has_signature ? signature_of(resource) : NULL;
}

udpai_str
udpai_resource_alias(const udpa_resource *resource, size_t index)
{
    return text_of(resource, alias_table(resource)[index]);
}

bool
udpai_resource_is_redirect(const udpa_resource *resource)
{
    return resource->is_redirect;
}

udpai_str
udpai_resource_value_type(const udpa_resource *resource)
{
    udpai_str type_url, value;
    if (!resource->is_redirect ||
        !udpai_any_parse(udpai_bytes_view(resource->any), &type_url, &value))
        return udpai_resource_type_url(resource);
    return type_url;
}

udpai_str
udpai_resource_constraints(const udpa_resource *resource)
{
    return resource->constraints.len ? text_of(resource, resource->constraints) : (udpai_str){0};
}

unsigned
udpai_resource_n_constraint_keys(const udpa_resource *resource)
{
    return resource->n_constraint_keys;
}

udpai_str
udpai_resource_asked_name(const udpa_resource *resource)
{
    bool is_variant = resource->constraints.len && resource->n_aliases;
    return is_variant ? udpai_resource_alias(resource, 0) : udpai_resource_name(resource);
}

udpai_hop
udpai_resource_hop(const udpa_resource *resource, size_t index)
{
    const struct stored_hop *hop = &resource->hops[index];
    return (udpai_hop){
        .node_id = text_of(resource, hop->node_id),
        .authority = text_of(resource, hop->authority),
        .time_us = hop->time_us,
    };
}

bool
udpai_resource_passed(const udpa_resource *resource, udpai_str node_id)
{
    for (size_t i = 0; i < resource->n_hops; i++)
        if (udpai_str_eq(text_of(resource, resource->hops[i].node_id), node_id))
            return true;
    return false;
}

uint64_t
udpai_resource_way_digest(const udpa_resource *resource, size_t n_hops)
{
    udpai_way_digest digest;
    udpai_way_digest_begin(&digest, resource->generation);
    for (size_t i = 0; i < n_hops && i < resource->n_hops; i++)
        udpai_way_digest_add(&digest, text_of(resource, resource->hops[i].node_id));
    return udpai_way_digest_end(&digest);
}

bool
udpai_resource_same_payload(const udpa_resource *a, const udpa_resource *b)
{
    return udpai_str_eq(udpai_resource_version(a), udpai_resource_version(b)) &&
           udpai_str_eq(udpai_bytes_view(a->any), udpai_bytes_view(b->any)) &&
           udpai_str_eq(udpai_resource_constraints(a), udpai_resource_constraints(b));
}

static bool
same_signature(const udpa_resource *a, const udpa_resource *b)
{
    if (a->has_signature != b->has_signature)
        return false;
    if (!a->has_signature)
        return true;
    const udpai_signature *x = signature_of(a), *y = signature_of(b);
    return x->algorithm == y->algorithm && x->not_before_us == y->not_before_us &&
           x->not_after_us == y->not_after_us && udpai_str_eq(x->key_id, y->key_id) &&
           udpai_str_eq(x->value, y->value);
}

bool
udpai_resource_same_origin_info(const udpa_resource *a, const udpa_resource *b)
{
    if (a->generation != b->generation || a->n_hops != b->n_hops || !same_signature(a, b))
        return false;
    for (size_t i = 0; i < a->n_hops; i++) {
        udpai_hop x = udpai_resource_hop(a, i), y = udpai_resource_hop(b, i);
        if (!udpai_str_eq(x.node_id, y.node_id) || !udpai_str_eq(x.authority, y.authority))
            return false;
    }
    return true;
}

size_t
udpai_resource_footprint(const udpa_resource *resource)
{
    return resource->size + udpa_bytes_size(resource->any);
}

/* ---- the public face ---- */

const char *
udpa_resource_name(const udpa_resource *resource)
{
    return udpai_resource_name(resource).data;
}

const char *
udpa_resource_type_url(const udpa_resource *resource)
{
    return udpai_resource_type_url(resource).data;
}

const char *
udpa_resource_version(const udpa_resource *resource)
{
    return udpai_resource_version(resource).data;
}

const char *
udpa_resource_authority(const udpa_resource *resource)
{
    return udpai_resource_authority(resource).data;
}

const void *
udpa_resource_payload(const udpa_resource *resource, size_t *ret_size)
{
    udpai_str value = udpai_resource_value(resource);
    if (ret_size)
        *ret_size = value.len;
    return value.data;
}

uint64_t
udpa_resource_ttl_ms(const udpa_resource *resource)
{
    return resource->ttl_ms;
}

uint64_t
udpa_resource_generation(const udpa_resource *resource)
{
    return resource->generation;
}

size_t
udpa_resource_n_hops(const udpa_resource *resource)
{
    return resource->n_hops;
}

int
udpa_resource_is_redirect(const udpa_resource *resource)
{
    return resource->is_redirect;
}

const void *
udpa_resource_constraints(const udpa_resource *resource, size_t *ret_size)
{
    udpai_str constraints = udpai_resource_constraints(resource);
    if (ret_size)
        *ret_size = constraints.len;
    return constraints.data;
}

udpa_err
udpa_resource_hop(const udpa_resource *resource,
                  size_t index,
                  const char **ret_node_id,
                  const char **ret_authority,
                  int64_t *ret_time_us)
{
    if (!resource || index >= resource->n_hops || !ret_node_id)
        return UDPA_ERR_INVAL;
    udpai_hop hop = udpai_resource_hop(resource, index);
    *ret_node_id = hop.node_id.data;
    if (ret_authority)
        *ret_authority = hop.authority.data;
    if (ret_time_us)
        *ret_time_us = hop.time_us;
    return UDPA_OK;
}

size_t
udpa_resource_n_aliases(const udpa_resource *resource)
{
    return resource->n_aliases;
}

const char *
udpa_resource_alias(const udpa_resource *resource, size_t index)
{
    return index < resource->n_aliases ? udpai_resource_alias(resource, index).data : NULL;
}
