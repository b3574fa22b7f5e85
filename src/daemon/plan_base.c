/* SPDX-License-Identifier: Apache-2.0 */
/* What all sections of a plan are made with: memory, texts, and whom to dial. */
#include "daemon/plan_internal.h"

#include "daemon/certificates.h"
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

udpa_err
udpai_plan_target(void **ret_target,
                  const char *address,
                  const Udpa__Config__V1__ClientTls *tls,
                  const udpai_grpc_target_options *how,
                  udpa_error **ret_error)
{
    udpai_tls_files files = {0};
    if (tls) {
        udpa_err err = udpai_certificates_read_client(tls, &files, ret_error);
        if (err != UDPA_OK && how->release_context)
            how->release_context(how->method.context);
        if (err != UDPA_OK)
            return err;
    }
    udpai_grpc_target_options options = *how;
    options.address = address;
    options.tls = tls ? &files : NULL;
    options.server_name = tls ? tls->server_name : NULL;
    udpai_grpc_target *target = NULL;
    udpa_err err = udpai_grpc_target_new(&target, &options, ret_error);
    udpai_tls_files_done(&files);
    *ret_target = target;
    return err;
}

udpa_err
udpai_plan_note_dialled(udpai_plan *plan,
                        const char *kind,
                        const char *name,
                        const Udpa__Config__V1__ClientTls *tls,
                        void *target)
{
    const udpai_plan_dialled dialled = {.kind = kind, .name = name, .tls = tls, .target = target};
    return !tls || udpai_vector_push(&plan->dialled, dialled) ? UDPA_OK : UDPA_ERR_NOMEM;
}
