/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/instance.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "model/replica_id.h"
#include "storage/instance.h"

typedef struct choice {
    char instance[UDPAI_INSTANCE_LEN + 1], run[2 * 8 + 1];
    udpa_bytes *replica; /* its id; NULL: none */
    udpai_node_metadata metadata[3];
} choice;

static udpa_err
choose(choice *self, const udpai_plan *plan, const char *run, udpa_error **ret_error)
{
    uint64_t number;
    udpai_str instance = plan->settings.node.id, set_id = plan->settings.node.set_id;
    if (set_id.len) { /* replicas are one instance, and one process, to everybody else */
        self->metadata[0].value = self->metadata[1].value = set_id;
        self->replica = udpai_replica_id(instance, plan->settings.node.replica);
        self->metadata[2].value = self->replica ? udpai_bytes_view(self->replica) : (udpai_str){0};
        return self->replica ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    if (plan->state_directory) {
        udpa_err err = udpai_instance_get(plan->state_directory, self->instance, ret_error);
        if (err != UDPA_OK)
            return err;
        instance = udpai_str_from(self->instance);
    }
    if (run) /* the process before this one lives on in it */
        snprintf(self->run, sizeof(self->run), "%s", run);
    else if (getrandom(&number, sizeof(number), 0) == (ssize_t)sizeof(number))
        snprintf(self->run, sizeof(self->run), "%016" PRIx64, number);
    else
        return udpai_fail(ret_error, UDPA_ERR_IO, "the system gives no random numbers");
    self->metadata[0].value = instance;
    self->metadata[1].value = udpai_str_from(self->run);
    return UDPA_OK;
}

udpa_err
udpai_daemon_instance_choose(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    choice chosen = {
        .metadata = {{UDPAI_NODE_KEY_INSTANCE, udpai_str_from(options->instance)},
                     {UDPAI_NODE_KEY_RUN, udpai_str_from(options->run)},
                     {UDPAI_NODE_KEY_REPLICA, udpai_str_from(options->replica)}},
    };
    udpai_node_info *info = NULL;
    udpa_err err = options->worker ? UDPA_OK : choose(&chosen, plan, options->run, ret_error);
    size_t n = UDPAI_ARRAY_LEN(chosen.metadata) - !chosen.metadata[2].value.len;
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, udpai_node_info_with_metadata(&info, plan->settings.info,
                                                                       chosen.metadata, n));
    udpa_bytes_unref(chosen.replica);
    if (err != UDPA_OK)
        return err;
    udpai_node_info_unref(plan->settings.info);
    plan->settings.info = info;
    plan->settings.node.instance = udpai_node_info_metadata(info, UDPAI_NODE_KEY_INSTANCE);
    return UDPA_OK;
}
