/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/interest_internal.h"

#include "base/alloc.h"
#include "federation/clients.h"
#include "federation/demand.h"
#include "federation/provider.h"
#include "federation/reports.h"

#include "model/client_type.h"
#include "model/name.h"

udpa_err
udpai_interest_new(udpai_interest **ret_interest, const udpai_parts *parts)
{
    udpai_interest *interest = udpai_alloc(sizeof(*interest));
    if (!interest)
        return UDPA_ERR_NOMEM;
    interest->context = parts->context;
    interest->peers = parts->peers;
    interest->demand = parts->demand;
    interest->providers = parts->providers;
    interest->groups = parts->groups;
    udpai_reports_init(interest);
    *ret_interest = interest;
    return UDPA_OK;
}

void
udpai_interest_free(udpai_interest *interest)
{
    if (interest)
        udpai_reports_done(interest);
    udpai_free(interest);
}

static void
pass_to_providers(udpai_interest *interest, udpai_str type_url, udpai_str text, bool subscribed)
{
    udpai_providers_interest(interest->providers, type_url, text, subscribed);
    udpai_clients_interest(interest->groups, type_url, text, subscribed);
}

void
udpai_interest_change(udpai_interest *interest, udpai_str type_url, udpai_str text, bool subscribed)
{
    switch (udpai_demand_count(interest->demand, type_url, text, subscribed)) {
    case UDPAI_DEMAND_SAME:
        break;
    case UDPAI_DEMAND_BEGINS:
        pass_to_providers(interest, type_url, text, true);
        break;
    case UDPAI_DEMAND_REPEATED:
        udpai_providers_look_up(interest->providers, type_url, text);
        break;
    case UDPAI_DEMAND_ENDS:
        pass_to_providers(interest, type_url, text, false);
        udpai_demand_drop(interest->demand, type_url, text);
        break;
    }
}

void
udpai_interest_subscribe(udpai_interest *interest,
                         udpai_str type_url,
                         udpai_str text,
                         bool subscribed)
{
    udpai_interest_change(interest, type_url, text, subscribed);
    udpai_reports_subscribe(interest, type_url, text, subscribed);
}

void
udpai_interest_by_nodes(udpai_interest *interest,
                        udpai_str type_url,
                        udpai_str name,
                        bool subscribed)
{
    if (udpai_demand_by_nodes(interest->demand, type_url, name) == subscribed)
        return;
    udpai_demand_set_by_nodes(interest->demand, type_url, name, false);
    udpai_interest_subscribe(interest, type_url, name, subscribed);
    udpai_demand_set_by_nodes(interest->demand, type_url, name, subscribed);
}

bool
udpai_interest_look_up(udpai_interest *interest, udpai_str type_url, udpai_str name)
{
    bool has_demand = udpai_demand_has(interest->demand, type_url, name);
    if (has_demand)
        udpai_providers_look_up(interest->providers, type_url, name);
    return has_demand;
}

struct pattern {
    udpai_interest *interest;
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
    udpai_providers_look_up(pattern->interest->providers, pattern->type_url, text);
}

bool
udpai_interest_look_up_aliases(udpai_interest *interest, const udpa_resource *was)
{
    udpai_str type_url = udpai_resource_type_url(was);
    bool any = false;
    for (size_t i = 0; i < udpa_resource_n_aliases(was); i++) {
        struct pattern pattern = {interest, type_url, udpai_resource_alias(was, i), false};
        if (udpai_alias_is_pattern(pattern.alias))
            udpai_demand_visit(interest->demand, type_url, look_up_if_matched, &pattern);
        else
            pattern.any = udpai_interest_look_up(interest, type_url, pattern.alias);
        any |= pattern.any;
    }
    return any;
}
