/* SPDX-License-Identifier: Apache-2.0 */
/* Following ConfigSources that are resources. They are subscribed to like anything else in the
 * process, so that what cannot become a source is told to whoever published it. */
#include "federation/dynamic_sources.h"

#include "base/alloc.h"
#include "federation/allowlist.h"
#include "federation/delegation.h"

struct udpai_dynamic_sources {
    udpai_node *node;
    udpai_local_subscription *subscription;
    udpai_allowlist allowlist;
    udpai_dynamic_sources_config config; /* without its lists */
    bool is_late;   /* there was no memory for one, or there is room for one that was refused */
    bool is_untidy; /* there may be some that nothing speaks of */
    bool has_news;  /* something has changed since the providers were looked at */
};

static udpa_err
check_rules(const udpai_dynamic_sources *self,
            const udpa_resource *resource,
            udpa_error **ret_error)
{
    udpai_str authority = udpai_resource_authority(resource), name = udpai_resource_name(resource);
    if (!udpai_allowlist_has(&self->allowlist, authority))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "the ConfigSource '%.*s' is of '%.*s', of whom this node takes none: it "
                          "is not among its dynamic_sources.authorities",
                          UDPAI_SHOWN(name), UDPAI_SHOWN(authority));
    if (!udpai_allowlist_covers(&self->allowlist, name))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "the ConfigSource '%.*s' lies outside dynamic_sources.namespaces",
                          UDPAI_SHOWN(name));
    return UDPA_OK;
}

static udpa_err
set(udpai_dynamic_sources *self, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_dynamic_source_reading reading;
    udpa_err err = check_rules(self, resource, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_dynamic_source_read(&reading, resource, ret_error);
    if (err == UDPA_OK)
        err = udpai_dynamic_source_set(self->node, &reading.config, resource, ret_error);
    udpai_dynamic_source_read_done(&reading);
    return err;
}

static void
end(udpai_dynamic_sources *self, const udpa_resource *resource)
{
    self->is_late |= !udpai_dynamic_source_end(self->node, udpai_resource_name(resource));
}

/* What may not be a source ends the one that it was before; what is merely wrong does not. */
static void
take(udpai_dynamic_sources *self, udpai_local_update *update, size_t index)
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
    udpai_log(UDPA_LOG_WARNING, "federation", "not taken as a source: %s",
              error ? udpa_error_message(error) : "out of memory");
    udpai_local_update_refuse(update, index, error);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    udpai_dynamic_sources *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        take(self, update, i);
    self->has_news = true;
}

/* ---- again ---- */

struct told {
    udpai_dynamic_sources *self;
    udpai_str name;
    bool is_found;
};

static bool
set_again(void *userdata, udpa_resource *resource)
{
    udpai_dynamic_sources *self = userdata;
    self->is_late |= set(self, resource, NULL) == UDPA_ERR_NOMEM;
    return true;
}

static bool
look_for(void *userdata, udpa_resource *resource)
{
    struct told *told = userdata;
    told->is_found = udpai_str_eq(udpai_resource_name(resource), told->name);
    return !told->is_found;
}

static bool
is_told(udpai_dynamic_sources *self, udpai_str name)
{
    struct told told = {self, name, false};
    udpai_store_visit_told(self->node->context.store, UDPAI_STR(UDPAI_DYNAMIC_SOURCE_TYPE),
                           look_for, &told);
    return told.is_found;
}

/* Those whose end there was no memory for. */
static void
end_again(udpai_dynamic_sources *self)
{
    size_t at = 0;
    const udpai_source *source;
    while ((source = udpai_map_next(&self->node->sources, &at)))
        if (source->dynamic && !source->is_absent &&
            !is_told(self, udpai_dynamic_source_by(source)))
            self->is_late |= !udpai_dynamic_source_end(self->node, udpai_dynamic_source_by(source));
}

bool
udpai_dynamic_sources_catch_up(udpai_dynamic_sources *self)
{
    bool has_news = self->has_news || self->is_late;
    if (self->is_untidy && udpai_dynamic_source_remove_unused(self->node))
        udpai_delegations_look_again(self->node->delegations);
    self->is_untidy = false;
    if (self->is_late) {
        self->is_late = false;
        end_again(self);
        udpai_store_visit_told(self->node->context.store, UDPAI_STR(UDPAI_DYNAMIC_SOURCE_TYPE),
                               set_again, self);
    }
    self->has_news = false;
    return has_news;
}

void
udpai_dynamic_sources_look_again(udpai_dynamic_sources *self)
{
    self->is_late = true;
}

void
udpai_dynamic_sources_tidy_up(udpai_dynamic_sources *self)
{
    self->is_untidy = true;
}

/* ---- the whole ---- */

const udpai_dynamic_sources_config *
udpai_dynamic_sources_config_of(const udpai_dynamic_sources *self)
{
    return &self->config;
}

void
udpai_dynamic_sources_free(udpai_dynamic_sources *self)
{
    if (!self)
        return;
    udpai_allowlist_done(&self->allowlist);
    udpai_free(self);
}

udpa_err
udpai_dynamic_sources_new(udpai_dynamic_sources **ret_sources,
                          udpai_node *node,
                          const udpai_dynamic_sources_config *config)
{
    if (config->n_authorities == 0)
        return UDPA_OK;
    udpai_dynamic_sources *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->node = node;
    self->config = *config;
    udpa_err err =
        udpai_allowlist_init(&self->allowlist, config->authorities, config->n_authorities,
                             config->prefixes, config->n_prefixes);
    if (err != UDPA_OK) {
        udpai_dynamic_sources_free(self);
        return err;
    }
    node->find_source = udpai_dynamic_source_find;
    *ret_sources = self;
    return UDPA_OK;
}

udpa_err
udpai_dynamic_sources_follow(udpai_dynamic_sources *self)
{
    const udpai_local_ops ops = {.update = on_update, .userdata = self};
    const udpai_selection all = {.type_url = UDPAI_STR(UDPAI_DYNAMIC_SOURCE_TYPE)};
    return self ? udpai_node_subscribe(self->node, &all, &ops, &self->subscription) : UDPA_OK;
}
