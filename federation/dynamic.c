/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/dynamic_internal.h"

#include "base/alloc.h"

/* Their timers; the sources themselves go with the table. */
static void
free_sources(udpai_dynamic *dynamic)
{
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_sources_next(dynamic->sources, &at))) {
        udpai_dynamic_source_free(udpai_source_dynamic(source));
        udpai_source_set_dynamic(source, NULL);
    }
}

void
udpai_dynamic_free(udpai_dynamic *dynamic)
{
    if (!dynamic)
        return;
    udpai_follower_free(dynamic->delegations);
    udpai_follower_free(dynamic->sources_follower);
    free_sources(dynamic);
    udpai_free(dynamic);
}

udpa_err
udpai_dynamic_new(udpai_dynamic **ret_dynamic,
                  const udpai_parts *parts,
                  const udpai_node_config *config)
{
    udpai_dynamic *dynamic = udpai_alloc(sizeof(*dynamic));
    if (!dynamic)
        return UDPA_ERR_NOMEM;
    dynamic->context = parts->context;
    dynamic->sources = parts->sources;
    dynamic->providers = parts->providers;
    dynamic->local = parts->local;
    dynamic->sync = parts->sync;
    udpa_err err = udpai_dynamic_sources_new(dynamic, &config->delivery);
    if (err == UDPA_OK)
        err = udpai_delegations_new(dynamic, &config->delegation);
    if (err != UDPA_OK)
        udpai_dynamic_free(dynamic);
    else
        *ret_dynamic = dynamic;
    return err;
}

udpa_err
udpai_dynamic_start(udpai_dynamic *dynamic)
{
    udpa_err err = UDPA_OK;
    if (dynamic->delegations)
        err = udpai_follower_start(dynamic->delegations, dynamic->local);
    if (err == UDPA_OK && dynamic->sources_follower)
        err = udpai_follower_start(dynamic->sources_follower, dynamic->local);
    return err;
}

bool
udpai_dynamic_catch_up(udpai_dynamic *dynamic)
{
    if (dynamic->is_untidy && udpai_dynamic_source_remove_unused(dynamic))
        udpai_follower_look_again(dynamic->delegations);
    dynamic->is_untidy = false;
    bool has_changed = udpai_follower_catch_up(dynamic->sources_follower);
    has_changed |= udpai_follower_catch_up(dynamic->delegations);
    return has_changed;
}

bool
udpai_dynamic_has_sources(const udpai_dynamic *dynamic)
{
    return dynamic->sources_follower != NULL;
}
