/* SPDX-License-Identifier: Apache-2.0 */
/* The stream side of an endpoint, or of a worker of one. */
#include "endpoint/endpoint.h"

#include "base/alloc.h"
#include "reports/load_stats.h"
#include "session/udpa.h"
#include "xds/client_registry.h"

#define MAX_PENDING 64
#define MAX_PENDING_BYTES (1 << 20)

static const udpai_str of_single_clients[] = {UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD),
                                              UDPAI_STR(UDPAI_TYPE_SHARED_CLIENT_LOAD)};

udpa_err
udpai_endpoint_make_streams(udpai_stream_thread **ret_streams,
                            const udpai_endpoint_settings *settings,
                            const udpai_streams_env *env,
                            udpa_error **ret_error)
{
    udpai_grpc_method *methods = udpai_alloc_array(settings->n_methods + 1, sizeof(*methods));
    if (!methods)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    methods[0] = (udpai_grpc_method){UDPAI_UDPA_PATH, udpai_udpa_session_new, NULL, false};
    for (size_t i = 0; i < settings->n_methods; i++)
        methods[i + 1] = settings->methods[i];
    const udpai_stream_thread_options options = {
        .hub =
            {
                .fanout = settings->fanout,
                .debounce = settings->debounce,
                .info = settings->info,
                .acl = settings->node.acl,
                .topics = settings->topics,
                .is_worker = env->is_worker,
                .has_barriers = settings->has_replicas,
                .first_session = env->first_session,
                .session_step = env->session_step,
                .watcher = settings->client_ttl_ms ? &udpai_client_registry_ops : NULL,
                .withheld_types = of_single_clients,
                .n_withheld_types = UDPAI_ARRAY_LEN(of_single_clients),
                .withheld = settings->aggregated,
                .n_withheld = settings->n_aggregated,
                .max_pending = MAX_PENDING,
                .max_pending_bytes = MAX_PENDING_BYTES,
            },
        .methods = methods,
        .n_methods = settings->n_methods + 1,
        .limits = settings->limits,
        .timing = settings->timing,
        .shares_ports = env->shares_ports,
        .acceptance = settings->acceptance,
        .report = env->report,
        .stopped = env->stopped,
        .userdata = env->userdata,
    };
    udpa_err err = udpai_stream_thread_new(ret_streams, &options, ret_error);
    udpai_free(methods);
    return err;
}
