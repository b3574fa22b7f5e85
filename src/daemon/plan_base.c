/* SPDX-License-Identifier: Apache-2.0 */
/* What all sections of a plan are made with: memory and texts. */
#include "daemon/plan_internal.h"

#include "endpoint/type.h"

void *
udpai_plan_own(udpai_plan *plan, void *memory)
{
    if (memory && udpai_vector_push(&plan->owned, memory))
        return memory;
    udpai_free(memory);
    return NULL;
}

udpa_err
udpai_plan_types(udpai_plan *plan, char *const *from, size_t n, const udpai_str **ret_types)
{
    udpai_str *types = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*types)));
    if (!types)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *type_url = udpai_plan_own(plan, udpai_type_url_complete(from[i]));
        if (!type_url)
            return UDPA_ERR_NOMEM;
        types[i] = udpai_str_from(type_url);
    }
    *ret_types = types;
    return UDPA_OK;
}

udpa_err
udpai_plan_words(udpai_plan *plan, char *const *from, size_t n, const udpai_str **ret_words)
{
    udpai_str *words = udpai_plan_own(plan, udpai_alloc_array(n + 1, sizeof(*words)));
    for (size_t i = 0; words && i < n; i++)
        words[i] = udpai_str_from(from[i]);
    *ret_words = words;
    return words ? UDPA_OK : UDPA_ERR_NOMEM;
}

const char *
udpai_first_of(const char *a, const char *b, const char *c)
{
    return a && *a ? a : b && *b ? b : c;
}

void
udpai_plan_locality(const Udpa__Config__V1__Locality *from, udpai_node_parts *to)
{
    if (!from)
        return;
    to->region = udpai_str_from(from->region);
    to->zone = udpai_str_from(from->zone);
    to->sub_zone = udpai_str_from(from->sub_zone);
}
