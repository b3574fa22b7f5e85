/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/source_names.h"

#include <string.h>

bool
udpai_static_source_is_there(const Udpa__Config__V1__StaticResources *all, const char *name)
{
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (strcmp(all->config_sources[i]->name, name) == 0)
            return true;
    return false;
}

const char *
udpai_static_source_suggest(const Udpa__Config__V1__StaticResources *all,
                            const char *name,
                            char hint[UDPAI_CHOICE_TEXT])
{
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(name));
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        udpai_suggest_offer(&suggestion, all->config_sources[i]->name);
    return udpai_suggestion_or_list(&suggestion, hint);
}
