/* SPDX-License-Identifier: Apache-2.0 */
#include "model/secret_type.h"

#include "base/alloc.h"
#include "model/types.h"

/* Those of the configuration; set once, then only read. */
static udpai_str *added;
static size_t n_added;

static void
forget_added(void)
{
    while (n_added)
        udpai_free((char *)(uintptr_t)added[--n_added].data);
    udpai_free(added);
    added = NULL;
}

udpa_err
udpai_secret_types_set(const udpai_str *type_urls, size_t n)
{
    forget_added();
    if (n && !(added = udpai_alloc(n * sizeof(*added))))
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        udpai_str name = udpai_type_url_name(type_urls[i]);
        char *copy = udpai_strndup(name.data, name.len);
        if (!copy) {
            forget_added();
            return UDPA_ERR_NOMEM;
        }
        added[n_added++] = (udpai_str){copy, name.len};
    }
    return UDPA_OK;
}

bool
udpai_type_is_secret_of(const udpai_str *further, size_t n, udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    const udpai_type_info *type = udpai_type_find(type_url);
    bool is = type && type->is_secret;
    for (size_t i = 0; i < n && !is; i++)
        is = udpai_str_eq(name, udpai_type_url_name(further[i]));
    return is;
}

bool
udpai_type_is_secret(udpai_str type_url)
{
    return udpai_type_is_secret_of(added, n_added, type_url);
}
