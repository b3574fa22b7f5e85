/* SPDX-License-Identifier: Apache-2.0 */
/* Following delegations: what is effective of them becomes providers of single names. */
#include "federation/dynamic_internal.h"

#include "federation/provider.h"

/* ---- rules ---- */

static udpa_err
check_rules(const udpai_dynamic *self,
            const udpa_resource *resource,
            udpai_str name,
            udpa_error **ret_error)
{
    udpai_str authority = udpai_resource_authority(resource);
    if (!udpai_follower_has(self->delegations, authority))
        return udpai_fail(
            ret_error, UDPA_ERR_DENIED,
            "'%.*s' delegates '%.*s', which this node does not follow: it is not among "
            "its delegation.authorities",
            UDPAI_SHOWN(authority), UDPAI_SHOWN(name));
    if (!udpai_follower_covers(self->delegations, name))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "'%.*s' may not be delegated here: it lies outside delegation.namespaces",
                          UDPAI_SHOWN(name));
    return UDPA_OK;
}

/* ---- following ---- */

static udpa_err
set(void *userdata, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_dynamic *self = userdata;
    udpai_delegation delegation;
    udpa_err err = udpai_delegation_read(&delegation, resource, ret_error);
    delegation.named.at_once = !udpai_follower_has_looked(self->delegations);
    if (err == UDPA_OK)
        err = check_rules(self, resource, delegation.named.name, ret_error);
    if (err == UDPA_OK)
        err = udpai_named_set(self->providers, &delegation.named, ret_error);
    udpai_delegation_done(&delegation);
    return err;
}

static bool
end(void *userdata, const udpa_resource *resource)
{
    udpai_dynamic *self = userdata;
    char room[UDPAI_TYPE_URL_MAX];
    udpai_str type_url, name;
    if (udpai_delegation_read_name(udpai_resource_name(resource), room, &type_url, &name))
        udpai_named_end(self->providers, type_url, name);
    return true;
}

udpa_err
udpai_delegations_new(udpai_dynamic *dynamic, const udpai_delegation_config *config)
{
    const udpai_follower_ops ops = {
        .not_done = "not followed",
        .set = set,
        .end = end,
        .userdata = dynamic,
    };
    const udpai_follower_scope scope = {
        .type_url = UDPAI_STR(UDPAI_DELEGATION_TYPE),
        .authorities = config->authorities,
        .n_authorities = config->n_authorities,
        .prefixes = config->prefixes,
        .n_prefixes = config->n_prefixes,
    };
    if (config->n_authorities == 0)
        return UDPA_OK;
    return udpai_follower_new(&dynamic->delegations, dynamic->context, &scope, &ops);
}
