/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/mandate.h"

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
udpai_mandate_init(udpai_mandate *mandate,
                   const udpai_str *authorities,
                   size_t n_authorities,
                   const udpai_str *prefixes,
                   size_t n_prefixes)
{
    *mandate = (udpai_mandate){
        .authorities = copy_texts(authorities, n_authorities),
        .prefixes = copy_texts(prefixes, n_prefixes),
        .n_authorities = n_authorities,
        .n_prefixes = n_prefixes,
    };
    return mandate->authorities && mandate->prefixes ? UDPA_OK : UDPA_ERR_NOMEM;
}

void
udpai_mandate_done(udpai_mandate *mandate)
{
    udpai_free(mandate->authorities);
    udpai_free(mandate->prefixes);
}

bool
udpai_mandate_has(const udpai_mandate *mandate, udpai_str authority)
{
    return udpai_patterns_fit(mandate->authorities, mandate->n_authorities, authority);
}

bool
udpai_mandate_covers(const udpai_mandate *mandate, udpai_str name)
{
    for (size_t i = 0; i < mandate->n_prefixes; i++)
        if (udpai_prefix_covers(mandate->prefixes[i], name))
            return true;
    return mandate->n_prefixes == 0;
}
