/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interest.h"
#include "federation/named.h"
#include "federation/provider.h"
#include "federation/reports.h"

#include "model/client_type.h"
#include "model/name.h"

static void
tell_providers(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_provider *provider = udpai_map_get(&node->providers, type_url);
    if (provider)
        udpai_provider_take_interest(provider, text, wanted);
    else if (wanted && (node->context.is_endpoint || !udpai_type_is_client(type_url)))
        udpai_providers_expect(node, type_url); /* takes it with all others */
    udpai_named_interest(node, type_url, text, wanted);
    udpai_clients_interest(node, type_url, text, wanted);
}

void
udpai_interest_change(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    switch (udpai_demand_count(node, type_url, text, wanted)) {
    case UDPAI_DEMAND_SAME:
        break;
    case UDPAI_DEMAND_BEGINS:
        tell_providers(node, type_url, text, true);
        break;
    case UDPAI_DEMAND_REPEATED:
        udpai_providers_look_up(node, type_url, text);
        break;
    case UDPAI_DEMAND_ENDS:
        tell_providers(node, type_url, text, false);
        udpai_demand_drop(node, type_url, text);
        break;
    }
}

void
udpai_interest_want(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    udpai_interest_change(node, type_url, text, wanted);
    udpai_reports_want(node, type_url, text, wanted);
}

void
udpai_interest_by_nodes(udpai_node *node, udpai_str type_url, udpai_str name, bool wanted)
{
    if (udpai_demand_by_nodes(node, type_url, name) == wanted)
        return;
    udpai_demand_set_by_nodes(node, type_url, name, false);
    udpai_interest_want(node, type_url, name, wanted);
    udpai_demand_set_by_nodes(node, type_url, name, wanted);
}

bool
udpai_interest_look_up(udpai_node *node, udpai_str type_url, udpai_str name)
{
    bool is_wanted = udpai_demand_has(node, type_url, name);
    if (is_wanted)
        udpai_providers_look_up(node, type_url, name);
    return is_wanted;
}

struct pattern {
    udpai_node *node;
    udpai_str type_url, alias;
    bool any;
};

static void
look_up_if_matched(void *userdata, udpai_str text)
{
    struct pattern *pattern = userdata;
    if (text.data[0] == '*' || !udpai_alias_matches(pattern->alias, text))
        return;
    pattern->any = true;
    udpai_providers_look_up(pattern->node, pattern->type_url, text);
}

bool
udpai_interest_look_up_aliases(udpai_node *node, const udpa_resource *was)
{
    udpai_str type_url = udpai_resource_type_url(was);
    bool any = false;
    for (size_t i = 0; i < udpa_resource_n_aliases(was); i++) {
        struct pattern pattern = {node, type_url, udpai_resource_alias(was, i), false};
        if (udpai_alias_is_pattern(pattern.alias))
            udpai_demand_visit(node, type_url, look_up_if_matched, &pattern);
        else
            pattern.any = udpai_interest_look_up(node, type_url, pattern.alias);
        any |= pattern.any;
    }
    return any;
}
