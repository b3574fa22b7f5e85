/* SPDX-License-Identifier: Apache-2.0 */
/* One block of memory: the object, the tables of URIs and DNS names, then all text. */
#include "model/identity.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/pattern.h"

struct udpai_identity {
    atomic_uint refs;
    udpai_identity_parts parts;
    udpai_str names[]; /* URIs, then DNS names, then the text they and the common name refer to */
};

static size_t
size_of(const udpai_identity_parts *parts)
{
    size_t n = parts->n_uris + parts->n_dns_names;
    size_t size = sizeof(udpai_identity) + n * sizeof(udpai_str) + parts->common_name.len + 1;
    for (size_t i = 0; i < parts->n_uris; i++)
        size += parts->uris[i].len + 1;
    for (size_t i = 0; i < parts->n_dns_names; i++)
        size += parts->dns_names[i].len + 1;
    return size;
}

udpa_err
udpai_identity_new(udpai_identity **ret_identity, const udpai_identity_parts *parts)
{
    udpai_identity *identity = udpai_alloc(size_of(parts));
    if (!identity)
        return UDPA_ERR_NOMEM;
    atomic_init(&identity->refs, 1);
    udpai_str *uris = identity->names, *dns_names = uris + parts->n_uris;
    char *at = (char *)(dns_names + parts->n_dns_names);
    identity->parts = (udpai_identity_parts){
        .common_name = udpai_str_put_terminated(&at, parts->common_name),
        .uris = uris,
        .n_uris = parts->n_uris,
        .dns_names = dns_names,
        .n_dns_names = parts->n_dns_names,
        .authenticated = parts->authenticated,
    };
    for (size_t i = 0; i < parts->n_uris; i++)
        uris[i] = udpai_str_put_terminated(&at, parts->uris[i]);
    for (size_t i = 0; i < parts->n_dns_names; i++)
        dns_names[i] = udpai_str_put_terminated(&at, parts->dns_names[i]);
    *ret_identity = identity;
    return UDPA_OK;
}

udpa_err
udpai_identity_of_user(udpai_identity **ret_identity, uint32_t uid)
{
    char text[32];
    int len = snprintf(text, sizeof(text), UDPAI_IDENTITY_USER "%" PRIu32, uid);
    const udpai_str name = {text, (size_t)len};
    const udpai_identity_parts parts = {.uris = &name, .n_uris = 1, .authenticated = true};
    return udpai_identity_new(ret_identity, &parts);
}

udpai_identity *
udpai_identity_ref(udpai_identity *identity)
{
    if (identity)
        atomic_fetch_add_explicit(&identity->refs, 1, memory_order_relaxed);
    return identity;
}

udpai_identity *
udpai_identity_unref(udpai_identity *identity)
{
    if (identity && atomic_fetch_sub_explicit(&identity->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(identity);
    return NULL;
}

bool
udpai_identity_is_proven(const udpai_identity *identity)
{
    return identity && udpai_identity_parts_of(identity)->authenticated;
}

const udpai_identity_parts *
udpai_identity_parts_of(const udpai_identity *identity)
{
    return &identity->parts;
}

udpai_str
udpai_identity_name(const udpai_identity *identity)
{
    if (identity && identity->parts.common_name.len)
        return identity->parts.common_name;
    size_t n = identity ? identity->parts.n_uris + identity->parts.n_dns_names : 0;
    return n ? identity->names[0] : UDPAI_STR("");
}

udpai_str
udpai_peer_counts_as(const udpai_identity *identity, udpai_str address)
{
    udpai_str name = udpai_identity_name(identity);
    const char *port = address.len ? memrchr(address.data, ':', address.len) : NULL;
    if (name.len == 0)
        name = (udpai_str){address.data, port ? (size_t)(port - address.data) : address.len};
    return name;
}

bool
udpai_identity_matches(const udpai_identity *identity, udpai_str text)
{
    if (!identity || text.len == 0)
        return false;
    if (udpai_str_eq(identity->parts.common_name, text))
        return true;
    size_t n = identity->parts.n_uris + identity->parts.n_dns_names;
    for (size_t i = 0; i < n; i++)
        if (udpai_str_eq(identity->names[i], text))
            return true;
    return false;
}

bool
udpai_identity_fits(const udpai_identity *identity, const udpai_str *patterns, size_t n)
{
    const udpai_identity_parts *parts = identity ? &identity->parts : NULL;
    if (!parts || !parts->authenticated)
        return false;
    if (parts->common_name.len && udpai_patterns_fit(patterns, n, parts->common_name))
        return true;
    for (size_t i = 0; i < parts->n_uris; i++)
        if (udpai_patterns_fit(patterns, n, parts->uris[i]))
            return true;
    for (size_t i = 0; i < parts->n_dns_names; i++)
        if (udpai_patterns_fit(patterns, n, parts->dns_names[i]))
            return true;
    return false;
}
