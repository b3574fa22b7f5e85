/* SPDX-License-Identifier: Apache-2.0 */
/* An endpoint asks by interest, whatever its providers have: so all their descriptors are on
 * demand.
 */
#include "endpoint/providers.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "endpoint/type.h"
#include "model/name.h"

#define PROVIDERS_MAX 256
#define DESCRIPTORS_MAX 64
#define TYPES_MAX 256
#define NAMES_MAX 4096

/* The plan frees it in the end; NULL without memory. */
static void *
own(udpai_provider_plan *plan, void *memory)
{
    if (memory && udpai_vector_push(&plan->owned, memory))
        return memory;
    udpai_free(memory);
    return NULL;
}

void
udpai_provider_plan_done(udpai_provider_plan *plan)
{
    for (size_t i = 0; i < plan->owned.n; i++)
        udpai_free(plan->owned.items[i]);
    udpai_vector_done(&plan->owned);
    udpai_vector_done(&plan->providers);
    udpai_vector_done(&plan->named);
}

static udpa_err
check_number(size_t n, size_t max, const char *what, udpa_error **ret_error)
{
    return n <= max ? UDPA_OK
                    : udpai_fail(ret_error, UDPA_ERR_LIMIT,
                                 "%zu %s are more than the %zu there may be", n, what, max);
}

/* ---- descriptors ---- */

static bool
is_source(const udpa_endpoint_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_sources; i++)
        if (strcmp(options->sources[i].name, name) == 0)
            return true;
    return false;
}

static udpa_err
check_is_first(const udpai_descriptor_config *before,
               size_t n,
               const udpai_descriptor_config *self,
               udpa_error **ret_error)
{
    for (size_t i = 0; i < n; i++)
        if (udpai_str_eq(before[i].source, self->source) &&
            udpai_str_eq(before[i].prefix, self->prefix))
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "a provider has source '%.*s' with the namespace '%.*s' twice: the "
                              "second one can add nothing",
                              UDPAI_SHOWN(self->source), UDPAI_SHOWN(self->prefix));
    return UDPA_OK;
}

static udpa_err
check_descriptor(const udpa_endpoint_options *options,
                 const udpa_descriptor *from,
                 udpa_error **ret_error)
{
    if (from->struct_size < sizeof(*from))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_descriptor: struct_size is %zu: begin with UDPA_DESCRIPTOR_INIT",
                          from->struct_size);
    if (!from->source || !is_source(options, from->source))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a provider names the source '%s', which the endpoint does not have",
                          from->source ? from->source : "");
    if ((unsigned)from->continuation > UDPA_CONTINUE)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s' in a provider: %d is no continuation", from->source,
                          (int)from->continuation);
    return udpai_prefix_check(udpai_str_from(from->name_space), ret_error);
}

static udpa_err
plan_descriptors(udpai_provider_plan *plan,
                 const udpa_endpoint_options *options,
                 const udpa_provider *from,
                 udpai_provider_config *provider,
                 udpa_error **ret_error)
{
    static const udpai_continuation as[] = {
        [UDPA_STOP_ON_SUCCESS] = UDPAI_STOP_ON_SUCCESS,
        [UDPA_STOP_ON_FAILURE] = UDPAI_STOP_ON_FAILURE,
        [UDPA_CONTINUE] = UDPAI_CONTINUE,
    };
    udpa_err err = check_number(from->n_descriptors, DESCRIPTORS_MAX, "descriptors", ret_error);
    if (err == UDPA_OK && from->n_descriptors == 0)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "a provider has no descriptors: which source shall it ask?");
    if (err != UDPA_OK)
        return err;
    udpai_descriptor_config *descriptors =
        own(plan, udpai_alloc_array(from->n_descriptors, sizeof(*descriptors)));
    if (!descriptors)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < from->n_descriptors && err == UDPA_OK; i++) {
        const udpa_descriptor *descriptor = &from->descriptors[i];
        err = check_descriptor(options, descriptor, ret_error);
        if (err != UDPA_OK)
            return err;
        descriptors[i] = (udpai_descriptor_config){
            .source = udpai_str_from(descriptor->source),
            .prefix = udpai_str_from(descriptor->name_space),
            .continuation = as[descriptor->continuation],
            .on_demand = true,
        };
        err = check_is_first(descriptors, i, &descriptors[i], ret_error);
    }
    provider->descriptors = descriptors;
    provider->n_descriptors = from->n_descriptors;
    return err;
}

/* ---- types ---- */

static udpa_err
check_type(const char *type, udpa_error **ret_error)
{
    if (type && *type && strlen(type) <= UDPAI_TYPE_URL_MAX / 2 &&
        udpai_utf8_valid(udpai_str_from(type)))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "a provider's type, or one of standby: the type is empty, too long, or not UTF-8");
}

static udpa_err
complete_types(udpai_provider_plan *plan,
               const char *const *from,
               size_t n,
               const udpai_str **ret_types,
               udpa_error **ret_error)
{
    udpai_str *types = own(plan, udpai_alloc_array(n + 1, sizeof(*types)));
    if (!types)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < n; i++) {
        udpa_err err = check_type(from[i], ret_error);
        if (err != UDPA_OK)
            return err;
        const char *type_url = own(plan, udpai_type_url_complete(from[i]));
        if (!type_url)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        types[i] = udpai_str_from(type_url);
    }
    *ret_types = types;
    return UDPA_OK;
}

static udpa_err
plan_types(udpai_provider_plan *plan,
           const udpa_provider *from,
           udpai_provider_config *provider,
           udpa_error **ret_error)
{
    udpa_err err = check_number(from->n_types, TYPES_MAX, "types of a provider", ret_error);
    provider->n_types = from->n_types;
    return err == UDPA_OK
               ? complete_types(plan, from->types, from->n_types, &provider->types, ret_error)
               : err;
}

udpa_err
udpai_provider_plan_standby(udpai_provider_plan *plan,
                            const udpa_source *from,
                            udpai_source_config *source,
                            udpa_error **ret_error)
{
    if (from->n_standby == 0)
        return UDPA_OK;
    if (from->xds || from->rest)
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "source '%s': nothing is reported to an xDS server, so it cannot be a standby",
            from->name);
    if (from->only_when_needed)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "source '%s': one that is connected only_when_needed cannot be a "
                          "standby: it would receive nothing",
                          from->name);
    udpa_err err = check_number(from->n_standby, TYPES_MAX, "types of standby", ret_error);
    source->n_standby = from->n_standby;
    return err == UDPA_OK
               ? complete_types(plan, from->standby, from->n_standby, &source->standby, ret_error)
               : err;
}

/* ---- names ---- */

static udpa_err
plan_name(udpai_provider_plan *plan,
          const char *text,
          const udpai_provider_config *provider,
          udpa_error **ret_error)
{
    udpai_named_config named = {
        .name = udpai_str_from(text),
        .descriptors = provider->descriptors,
        .n_descriptors = provider->n_descriptors,
        .at_once = true,
    };
    udpa_err err = udpai_name_check(named.name, ret_error);
    for (size_t i = 0; i < provider->n_types && err == UDPA_OK; i++) {
        named.type_url = provider->types[i];
        if (!udpai_vector_push(&plan->named, named))
            err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    return err;
}

static udpa_err
plan_names(udpai_provider_plan *plan,
           const udpa_provider *from,
           const udpai_provider_config *provider,
           udpa_error **ret_error)
{
    udpa_err err = check_number(from->n_names, NAMES_MAX, "names of a provider", ret_error);
    if (err == UDPA_OK && provider->n_types == 0)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "a provider of '%s' has no types: which type is the name of?",
                         from->names[0] ? from->names[0] : "");
    for (size_t i = 0; i < from->n_names && err == UDPA_OK; i++)
        err = plan_name(plan, from->names[i], provider, ret_error);
    return err;
}

/* ---- the whole ---- */

static udpa_err
add(udpai_provider_plan *plan, const udpai_provider_config *provider, udpa_error **ret_error)
{
    return udpai_fail_code(
        ret_error, udpai_vector_push(&plan->providers, *provider) ? UDPA_OK : UDPA_ERR_NOMEM);
}

static udpa_err
plan_provider(udpai_provider_plan *plan,
              const udpa_endpoint_options *options,
              const udpa_provider *from,
              udpa_error **ret_error)
{
    udpai_provider_config provider = {0};
    if (from->struct_size < sizeof(*from))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_provider: struct_size is %zu: begin with UDPA_PROVIDER_INIT",
                          from->struct_size);
    udpa_err err = plan_types(plan, from, &provider, ret_error);
    if (err == UDPA_OK)
        err = plan_descriptors(plan, options, from, &provider, ret_error);
    if (err != UDPA_OK)
        return err;
    return from->n_names ? plan_names(plan, from, &provider, ret_error)
                         : add(plan, &provider, ret_error);
}

/* Every source, for every type. */
static udpa_err
plan_order(udpai_provider_plan *plan, const udpa_endpoint_options *options, udpa_error **ret_error)
{
    udpai_descriptor_config *descriptors =
        own(plan, udpai_alloc_array(options->n_sources + 1, sizeof(*descriptors)));
    if (!descriptors)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < options->n_sources; i++)
        descriptors[i] = (udpai_descriptor_config){
            .source = udpai_str_from(options->sources[i].name),
            .on_demand = true,
        };
    const udpai_provider_config provider = {
        .descriptors = descriptors,
        .n_descriptors = options->n_sources,
    };
    return options->n_sources ? add(plan, &provider, ret_error) : UDPA_OK;
}

udpa_err
udpai_provider_plan_make(udpai_provider_plan *plan,
                         const udpa_endpoint_options *options,
                         udpa_error **ret_error)
{
    udpa_err err = check_number(options->n_providers, PROVIDERS_MAX, "providers", ret_error);
    if (err == UDPA_OK && options->n_providers == 0)
        return plan_order(plan, options, ret_error);
    for (size_t i = 0; i < options->n_providers && err == UDPA_OK; i++)
        err = plan_provider(plan, options, &options->providers[i], ret_error);
    return err;
}
