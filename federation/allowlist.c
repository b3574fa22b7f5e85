/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/allowlist.h"

#include "base/alloc.h"
#include "base/pattern.h"
#include "model/name.h"

static udpai_str *
copy_texts(const udpai_str *texts, size_t n)
{
    size_t size = (n + 1) * sizeof(*texts);
    for (size_t i = 0; i < n; i++)
        size += texts[i].len;
    udpai_str *copy = udpai_alloc(size);
    char *at = copy ? (char *)(copy + n) : NULL;
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = (udpai_str){at, texts[i].len};
        if (texts[i].len)
            memcpy(at, texts[i].data, texts[i].len);
        at += texts[i].len;
    }
    return copy;
}

udpa_err
udpai_allowlist_init(udpai_allowlist *allowlist,
                     const udpai_str *authorities,
                     size_t n_authorities,
                     const udpai_str *prefixes,
                     size_t n_prefixes)
{
    *allowlist = (udpai_allowlist){
        .authorities = copy_texts(authorities, n_authorities),
        .prefixes = copy_texts(prefixes, n_prefixes),
        .n_authorities = n_authorities,
        .n_prefixes = n_prefixes,
    };
    return allowlist->authorities && allowlist->prefixes ? UDPA_OK : UDPA_ERR_NOMEM;
}

void
udpai_allowlist_done(udpai_allowlist *allowlist)
{
    udpai_free(allowlist->authorities);
    udpai_free(allowlist->prefixes);
}

bool
udpai_allowlist_has(const udpai_allowlist *allowlist, udpai_str authority)
{
    return udpai_patterns_fit(allowlist->authorities, allowlist->n_authorities, authority);
}

bool
udpai_allowlist_covers(const udpai_allowlist *allowlist, udpai_str name)
{
    for (size_t i = 0; i < allowlist->n_prefixes; i++)
        if (udpai_prefix_covers(allowlist->prefixes[i], name))
            return true;
    return allowlist->n_prefixes == 0;
}
