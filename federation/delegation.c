/* SPDX-License-Identifier: Apache-2.0 */
/* Following delegations: what is effective of them becomes providers of single names. They are
 * subscribed to like anything else in the process, so that what cannot be followed is told to
 * whoever published it. */
#include "federation/delegation.h"

#include "base/alloc.h"
#include "federation/allowlist.h"

struct udpai_delegations {
    udpai_node *node;
    udpai_local_subscription *subscription;
    udpai_allowlist allowlist;
    bool is_late;    /* there was no memory for one */
    bool has_news;   /* something has changed since the providers were looked at */
    bool has_looked; /* what is there in the beginning has been told */
};

/* ---- rules ---- */

static udpa_err
check_rules(const udpai_delegations *self,
            const udpa_resource *resource,
            udpai_str name,
            udpa_error **ret_error)
{
    udpai_str authority = udpai_resource_authority(resource);
    if (!udpai_allowlist_has(&self->allowlist, authority))
        return udpai_fail(
            ret_error, UDPA_ERR_DENIED,
            "'%.*s' delegates '%.*s', which this node does not follow: it is not among "
            "its delegation.authorities",
            UDPAI_SHOWN(authority), UDPAI_SHOWN(name));
    if (!udpai_allowlist_covers(&self->allowlist, name))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "'%.*s' may not be delegated here: it lies outside delegation.namespaces",
                          UDPAI_SHOWN(name));
    return UDPA_OK;
}

/* ---- following ---- */

static udpa_err
set(udpai_delegations *self, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_delegation delegation;
    udpa_err err = udpai_delegation_read(&delegation, resource, ret_error);
    delegation.named.at_once = !self->has_looked;
    if (err == UDPA_OK)
        err = check_rules(self, resource, delegation.named.name, ret_error);
    if (err == UDPA_OK)
        err = udpai_named_set(self->node, &delegation.named, ret_error);
    udpai_delegation_done(&delegation);
    return err;
}

static void
end(udpai_delegations *self, const udpa_resource *resource)
{
    char room[UDPAI_TYPE_URL_MAX];
    udpai_str type_url, name;
    if (udpai_delegation_read_name(udpai_resource_name(resource), room, &type_url, &name))
        udpai_named_end(self->node, type_url, name);
}

/* What is not to be followed ends what was followed before in its place; what is merely wrong does
 * not. */
static void
take(udpai_delegations *self, udpai_local_update *update, size_t index)
{
    const udpai_local_change *change = udpai_local_update_at(update, index);
    udpa_error *error = NULL;
    udpa_err err = UDPA_OK;
    if (change->is_removed)
        end(self, change->resource);
    else
        err = set(self, change->resource, &error);
    if (err == UDPA_ERR_DENIED)
        end(self, change->resource);
    self->is_late |= err == UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        return;
    udpai_log(UDPA_LOG_WARNING, "federation", "not followed: %s", udpa_error_message(error));
    udpai_local_update_refuse(update, index, error);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    udpai_delegations *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        take(self, update, i);
    self->has_looked = self->has_news = true;
}

static bool
set_again(void *userdata, udpa_resource *resource)
{
    udpai_delegations *self = userdata;
    self->is_late |= set(self, resource, NULL) == UDPA_ERR_NOMEM;
    return true;
}

void
udpai_delegations_look_again(udpai_delegations *self)
{
    if (self)
        self->is_late = true;
}

bool
udpai_delegations_catch_up(udpai_delegations *self)
{
    bool has_news = self->has_news || self->is_late;
    if (self->is_late) {
        self->is_late = false;
        udpai_store_visit_told(self->node->context.store, UDPAI_STR(UDPAI_DELEGATION_TYPE),
                               set_again, self);
    }
    self->has_looked = true; /* if there was nothing */
    self->has_news = false;
    return has_news;
}

/* ---- the whole ---- */

void
udpai_delegations_free(udpai_delegations *self)
{
    if (!self)
        return;
    udpai_allowlist_done(&self->allowlist);
    udpai_free(self);
}

udpa_err
udpai_delegations_new(udpai_delegations **ret_delegations,
                      udpai_node *node,
                      const udpai_delegation_config *config)
{
    if (config->n_authorities == 0)
        return UDPA_OK;
    udpai_delegations *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->node = node;
    const udpai_local_ops ops = {.update = on_update, .userdata = self};
    udpa_err err =
        udpai_allowlist_init(&self->allowlist, config->authorities, config->n_authorities,
                             config->prefixes, config->n_prefixes);
    if (err == UDPA_OK)
        err = udpai_node_subscribe(node,
                                   &(udpai_selection){.type_url = UDPAI_STR(UDPAI_DELEGATION_TYPE)},
                                   &ops, &self->subscription);
    if (err != UDPA_OK) {
        udpai_delegations_free(self);
        return err;
    }
    *ret_delegations = self;
    return UDPA_OK;
}
