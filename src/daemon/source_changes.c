/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/source_changes.h"

#include "daemon/config_difference.h"
#include "daemon/source_names.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__Provider provider_message;

/* ---- all of a file ---- */

/* Until false is returned. */
typedef bool (*source_fn)(void *userdata, const source_message *source);

static void
visit_sources(const bootstrap_message *message, source_fn visit, void *userdata)
{
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (!visit(userdata, all->config_sources[i]))
            return;
    for (size_t i = 0; i < message->n_providers; i++)
        for (size_t k = 0; k < message->providers[i]->n_config_descriptors; k++) {
            const source_message *own =
                udpai_source_inline(message->providers[i]->config_descriptors[k]);
            if (own && !visit(userdata, own))
                return;
        }
}

struct search {
    udpai_str name;
    const source_message *found;
};

static bool
look_at(void *userdata, const source_message *source)
{
    struct search *self = userdata;
    if (udpai_str_eq(udpai_str_from(source->name), self->name))
        self->found = source;
    return !self->found;
}

const source_message *
udpai_source_named(const bootstrap_message *message, udpai_str name)
{
    struct search search = {.name = name};
    visit_sources(message, look_at, &search);
    return search.found;
}

/* ---- what has changed ---- */

/* All but what has nothing to do with the peer. */
bool
udpai_source_is_reached_alike(const bootstrap_message *before,
                              const bootstrap_message *now,
                              udpai_str name)
{
    const source_message *a = udpai_source_named(before, name), *b = udpai_source_named(now, name);
    if (!a || !b)
        return false;
    source_message alike = *b;
    alike.recover = a->recover;
    alike.standby_for = a->standby_for;
    alike.n_standby = a->n_standby;
    alike.standby = a->standby;
    alike.max_withdrawal = a->max_withdrawal;
    return udpai_config_is_same(&a->base, &alike.base);
}

struct visit {
    const bootstrap_message *other;
    udpai_source_change_fn visit;
    void *userdata;
};

static bool
visit_gone(void *userdata, const source_message *source)
{
    const struct visit *self = userdata;
    if (!udpai_source_named(self->other, udpai_str_from(source->name)))
        self->visit(self->userdata, source->name, "removed");
    return true;
}

static bool
visit_there(void *userdata, const source_message *source)
{
    const struct visit *self = userdata;
    const source_message *before = udpai_source_named(self->other, udpai_str_from(source->name));
    if (!before)
        self->visit(self->userdata, source->name, "added");
    else if (!udpai_config_is_same(&before->base, &source->base))
        self->visit(self->userdata, source->name, "edited");
    return true;
}

void
udpai_source_changes_visit(const bootstrap_message *before,
                           const bootstrap_message *now,
                           udpai_source_change_fn visit,
                           void *userdata)
{
    visit_sources(now, visit_there, &(struct visit){before, visit, userdata});
    visit_sources(before, visit_gone, &(struct visit){now, visit, userdata});
}

/* ---- what may change ---- */

static bool
is_of_clients(const source_message *source)
{
    return source && udpai_source_is_per_client(source);
}

static bool
has_load(const source_message *source)
{
    return source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS &&
           source->xds->load_reporting;
}

/* But for how they are reached. */
static bool
are_alike(const source_message *a, const source_message *b)
{
    source_message alike = *b;
    Udpa__Config__V1__XdsSource xds;
    Udpa__Config__V1__RestSource rest;
    alike.max_withdrawal = a->max_withdrawal;
    if (a->kind_case != b->kind_case)
        return false;
    if (a->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS) {
        xds = *b->xds;
        xds.address = a->xds->address;
        xds.tls = a->xds->tls;
        xds.keepalive = a->xds->keepalive;
        alike.xds = &xds;
    } else {
        rest = *b->rest;
        rest.address = a->rest->address;
        rest.tls = a->rest->tls;
        rest.refresh_delay = a->rest->refresh_delay;
        rest.request_timeout = a->rest->request_timeout;
        alike.rest = &rest;
    }
    return udpai_config_is_same(&a->base, &alike.base);
}

struct fixed {
    const bootstrap_message *other;
    bool is_same, has_clients;
};

static bool
look_if_fixed(void *userdata, const source_message *source)
{
    struct fixed *self = userdata;
    const source_message *other = udpai_source_named(self->other, udpai_str_from(source->name));
    self->has_clients |= is_of_clients(source);
    if (has_load(source))
        self->is_same &= other && udpai_config_is_same(&source->base, &other->base);
    else if (is_of_clients(source))
        self->is_same &= other && are_alike(source, other);
    return true;
}

static bool
are_providers_same(const bootstrap_message *a, const bootstrap_message *b)
{
    bool are = a->n_providers == b->n_providers;
    for (size_t i = 0; are && i < a->n_providers; i++)
        are = udpai_config_is_same(&a->providers[i]->base, &b->providers[i]->base);
    return are;
}

bool
udpai_sources_may_change(const bootstrap_message *before, const bootstrap_message *now)
{
    struct fixed then = {now, true, false}, later = {before, true, false};
    visit_sources(before, look_if_fixed, &then);
    visit_sources(now, look_if_fixed, &later);
    return then.is_same && later.is_same &&
           (!(then.has_clients || later.has_clients) || are_providers_same(before, now));
}
