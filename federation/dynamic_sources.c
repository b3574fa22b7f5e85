/* SPDX-License-Identifier: Apache-2.0 */
/* Following ConfigSources that are resources. */
#include "federation/dynamic_internal.h"

static udpa_err
check_rules(const udpai_dynamic *self, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_str authority = udpai_resource_authority(resource), name = udpai_resource_name(resource);
    if (!udpai_follower_has(self->sources_follower, authority))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "the ConfigSource '%.*s' is of '%.*s', from which this node takes none: "
                          "it is not among its dynamic_sources.authorities",
                          UDPAI_SHOWN(name), UDPAI_SHOWN(authority));
    if (!udpai_follower_covers(self->sources_follower, name))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "the ConfigSource '%.*s' lies outside dynamic_sources.namespaces",
                          UDPAI_SHOWN(name));
    return UDPA_OK;
}

static udpa_err
set(void *userdata, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_dynamic *self = userdata;
    udpai_dynamic_source_reading reading;
    udpa_err err = check_rules(self, resource, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_dynamic_source_read(&reading, resource, ret_error);
    if (err == UDPA_OK)
        err = udpai_dynamic_source_set(self, &reading.config, resource, ret_error);
    udpai_dynamic_source_read_done(&reading);
    return err;
}

static bool
end(void *userdata, const udpa_resource *resource)
{
    return udpai_dynamic_source_end(userdata, udpai_resource_name(resource));
}

/* ---- again ---- */

struct search {
    udpai_str name;
    bool is_found;
};

static bool
look_for(void *userdata, udpa_resource *resource)
{
    struct search *search = userdata;
    search->is_found = udpai_str_eq(udpai_resource_name(resource), search->name);
    return !search->is_found;
}

static bool
is_followed(const udpai_dynamic *self, udpai_str name)
{
    struct search search = {name, false};
    udpai_follower_visit(self->sources_follower, look_for, &search);
    return search.is_found;
}

/* There was no memory for their end. */
static void
end_again(void *userdata)
{
    udpai_dynamic *self = userdata;
    size_t at = 0;
    const udpai_source *source;
    while ((source = udpai_sources_next(self->sources, &at)))
        if (udpai_source_dynamic(source) && !udpai_source_is_absent(source) &&
            !is_followed(self, udpai_source_by(source)) &&
            !udpai_dynamic_source_end(self, udpai_source_by(source)))
            udpai_follower_look_again(self->sources_follower);
}

udpa_err
udpai_dynamic_sources_new(udpai_dynamic *dynamic, const udpai_dynamic_sources_config *config)
{
    const udpai_follower_ops ops = {
        .not_done = "not taken as a source",
        .set = set,
        .end = end,
        .catch_up = end_again,
        .userdata = dynamic,
    };
    const udpai_follower_scope scope = {
        .type_url = UDPAI_STR(UDPAI_DYNAMIC_SOURCE_TYPE),
        .authorities = config->authorities,
        .n_authorities = config->n_authorities,
        .prefixes = config->prefixes,
        .n_prefixes = config->n_prefixes,
    };
    if (config->n_authorities == 0)
        return UDPA_OK;
    dynamic->config = *config;
    udpai_sources_set_finder(dynamic->sources, udpai_dynamic_source_find, dynamic);
    return udpai_follower_new(&dynamic->sources_follower, dynamic->context, &scope, &ops);
}
