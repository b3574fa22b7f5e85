/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/source_internal.h"

#include "base/alloc.h"
#include "federation/connection.h"

udpa_err
udpai_sources_new(udpai_sources **ret_sources, const udpai_parts *parts)
{
    udpai_sources *sources = udpai_alloc(sizeof(*sources));
    if (!sources)
        return UDPA_ERR_NOMEM;
    sources->context = parts->context;
    sources->peers = parts->peers;
    sources->demand = parts->demand;
    sources->sync = parts->sync;
    sources->shares = parts->shares;
    sources->lost_ms = UINT64_MAX;
    udpai_sources_init_table(sources);
    udpa_err err = udpai_roots_new(&sources->directories, parts->context);
    if (err == UDPA_OK)
        err = udpai_named_table_new(&sources->named_table);
    if (err != UDPA_OK)
        udpai_sources_free(sources);
    else
        *ret_sources = sources;
    return err;
}

void
udpai_sources_free(udpai_sources *sources)
{
    size_t at = 0;
    udpai_source *source;
    if (!sources)
        return;
    while ((source = udpai_map_next(&sources->by_link, &at)))
        udpai_source_free(source);
    udpai_map_done(&sources->by_link);
    udpai_map_done(&sources->by_name);
    udpai_map_done(&sources->by_origin);
    udpai_roots_free(sources->directories);
    udpai_named_table_free(sources->named_table);
    udpai_free(sources);
}

void
udpai_sources_set_finder(udpai_sources *sources, udpai_source_finder find, void *userdata)
{
    sources->find = find;
    sources->find_userdata = userdata;
}

udpa_err
udpai_sources_add(udpai_sources *sources,
                  const udpai_source_config *config,
                  bool serves_us,
                  udpa_error **ret_error)
{
    if (serves_us && udpai_map_get(&sources->by_name, config->name))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "two ConfigSources are named '%.*s'",
                          (int)config->name.len, config->name.data);
    udpai_source *source = NULL;
    udpa_err err = udpai_source_new(sources, config, serves_us, &source, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_sources_put(sources, source, serves_us)) {
        udpai_source_free(source);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    udpai_list_append(&sources->own, &source->in_own);
    return UDPA_OK;
}

udpa_err
udpai_sources_add_link(udpai_sources *sources,
                       const udpai_source_config *config,
                       uint64_t *ret_link,
                       udpa_error **ret_error)
{
    udpa_err err = udpai_sources_add(sources, config, false, ret_error);
    if (err == UDPA_OK)
        *ret_link = sources->last_link;
    return err;
}

udpa_err
udpai_sources_find(udpai_sources *sources,
                   udpai_str name,
                   udpai_awaited_by by,
                   const udpai_source **ret_source,
                   udpa_error **ret_error)
{
    if (sources->find)
        return sources->find(sources->find_userdata, name, by, ret_source, ret_error);
    *ret_source = udpai_map_get(&sources->by_name, name);
    return UDPA_OK;
}

void
udpai_sources_set_silent(udpai_sources *sources, bool is_silent)
{
    size_t at = 0;
    udpai_source *source;
    sources->context->is_silent = is_silent;
    while ((source = udpai_sources_next(sources, &at)))
        if (is_silent)
            udpai_source_begin_anew(source, 0);
        else
            udpai_source_dial_now(source);
}
