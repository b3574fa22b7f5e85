/* SPDX-License-Identifier: Apache-2.0 */
/* One allocation holds the object, its table of aliases, and all text of its own, and a small
 * value; the type URL, the path it has come, and a larger payload are shared. There are as many as
 * names: what few have is in a part of its own, and what follows from the rest is not kept. */
#include "model/resource.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "model/variant.h"

/* Positions are counted from the beginning of the text. Every text ends with a NUL. */
struct text_ref {
    uint32_t at, len;
};

struct stored_rare {
    uint64_t ttl_ms;
    uint32_t constraints_len, n_constraint_keys;
};

/* Behind it: when the nodes took it; the content hash, if the version is another; what is rare, and
 * the signature, if there are any; struct text_ref aliases[]; and the text: name, version,
 * constraints, aliases, signature; and a small value. */
struct udpa_resource {
    atomic_uint refs;
    uint16_t n_aliases;
    uint8_t n_hops;
    bool lazy : 1, do_not_cache : 1, has_signature : 1, has_rare : 1, is_redirect : 1;
    bool is_hash_version : 1; /* the version is the content hash */
    bool is_bare : 1;    /* the payload is the value of an Any in the usual form, not the Any */
    udpa_bytes *payload; /* NULL: it is small */
    udpa_bytes *type;
    udpai_hop_path *hop_path;
    uint64_t generation;
    uint32_t size, name_len, version_len;
    uint32_t small_len; /* of a value that is the last part of this; 0: the payload is elsewhere */
    int64_t hop_times_us[];
};

/* ---- where what is ---- */

static udpai_content_hash *
hash_of(const udpa_resource *resource)
{
    return (udpai_content_hash *)(uintptr_t)(resource->hop_times_us + resource->n_hops);
}

static struct stored_rare *
rare_of(const udpa_resource *resource)
{
    return (struct stored_rare *)(hash_of(resource) + !resource->is_hash_version);
}

/* Its texts are views into this object. */
static udpai_signature *
signature_of(const udpa_resource *resource)
{
    return (udpai_signature *)(rare_of(resource) + resource->has_rare);
}

static struct text_ref *
alias_table(const udpa_resource *resource)
{
    return (struct text_ref *)(signature_of(resource) + resource->has_signature);
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

static struct text_ref
version_ref(const udpa_resource *resource)
{
    return (struct text_ref){resource->name_len + 1, resource->version_len};
}

static struct text_ref
constraints_ref(const udpa_resource *resource)
{
    struct text_ref version = version_ref(resource);
    uint32_t len = resource->has_rare ? rare_of(resource)->constraints_len : 0;
    return (struct text_ref){version.at + version.len + 1, len};
}

/* ---- making ---- */

/* What follows from the parts. */
struct content {
    udpai_str version;
    bool is_hash_version;
    udpai_content_hash hash;
    char hex[UDPAI_CONTENT_HASH_HEX];
};

static void
find_content(const udpai_resource_parts *parts,
             udpai_str type_url,
             udpai_str value,
             struct content *ret_content)
{
    udpai_content_hash hash = udpai_content_hash_of(type_url, value);
    if (parts->constraints.len)
        hash = udpai_content_hash_of_variant(hash, parts->constraints);
    udpai_content_hash_hex(hash, ret_content->hex);
    udpai_str hex = {ret_content->hex, sizeof(ret_content->hex)};
    ret_content->hash = hash;
    ret_content->version = parts->version.len ? parts->version : hex;
    ret_content->is_hash_version = udpai_str_eq(ret_content->version, hex);
}

static bool
is_rare(const udpai_resource_parts *parts)
{
    return parts->ttl_ms || parts->constraints.len;
}

static size_t
text_size(const udpai_resource_parts *parts, const struct content *content)
{
    size_t size = parts->name.len + content->version.len + parts->constraints.len + 3;
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
put_texts(udpa_resource *resource, const udpai_resource_parts *parts, udpai_str version)
{
    size_t at = 0;
    resource->name_len = put_text(resource, &at, parts->name).len;
    resource->version_len = put_text(resource, &at, version).len;
    put_text(resource, &at, parts->constraints);
    for (size_t i = 0; i < parts->n_aliases; i++)
        alias_table(resource)[i] = put_text(resource, &at, parts->aliases[i]);
    if (resource->has_signature)
        put_signature(resource, &at, &parts->signature);
}

static udpa_resource *
allocate(const udpai_resource_parts *parts, const struct content *content)
{
    bool is_signed = parts->signature.algorithm != 0;
    size_t size = sizeof(udpa_resource) + parts->n_hops * sizeof(int64_t) +
                  (content->is_hash_version ? 0 : sizeof(udpai_content_hash)) +
                  (is_rare(parts) ? sizeof(struct stored_rare) : 0) +
                  (is_signed ? sizeof(udpai_signature) : 0) +
                  parts->n_aliases * sizeof(struct text_ref) + text_size(parts, content) +
                  parts->small.len;
    udpa_resource *resource = size <= UINT32_MAX ? udpai_alloc(size) : NULL;
    if (resource) {
        atomic_init(&resource->refs, 1);
        resource->size = (uint32_t)size;
        resource->n_hops = (uint8_t)parts->n_hops;
        resource->n_aliases = (uint16_t)parts->n_aliases;
        resource->has_signature = is_signed;
        resource->has_rare = is_rare(parts);
        resource->is_hash_version = content->is_hash_version;
    }
    return resource;
}

static void
put_rare(udpa_resource *resource, const udpai_resource_parts *parts)
{
    *rare_of(resource) = (struct stored_rare){
        .ttl_ms = parts->ttl_ms,
        .constraints_len = (uint32_t)parts->constraints.len,
    };
    if (parts->constraints.len)
        rare_of(resource)->n_constraint_keys = udpai_constraints_n_keys(parts->constraints);
}

static void
put_payload(udpa_resource *resource, const udpai_resource_parts *parts)
{
    resource->is_bare = parts->small.len || parts->value;
    if (parts->small.len == 0) {
        resource->payload = udpa_bytes_ref(parts->value ? parts->value : parts->any);
        return;
    }
    resource->small_len = (uint32_t)parts->small.len;
    memcpy((char *)resource + resource->size - parts->small.len, parts->small.data,
           parts->small.len);
}

udpa_err
udpai_resource_make(udpa_resource **ret_resource, const udpai_resource_parts *parts)
{
    udpai_str type_url, value;
    if (!udpai_resource_parts_read_any(parts, &type_url, &value))
        return UDPA_ERR_MALFORMED;
    struct content content;
    find_content(parts, type_url, value, &content);
    udpa_resource *resource = allocate(parts, &content);
    udpai_str wrapped = parts->redirected_type.len ? parts->redirected_type : type_url;
    udpa_bytes *type = parts->type ? udpa_bytes_ref(parts->type) : udpai_bytes_cstring(wrapped);
    udpai_hop_path *path =
        udpai_hop_path_of(parts->hop_path, parts->authority, parts->hops, parts->n_hops);
    if (!resource || !type || !path) {
        udpai_free(resource);
        udpa_bytes_unref(type);
        udpai_hop_path_unref(path);
        return UDPA_ERR_NOMEM;
    }
    put_payload(resource, parts);
    resource->type = type;
    resource->hop_path = path;
    for (size_t i = 0; i < parts->n_hops; i++)
        resource->hop_times_us[i] = parts->hops[i].time_us;
    if (!content.is_hash_version)
        *hash_of(resource) = content.hash;
    if (resource->has_rare)
        put_rare(resource, parts);
    resource->generation = parts->generation;
    resource->is_redirect = parts->redirected_type.len > 0;
    resource->lazy = parts->lazy;
    resource->do_not_cache = parts->do_not_cache;
    put_texts(resource, parts, content.version);
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
        .any = resource->is_bare ? NULL : resource->payload,
        .value = resource->is_bare ? resource->payload : NULL,
        .small = resource->small_len ? udpai_resource_any_body(resource) : (udpai_str){0},
        .type = resource->type,
        .hop_path = resource->hop_path,
        .generation = resource->generation,
        .ttl_ms = udpa_resource_ttl_ms(resource),
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
        udpa_bytes_unref(resource->payload);
        udpa_bytes_unref(resource->type);
        udpai_hop_path_unref(resource->hop_path);
        udpai_free(resource);
    }
    return NULL;
}

udpai_str
udpai_resource_name(const udpa_resource *resource)
{
    return (udpai_str){text_start(resource), resource->name_len};
}

udpai_str
udpai_resource_version(const udpa_resource *resource)
{
    return text_of(resource, version_ref(resource));
}

udpai_str
udpai_resource_authority(const udpa_resource *resource)
{
    return udpai_hop_path_authority(resource->hop_path);
}

udpai_str
udpai_resource_type_url(const udpa_resource *resource)
{
    return (udpai_str){udpa_bytes_data(resource->type), udpa_bytes_size(resource->type) - 1};
}

udpai_hop_path *
udpai_resource_hop_path(const udpa_resource *resource)
{
    return resource->hop_path;
}

udpa_bytes *
udpai_resource_type(const udpa_resource *resource)
{
    return resource->type;
}

/* Reads the Any. */
static void
read_payload(const udpa_resource *resource, udpai_str *ret_type_url, udpai_str *ret_value)
{
    udpai_str payload = udpai_resource_any_body(resource);
    if (!resource->is_bare && udpai_any_parse(payload, ret_type_url, ret_value))
        return;
    *ret_type_url = udpai_resource_type_url(resource);
    *ret_value = payload;
}

udpai_str
udpai_resource_value(const udpa_resource *resource)
{
    udpai_str type_url, value;
    read_payload(resource, &type_url, &value);
    return value.len ? value : (udpai_str){udpai_resource_any_body(resource).data, 0};
}

udpai_str
udpai_resource_any_head(const udpa_resource *resource, udpai_any_room *room)
{
    return resource->is_bare ? udpai_any_head(room, udpai_resource_type_url(resource),
                                              udpai_resource_any_body(resource).len)
                             : (udpai_str){0};
}

udpai_str
udpai_resource_any_body(const udpa_resource *resource)
{
    if (resource->payload)
        return udpai_bytes_view(resource->payload);
    return (udpai_str){(const char *)resource + resource->size - resource->small_len,
                       resource->small_len};
}

udpa_bytes *
udpai_resource_any_shared(const udpa_resource *resource)
{
    return resource->payload;
}

size_t
udpai_resource_any_size(const udpa_resource *resource)
{
    udpai_str payload = udpai_resource_any_body(resource);
    return resource->is_bare ? udpai_any_size(udpai_resource_type_url(resource), payload)
                             : payload.len;
}

void
udpai_resource_put_any(udpai_proto_writer *writer, uint32_t number, const udpa_resource *resource)
{
    udpai_str payload = udpai_resource_any_body(resource);
    udpai_proto_put_head(writer, number, udpai_resource_any_size(resource));
    if (resource->is_bare)
        udpai_any_put(writer, udpai_resource_type_url(resource), payload);
    else
        udpai_proto_put_raw(writer, payload);
}

udpai_content_hash
udpai_resource_content_hash(const udpa_resource *resource)
{
    return resource->is_hash_version
               ? udpai_content_hash_from(udpai_resource_version(resource).data)
               : *hash_of(resource);
}

void
udpai_resource_content_hex(const udpa_resource *resource, char hex[UDPAI_CONTENT_HASH_HEX])
{
    if (resource->is_hash_version)
        memcpy(hex, udpai_resource_version(resource).data, UDPAI_CONTENT_HASH_HEX);
    else
        udpai_content_hash_hex(*hash_of(resource), hex);
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
    if (!resource->is_redirect)
        return udpai_resource_type_url(resource);
    read_payload(resource, &type_url, &value);
    return type_url;
}

udpai_str
udpai_resource_constraints(const udpa_resource *resource)
{
    struct text_ref ref = constraints_ref(resource);
    return ref.len ? text_of(resource, ref) : (udpai_str){0};
}

unsigned
udpai_resource_n_constraint_keys(const udpa_resource *resource)
{
    return resource->has_rare ? rare_of(resource)->n_constraint_keys : 0;
}

udpai_str
udpai_resource_asked_name(const udpa_resource *resource)
{
    bool is_variant = udpai_resource_constraints(resource).len && resource->n_aliases;
    return is_variant ? udpai_resource_alias(resource, 0) : udpai_resource_name(resource);
}

udpai_hop
udpai_resource_hop(const udpa_resource *resource, size_t index)
{
    udpai_hop hop = udpai_hop_path_hop(resource->hop_path, index);
    hop.time_us = resource->hop_times_us[index];
    return hop;
}

bool
udpai_resource_passed(const udpa_resource *resource, udpai_str node_id, udpai_str instance)
{
    for (size_t i = 0; i < resource->n_hops; i++) {
        const udpai_hop hop = udpai_hop_path_hop(resource->hop_path, i);
        if (udpai_hop_is_of(&hop, node_id, instance))
            return true;
    }
    return false;
}

uint64_t
udpai_resource_path_digest(const udpa_resource *resource, size_t n_hops)
{
    udpai_hop_path_digest digest;
    udpai_hop_path_digest_begin(&digest, resource->generation);
    for (size_t i = 0; i < n_hops && i < resource->n_hops; i++) {
        const udpai_hop hop = udpai_hop_path_hop(resource->hop_path, i);
        udpai_hop_path_digest_add(&digest, hop.node_id);
        if (hop.instance.len)
            udpai_hop_path_digest_add(&digest, hop.instance);
    }
    return udpai_hop_path_digest_end(&digest);
}

static bool
is_same_whole(const udpa_resource *bare, const udpa_resource *other)
{
    udpai_any_room room;
    udpai_str head = udpai_resource_any_head(bare, &room), body = udpai_resource_any_body(bare),
              whole = udpai_resource_any_body(other);
    return whole.len == head.len + body.len &&
           udpai_str_eq(head, (udpai_str){whole.data, head.len}) &&
           udpai_str_eq(body, (udpai_str){whole.data + head.len, body.len});
}

/* Whether or not both are kept in the same form. */
static bool
same_any(const udpa_resource *a, const udpa_resource *b)
{
    if (a->is_bare != b->is_bare)
        return a->is_bare ? is_same_whole(a, b) : is_same_whole(b, a);
    return udpai_str_eq(udpai_resource_any_body(a), udpai_resource_any_body(b)) &&
           (!a->is_bare || udpai_str_eq(udpai_resource_type_url(a), udpai_resource_type_url(b)));
}

bool
udpai_resource_same_payload(const udpa_resource *a, const udpa_resource *b)
{
    return udpai_str_eq(udpai_resource_version(a), udpai_resource_version(b)) && same_any(a, b) &&
           udpai_str_eq(udpai_resource_constraints(a), udpai_resource_constraints(b));
}

bool
udpai_resource_same_aliases(const udpa_resource *a, const udpa_resource *b)
{
    size_t n = udpa_resource_n_aliases(a);
    if (n != udpa_resource_n_aliases(b))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!udpai_str_eq(udpai_resource_alias(a, i), udpai_resource_alias(b, i)))
            return false;
    return true;
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
        if (!udpai_str_eq(x.node_id, y.node_id) || !udpai_str_eq(x.authority, y.authority) ||
            !udpai_str_eq(x.instance, y.instance))
            return false;
    }
    return true;
}

bool
udpai_resource_is_same(const udpa_resource *a, const udpa_resource *b)
{
    return udpai_resource_same_payload(a, b) && udpai_resource_same_aliases(a, b) &&
           udpai_resource_same_origin_info(a, b) &&
           udpa_resource_ttl_ms(a) == udpa_resource_ttl_ms(b) &&
           udpai_resource_is_lazy(a) == udpai_resource_is_lazy(b) &&
           udpai_resource_do_not_cache(a) == udpai_resource_do_not_cache(b);
}

size_t
udpai_resource_footprint(const udpa_resource *resource)
{
    size_t shared = resource->payload ? udpa_bytes_size(resource->payload) : 0;
    return resource->size + udpai_hop_path_size(resource->hop_path) + shared;
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
    return resource->has_rare ? rare_of(resource)->ttl_ms : 0;
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
