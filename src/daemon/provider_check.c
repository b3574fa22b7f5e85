/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/provider_check.h"

#include "daemon/namespace_check.h"
#include "model/name.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigDescriptor descriptor_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__Provider provider_message;

#define STOP_ON_SUCCESS UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__CONTINUATION_BEHAVIOR__STOP_ON_SUCCESS

/* Two descriptors of one provider, the first of which stands before the other. */
struct pair {
    const bootstrap_message *message;
    udpai_diagnostics *diagnostics;
    const descriptor_message *first, *second;
    size_t first_index;
    const char *path; /* of the second */
};

const source_message *
udpai_source_of_descriptor(const bootstrap_message *message, const descriptor_message *descriptor)
{
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    if (descriptor->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE)
        return descriptor->config_source;
    if (descriptor->source_case != UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME)
        return NULL;
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        if (strcmp(all->config_sources[i]->name, descriptor->resource_name) == 0)
            return all->config_sources[i];
    return NULL;
}

/* ---- pairs ---- */

static bool
overlap(const char *a, const char *b)
{
    udpai_str x = udpai_str_from(a), y = udpai_str_from(b);
    return udpai_prefix_covers(x, y) || udpai_prefix_covers(y, x);
}

static const char *
shown(const char *name_space)
{
    return *name_space ? name_space : "(all)";
}

static bool
is_one_source(const struct pair *pair)
{
    const source_message *first = udpai_source_of_descriptor(pair->message, pair->first);
    return first && first == udpai_source_of_descriptor(pair->message, pair->second);
}

/* The second one can add nothing to the first. */
static void
check_claims(const struct pair *pair)
{
    udpai_str first = udpai_str_from(pair->first->namespace_),
              second = udpai_str_from(pair->second->namespace_);
    if (!is_one_source(pair))
        return;
    if (udpai_str_eq(first, second))
        udpai_diagnostics_error(pair->diagnostics, pair->path,
                                "claims the same as config_descriptors[%zu]: the same source, and "
                                "the same namespace",
                                pair->first_index);
    else if (pair->first->continuation == STOP_ON_SUCCESS)
        udpai_diagnostics_error(pair->diagnostics, pair->path,
                                "is never asked for anything: it has the source of "
                                "config_descriptors[%zu], and that says STOP_ON_SUCCESS; say "
                                "CONTINUE there",
                                pair->first_index);
    else if (udpai_prefix_covers(first, second))
        udpai_diagnostics_warn(
            pair->diagnostics, pair->path,
            "adds nothing to config_descriptors[%zu], which has the same source and "
            "a namespace that covers this one",
            pair->first_index);
}

/* Fail-over to what the other cannot have. */
static void
check_stand_in(const struct pair *pair)
{
    if (pair->first->continuation != STOP_ON_SUCCESS || is_one_source(pair) ||
        overlap(pair->first->namespace_, pair->second->namespace_))
        return;
    udpai_diagnostics_warn(
        pair->diagnostics, pair->path,
        "stands in for config_descriptors[%zu], which says STOP_ON_SUCCESS, but has "
        "another namespace ('%s', not '%s'): to have both, say CONTINUE there",
        pair->first_index, pair->second->namespace_, pair->first->namespace_);
}

/* Of kinds that cannot say it themselves; "" for others. */
static const char *
authority_of(const source_message *source)
{
    if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS)
        return source->xds->authority;
    if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)
        return source->rest->authority;
    return "";
}

/* Two servers side by side, of which neither knows what the other says in its name. */
static void
check_authorities(const struct pair *pair)
{
    const char *first = authority_of(udpai_source_of_descriptor(pair->message, pair->first));
    const char *second = authority_of(udpai_source_of_descriptor(pair->message, pair->second));
    if (!*first || strcmp(first, second) != 0 || is_one_source(pair) ||
        pair->first->continuation == STOP_ON_SUCCESS ||
        !overlap(pair->first->namespace_, pair->second->namespace_))
        return;
    udpai_diagnostics_warn(pair->diagnostics, pair->path,
                           "speaks for '%s' as the authority '%s', as config_descriptors[%zu] does "
                           "beside it: give each source an authority of its own, or say "
                           "STOP_ON_SUCCESS there if one stands in for the other",
                           shown(pair->second->namespace_), first, pair->first_index);
}

static void
check_pairs(const bootstrap_message *message,
            const provider_message *provider,
            const char *list,
            udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t second = 1; second < provider->n_config_descriptors; second++) {
        udpai_path_item(path, list, second);
        for (size_t first = 0; first < second; first++) {
            const struct pair pair = {message,
                                      diagnostics,
                                      provider->config_descriptors[first],
                                      provider->config_descriptors[second],
                                      first,
                                      path};
            check_claims(&pair);
            check_stand_in(&pair);
            check_authorities(&pair);
        }
    }
}

/* ---- one descriptor ---- */

/* Where the names of an xDS server are, as far as the file says it; NULL: it does not. */
static const char *
namespace_of(const bootstrap_message *message, const source_message *source)
{
    const char *own = NULL;
    if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS &&
        source->xds->audience == UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        own = source->xds->namespace_;
    if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST &&
        source->rest->audience == UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        own = source->rest->namespace_;
    if (own && !*own && message->node)
        own = message->node->namespace_;
    return own && *own ? own : NULL;
}

static void
check_namespace(const bootstrap_message *message,
                const descriptor_message *descriptor,
                const char *path,
                udpai_diagnostics *diagnostics)
{
    char room[UDPAI_FIELD_PATH_MAX];
    const char *own = namespace_of(message, udpai_source_of_descriptor(message, descriptor));
    if (own && !overlap(own, descriptor->namespace_))
        udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "namespace"),
                                "nothing can be taken from its source: all its names are in '%s'",
                                own);
}

/* ---- several providers ---- */

/* The place of a source among the descriptors; n: it has none. */
static size_t
place_of(const bootstrap_message *message,
         const provider_message *provider,
         const source_message *source)
{
    size_t i = 0;
    while (i < provider->n_config_descriptors &&
           udpai_source_of_descriptor(message, provider->config_descriptors[i]) != source)
        i++;
    return i;
}

static bool
is_side_by_side(const provider_message *provider, size_t first, size_t second)
{
    const descriptor_message *a = provider->config_descriptors[first],
                             *b = provider->config_descriptors[second];
    for (size_t i = first; i < second; i++)
        if (provider->config_descriptors[i]->continuation == STOP_ON_SUCCESS)
            return false;
    return overlap(a->namespace_, b->namespace_);
}

/* Where two sources have a name, the one that stands first counts; which one that is, is said once,
 * by the first provider that names them. */
static void
check_order(const bootstrap_message *message,
            size_t index,
            size_t before,
            udpai_diagnostics *diagnostics)
{
    const provider_message *self = message->providers[index], *other = message->providers[before];
    char path[UDPAI_FIELD_PATH_MAX], list[UDPAI_FIELD_PATH_MAX];
    udpai_path_field(list, udpai_path_item(path, "providers", index), "config_descriptors");
    for (size_t second = 1; second < self->n_config_descriptors; second++) {
        const source_message *b =
            udpai_source_of_descriptor(message, self->config_descriptors[second]);
        const source_message *a =
            udpai_source_of_descriptor(message, self->config_descriptors[second - 1]);
        size_t at_a = a ? place_of(message, other, a) : 0,
               at_b = b ? place_of(message, other, b) : 0;
        if (a && b && a != b && at_a < other->n_config_descriptors && at_b < at_a &&
            is_side_by_side(self, second - 1, second))
            udpai_diagnostics_error(
                diagnostics, udpai_path_item(path, list, second),
                "contradicts providers[%zu], where '%s' stands before '%s': of what both have, one "
                "order counts for all types",
                before, b->name, a->name);
    }
}

void
udpai_provider_check(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    char provider[UDPAI_FIELD_PATH_MAX], list[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < message->n_providers; i++) {
        const provider_message *self = message->providers[i];
        udpai_path_item(provider, "providers", i);
        udpai_path_field(list, provider, "config_descriptors");
        check_pairs(message, self, list, diagnostics);
        for (size_t k = 0; k < self->n_config_descriptors; k++)
            check_namespace(message, self->config_descriptors[k], udpai_path_item(path, list, k),
                            diagnostics);
        for (size_t before = 0; before < i; before++)
            check_order(message, i, before, diagnostics);
    }
    udpai_namespace_check_typos(message, diagnostics);
}

/* ---- delegations ---- */

void
udpai_delegation_check(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    const Udpa__Config__V1__Delegation *delegation = message->delegation;
    char path[UDPAI_FIELD_PATH_MAX];
    if (!delegation)
        return;
    if (delegation->n_authorities == 0)
        udpai_diagnostics_error(
            diagnostics, "delegation.authorities",
            "is required: whose delegations shall be followed? \"*\" is everybody");
    for (size_t i = 0; i < delegation->n_authorities; i++)
        if (!*delegation->authorities[i])
            udpai_diagnostics_error(diagnostics, udpai_path_item(path, "delegation.authorities", i),
                                    "is empty");
    for (size_t i = 0; i < delegation->n_namespaces; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_path_item(path, "delegation.namespaces", i);
        if (!*delegation->namespaces[i])
            udpai_diagnostics_error(diagnostics, path,
                                    "is empty: leave 'namespaces' out if all are meant");
        else if (udpai_prefix_check(udpai_str_from(delegation->namespaces[i]), &error) != UDPA_OK)
            udpai_diagnostics_error(diagnostics, path, "%s", udpa_error_message(error));
    }
}
