/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/sources.h"

static udpai_str
source_key(const void *item)
{
    return udpai_bytes_view(((const udpai_source *)item)->name);
}

static udpai_str
link_key(const void *item)
{
    const udpai_source *source = item;
    return (udpai_str){(const char *)&source->link, sizeof(source->link)};
}

void
udpai_sources_init(udpai_node *node)
{
    udpai_map_init(&node->sources, source_key);
    udpai_map_init(&node->links, link_key);
    udpai_list_init(&node->own_sources);
}

udpa_err
udpai_sources_add(udpai_node *node,
                  const udpai_source_config *config,
                  bool serves_us,
                  udpa_error **ret_error)
{
    if (serves_us && udpai_map_get(&node->sources, config->name))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "two ConfigSources are named '%.*s'",
                          (int)config->name.len, config->name.data);
    udpai_source *source = NULL;
    udpa_err err = udpai_source_new(node, config, serves_us, &source, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_map_reserve(&node->links, 1) ||
        (serves_us && !udpai_map_reserve(&node->sources, 1))) {
        udpai_source_free(source);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    (void)udpai_map_add(&node->links, source);
    if (serves_us)
        (void)udpai_map_add(&node->sources, source);
    udpai_list_append(&node->own_sources, &source->in_own);
    return UDPA_OK;
}

udpa_err
udpai_sources_find(udpai_node *node,
                   udpai_str name,
                   udpai_awaited_by who,
                   const udpai_source **ret_source,
                   udpa_error **ret_error)
{
    if (node->find_source)
        return node->find_source(node, name, who, ret_source, ret_error);
    *ret_source = udpai_map_get(&node->sources, name);
    return UDPA_OK;
}
