/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/directory_namespaces.h"

#include "base/strbuf.h"

/* False: without memory, or one of them is all. */
static bool
add_namespaces(const udpai_provider_config *provider,
               udpai_str source,
               udpai_directory_namespaces *to,
               udpa_err *ret_err)
{
    for (size_t i = 0; i < provider->n_descriptors; i++) {
        const udpai_descriptor_config *descriptor = &provider->descriptors[i];
        if (!udpai_str_eq(descriptor->source, source))
            continue;
        if (descriptor->prefix.len == 0) {
            to->n = 0;
            return false;
        }
        if (!udpai_vector_push(to, descriptor->prefix)) {
            *ret_err = UDPA_ERR_NOMEM;
            return false;
        }
    }
    return true;
}

udpa_err
udpai_directory_namespaces_find(const udpai_plan *plan,
                                udpai_str source,
                                udpai_directory_namespaces *ret)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; source.len && i < plan->providers.n; i++)
        if (!add_namespaces(&plan->providers.items[i], source, ret, &err))
            return err;
    return UDPA_OK;
}

char *
udpai_directory_namespaces_name(const udpai_plan *plan, udpai_str source)
{
    udpai_strbuf text = {0};
    udpai_directory_namespaces all = {0};
    udpa_err err = udpai_directory_namespaces_find(plan, source, &all);
    udpai_strbuf_puts(&text, "");
    for (size_t i = 0; i < all.n; i++) {
        udpai_strbuf_str(&text, all.items[i]);
        udpai_strbuf_putc(&text, '\n');
    }
    udpai_vector_done(&all);
    if (err == UDPA_OK)
        return udpai_strbuf_take(&text);
    udpai_strbuf_done(&text);
    return NULL;
}
