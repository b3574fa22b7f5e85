/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'providers' of the bootstrap file: which sources have what, in which order. */
#include "base/alloc.h"
#include "daemon/mirror_check.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "daemon/source_names.h"
#include "endpoint/type.h"
#include "model/name.h"
#include "xds/group.h"
#include "xds/server.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigDescriptor descriptor_message;
typedef Udpa__Config__V1__ConfigSource source_message;
typedef Udpa__Config__V1__Provider provider_message;

#define STOP_ON_SUCCESS UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__CONTINUATION_BEHAVIOR__STOP_ON_SUCCESS

/* Two descriptors of one provider, the first of which comes before the other. */
struct pair {
    const udpai_value *value; /* the second */
    const descriptor_message *first, *second;
    const source_message *first_source, *second_source; /* NULL: there is none */
    size_t first_index;
};

/* ---- pairs ---- */

static bool
overlap(const char *a, const char *b)
{
    udpai_str x = udpai_str_from(a), y = udpai_str_from(b);
    return udpai_prefix_covers(x, y) || udpai_prefix_covers(y, x);
}

static const char *
printable(const char *name_space)
{
    return *name_space ? name_space : "(all)";
}

static bool
is_one_source(const struct pair *pair)
{
    return pair->first_source && pair->first_source == pair->second_source;
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
        udpai_value_error(pair->value, "",
                          "claims the same as config_descriptors[%zu]: the same source, and "
                          "the same namespace",
                          pair->first_index);
    else if (pair->first->continuation == STOP_ON_SUCCESS)
        udpai_value_error(
            pair->value, "",
            "is never asked for anything: it has the source of config_descriptors[%zu], and that "
            "has STOP_ON_SUCCESS; write CONTINUE there",
            pair->first_index);
    else if (udpai_prefix_covers(first, second))
        udpai_value_warn(pair->value, "",
                         "adds nothing to config_descriptors[%zu], which has the same source and "
                         "a namespace that covers this one",
                         pair->first_index);
}

/* Fail-over to what the other cannot have. */
static void
check_standby(const struct pair *pair)
{
    if (pair->first->continuation != STOP_ON_SUCCESS || is_one_source(pair) ||
        overlap(pair->first->namespace_, pair->second->namespace_))
        return;
    udpai_value_warn(pair->value, "",
                     "is a standby of config_descriptors[%zu], which has STOP_ON_SUCCESS, but has "
                     "another namespace ('%s', not '%s'): to have both, write CONTINUE there",
                     pair->first_index, pair->second->namespace_, pair->first->namespace_);
}

/* Two servers side by side, of which neither knows what the other publishes in its name. */
static void
check_authorities(const struct pair *pair)
{
    const char *first = udpai_source_authority(pair->first_source);
    const char *second = udpai_source_authority(pair->second_source);
    if (!*first || strcmp(first, second) != 0 || is_one_source(pair) ||
        pair->first->continuation == STOP_ON_SUCCESS ||
        !overlap(pair->first->namespace_, pair->second->namespace_))
        return;
    udpai_value_warn(pair->value, "",
                     "publishes '%s' as authority '%s', as config_descriptors[%zu] does beside it: "
                     "give each source an authority of its own, or write STOP_ON_SUCCESS there if "
                     "one is a standby of the other",
                     printable(pair->second->namespace_), first, pair->first_index);
}

static void
check_pairs(const udpai_value *value)
{
    const provider_message *provider = value->in;
    for (size_t i = 0; i < value->index; i++) {
        const struct pair pair = {
            .value = value,
            .first = provider->config_descriptors[i],
            .second = value->message,
            .first_source =
                udpai_source_of_descriptor(value->bootstrap, provider->config_descriptors[i]),
            .second_source = udpai_source_of_descriptor(value->bootstrap, value->message),
            .first_index = i,
        };
        check_claims(&pair);
        check_standby(&pair);
        check_authorities(&pair);
    }
}

/* ---- one descriptor ---- */

/* Where the names of an xDS server are, as far as the file has it; NULL: it does not. */
static const char *
namespace_of(const bootstrap_message *message, const source_message *source)
{
    bool is_one = source && (source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS ||
                             source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST);
    if (!is_one || udpai_source_is_per_client(source))
        return NULL;
    const char *own = udpai_source_namespace(source);
    if (!*own && message->node)
        own = message->node->namespace_;
    return *own ? own : NULL;
}

static void
check_namespace(const udpai_value *value)
{
    const descriptor_message *descriptor = value->message;
    const char *own =
        namespace_of(value->bootstrap, udpai_source_of_descriptor(value->bootstrap, descriptor));
    if (own && !overlap(own, descriptor->namespace_))
        udpai_value_error(value, "namespace",
                          "nothing can be taken from its source: all its names are in '%s'", own);
}

/* With dynamic_sources one may come later. */
static void
check_is_there(const udpai_value *value, const char *name)
{
    const Udpa__Config__V1__StaticResources *all = value->bootstrap->static_resources;
    char hint[UDPAI_CHOICE_TEXT];
    if (udpai_source_find(all, name) ||
        udpai_diagnostics_is_unread(value->diagnostics, "static_resources"))
        return;
    if (value->bootstrap->dynamic_sources)
        udpai_value_warn(value, "resource_name",
                         "there is no ConfigSource '%s' in static_resources.config_sources: "
                         "until a resource defines it, nothing is received from it%s",
                         name, udpai_source_suggest(all, name, hint));
    else
        udpai_value_error(value, "resource_name",
                          "there is no ConfigSource '%s' in static_resources.config_sources%s",
                          name, udpai_source_suggest(all, name, hint));
}

/* ---- sources that are asked for groups of clients ---- */

/* The next name space with words in it that the descriptor's source is asked for; NULL: none. */
static const char *
next_template(const bootstrap_message *message, const descriptor_message *descriptor, size_t *at)
{
    for (; *at <= message->n_audiences; ++*at) {
        const char *text = *at < message->n_audiences ? message->audiences[*at]->default_namespace
                           : message->shim            ? message->shim->default_namespace
                                                      : "";
        if (udpai_xds_template_is(udpai_str_from(text)) &&
            udpai_prefix_covers(udpai_str_from(descriptor->namespace_), udpai_str_from(text))) {
            ++*at;
            return text;
        }
    }
    return NULL;
}

static bool
is_one_clients(const char *template)
{
    udpai_str text = udpai_str_from(template);
    return udpai_xds_template_has(text, UDPAI_STR("node_id")) ||
           udpai_xds_template_has(text, UDPAI_STR("identity"));
}

static void
check_audience_of(const udpai_value *value, const source_message *source)
{
    const descriptor_message *descriptor = value->message;
    bool per_client =
        udpai_source_audience(source) == UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__PER_CLIENT;
    size_t at = 0, n = 0;
    const char *template;
    while ((template = next_template(value->bootstrap, descriptor, &at))) {
        n++;
        if (per_client && !is_one_clients(template))
            udpai_value_error(
                value, "",
                "its source is PER_CLIENT, but several clients may share '%s': put {node_id} or "
                "{identity} into it, or make the source PER_GROUP",
                template);
    }
    if (n == 0)
        udpai_value_error(
            value, "",
            "its source is asked for each group of clients by itself, but there is none below "
            "'%s': give an audience a default_namespace such as %s/{node_id}",
            descriptor->namespace_,
            *descriptor->namespace_ ? descriptor->namespace_ : "com.acme/clients");
}

static void
check_clients(const udpai_value *value)
{
    const descriptor_message *descriptor = value->message;
    const provider_message *provider = value->in;
    const source_message *source = udpai_source_of_descriptor(value->bootstrap, descriptor);
    if (!udpai_source_is_per_client(source) || strchr(descriptor->namespace_, '{'))
        return;
    if (provider->n_types == 0)
        udpai_value_error(value, "",
                          "its source is asked for each group of clients by itself: list the types "
                          "in 'types' of the provider");
    if (*udpai_source_namespace(source))
        udpai_value_warn(value, "",
                         "the 'namespace' of its source has no effect: what it sends to a group of "
                         "clients lies in the name space of the group");
    check_audience_of(value, source);
}

static const udpai_field descriptor_fields[] = {
    {.name = "resource_name", UDPAI_PUBLIC},
    {.name = "config_source", .of = &udpai_section_source},
    {.name = "namespace",
     UDPAI_PUBLIC,
     .word = udpai_namespace_check,
     .is_namespace = true,
     .check = udpai_check_no_braces},
    {.name = "continuation"},
    {.name = "mode"},
};

/* By itself, also where there is no provider around it. */
static void
check_descriptor(const udpai_value *value)
{
    const descriptor_message *descriptor = value->message;
    if (descriptor->source_case == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME)
        check_is_there(value, descriptor->resource_name);
    else if (!udpai_source_inline(descriptor))
        udpai_value_error(value, "", "needs one of resource_name, config_source");
    check_namespace(value);
}

static const udpai_section descriptor_section = {
    UDPAI_SECTION(config_descriptor, descriptor_fields),
    .check = check_descriptor,
};

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

/* Where two sources have a name, the first one counts; which one that is, is reported once, by the
 * first provider that names them. */
static void
check_order(const udpai_value *value, size_t before)
{
    const bootstrap_message *message = value->bootstrap;
    const provider_message *self = value->message, *other = message->providers[before];
    char room[UDPAI_FIELD_PATH_MAX];
    for (size_t second = 1; second < self->n_config_descriptors; second++) {
        const source_message *b =
            udpai_source_of_descriptor(message, self->config_descriptors[second]);
        const source_message *a =
            udpai_source_of_descriptor(message, self->config_descriptors[second - 1]);
        size_t at_a = a ? place_of(message, other, a) : 0,
               at_b = b ? place_of(message, other, b) : 0;
        if (a && b && a != b && at_a < other->n_config_descriptors && at_b < at_a &&
            is_side_by_side(self, second - 1, second))
            udpai_value_error(
                value, udpai_path_item(room, "config_descriptors", second),
                "contradicts providers[%zu], where '%s' is before '%s': of what both have, one "
                "order applies to all types",
                before, b->name, a->name);
    }
}

/* ---- a provider ---- */

static void
check_is_first(const udpai_value *value)
{
    provider_message *const *all = value->bootstrap->providers;
    const char *name = udpai_type_without_prefix(value->text);
    for (size_t p = 0; p < value->bootstrap->n_providers; p++) {
        bool is_itself = all[p] == value->in;
        for (size_t k = 0; k < (is_itself ? value->index : all[p]->n_types); k++)
            if (strcmp(udpai_type_without_prefix(all[p]->types[k]), name) == 0)
                udpai_value_error(value, "", "type '%s' has a provider already: providers[%zu]",
                                  name, p);
        if (is_itself)
            return;
    }
}

/* The first of kind rest; NULL: there is none. */
static const source_message *
find_polled(const bootstrap_message *message, const provider_message *provider)
{
    for (size_t i = 0; i < provider->n_config_descriptors; i++) {
        const source_message *source =
            udpai_source_of_descriptor(message, provider->config_descriptors[i]);
        if (source && source->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)
            return source;
    }
    return NULL;
}

static void
check_polled_type(const udpai_value *value)
{
    const source_message *source = find_polled(value->bootstrap, value->in);
    UDPAI_AUTO_FREE char *type_url = source ? udpai_type_url_complete(value->text) : NULL;
    if (source && !type_url)
        value->diagnostics->has_failed = true;
    else if (source && udpai_xds_rest_index(udpai_str_from(type_url)) == UDPAI_XDS_POLLS &&
             udpai_type_check(value->text, NULL) == UDPA_OK)
        udpai_value_error(value, "",
                          "REST has no path for type '%s', and '%s' is a ConfigSource of kind "
                          "rest: give this type a provider without it",
                          value->text, source->name);
}

static void
check_type(const udpai_value *value)
{
    check_is_first(value);
    check_polled_type(value);
}

static void
check_in_provider(const udpai_value *value)
{
    check_pairs(value);
    check_clients(value);
    udpai_check_shared_source(value);
}

static const udpai_field provider_fields[] = {
    {.name = "types",
     UDPAI_PUBLIC,
     UDPAI_EACH_REQUIRED,
     .word = udpai_type_check,
     .check = check_type},
    {.name = "config_descriptors", .of = &descriptor_section, .check = check_in_provider},
};

static bool
mirrors(const provider_message *provider)
{
    for (size_t i = 0; i < provider->n_config_descriptors; i++)
        if (provider->config_descriptors[i]->mode ==
            UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__MIRROR)
            return true;
    return false;
}

/* Is another one before it for all types? */
static bool
is_for_all_again(const udpai_value *value)
{
    for (size_t i = 0; i < value->index; i++)
        if (value->bootstrap->providers[i]->n_types == 0)
            return true;
    return false;
}

static void
check_provider(const udpai_value *value)
{
    const provider_message *provider = value->message;
    if (provider->n_types == 0 && is_for_all_again(value))
        udpai_value_error(value, "",
                          "only one provider may stand for all types: name the types of this one");
    else if (provider->n_types == 0 && mirrors(provider))
        udpai_value_warn(value, "",
                         "names no types, so it has each from when a client or node here first "
                         "subscribes to it: to mirror everything from the start, list the types");
    if (provider->n_config_descriptors == 0)
        udpai_value_error(value, "",
                          "has no config_descriptors: name the sources of its resources");
    udpai_mirror_check(value);
    for (size_t before = 0; before < value->index; before++)
        check_order(value, before);
}

const udpai_section udpai_section_provider = {
    UDPAI_SECTION(provider, provider_fields),
    .check = check_provider,
};

/* ---- use ---- */

static udpa_err
use_descriptors(udpai_plan *plan,
                const provider_message *from,
                udpai_provider_config *provider,
                udpa_error **ret_error)
{
    udpai_descriptor_config *descriptors = udpai_plan_own(
        plan, udpai_alloc_array(from->n_config_descriptors + 1, sizeof(*descriptors)));
    udpa_err err = descriptors ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < from->n_config_descriptors && err == UDPA_OK; i++) {
        const descriptor_message *descriptor = from->config_descriptors[i];
        const source_message *own = udpai_source_inline(descriptor);
        if (own)
            err = udpai_plan_source(plan, own, ret_error);
        descriptors[i] = (udpai_descriptor_config){
            .source = udpai_str_from(own ? own->name : descriptor->resource_name),
            .prefix = udpai_str_from(descriptor->namespace_),
            .continuation = (udpai_continuation)descriptor->continuation,
            .on_demand = descriptor->mode == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__ON_DEMAND,
        };
    }
    provider->descriptors = descriptors;
    provider->n_descriptors = from->n_config_descriptors;
    return err;
}

udpa_err
udpai_use_providers(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const bootstrap_message *message = plan->bootstrap.message;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < message->n_providers && err == UDPA_OK; i++) {
        const provider_message *from = message->providers[i];
        udpai_provider_config provider = {.n_types = from->n_types};
        err = udpai_plan_types(plan, from->types, from->n_types, &provider.types);
        if (err == UDPA_OK)
            err = use_descriptors(plan, from, &provider, ret_error);
        if (err == UDPA_OK && !udpai_vector_push(&plan->providers, provider))
            err = UDPA_ERR_NOMEM;
    }
    return err;
}
