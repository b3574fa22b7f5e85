/* SPDX-License-Identifier: Apache-2.0 */
/* The default of every limit and time of a node (udpad.conf(5) names them). */
#include "endpoint/endpoint.h"

#define MIB ((size_t)1 << 20)

void
udpai_endpoint_settings_init(udpai_endpoint_settings *settings)
{
    *settings = (udpai_endpoint_settings){
        .node =
            {
                .timing =
                    {
                        .connect_grace_ms = 2000,
                        .sync_timeout_ms = 15000,
                        .fail_over_spread_ms = 500,
                        .recover_timeout_ms = 10000,
                        .fail_back_delay_ms = 5000,
                        .backoff_base_ms = 250,
                        .backoff_max_ms = 15000,
                        .interest_linger_ms = 30000,
                        .silence_ms = 1000,
                        .silence_max_ms = 5000,
                        .answer_timeout_ms = 30000,
                    },
                .store =
                    {
                        .remember_ms = 3600 * 1000,
                        .remember_max = 100000,
                        .max_resources_per_namespace = 1000000,
                        .max_bytes_per_namespace = 1024 * MIB,
                        .max_resources_per_publisher = 1000000,
                        .max_bytes_per_publisher = 1024 * MIB,
                        .max_publishers_per_name = UDPAI_PUBLISHERS_PER_NAME,
                        .max_resources = 4000000,
                        .max_bytes = (uint64_t)4096 * MIB,
                    },
                .max_changes_ahead = 4,
                .max_clients = 8192,
            },
        .fanout =
            {
                .cycle_timeout_ms = 20000,
                .first_answer_timeout_ms = 10000,
                .view_linger_ms = 30000,
                .tombstones_min = 4096,
                .max_views = 65536,
                .max_views_per_owner = 16384,
                .max_names = 100000,
                .max_held = 1000000,
                .max_held_bytes = 64 * MIB,
                .body_cache_bytes = 64 * MIB,
                .response_bytes = 1 * MIB,
            },
        .version = "0.1.0",
    };
}
