/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/runtime.h"

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/runtime_plan.h"

/* ---- what the node goes by ---- */

static void
apply_log_level(const udpai_daemon_runtime *self, const udpai_runtime_snapshot *snapshot)
{
    char word[16];
    udpa_log_level level = self->log_level;
    const udpai_runtime_value *value =
        udpai_runtime_snapshot_find(snapshot, UDPAI_STR(UDPAI_RUNTIME_LOG_LEVEL));
    if (value && value->text.len && value->text.len < sizeof(word)) {
        memcpy(word, value->text.data, value->text.len);
        word[value->text.len] = '\0';
        if (udpai_plan_log_level(word, &level, NULL) != UDPA_OK)
            udpai_log(UDPA_LOG_WARNING, "runtime", "%s: '%s' is no level of the log",
                      UDPAI_RUNTIME_LOG_LEVEL, word);
    }
    udpai_log_set_threshold(level);
}

static void
on_changed(void *userdata)
{
    udpai_daemon_runtime *self = userdata;
    udpai_runtime_snapshot *now = udpai_runtime_current_take(&self->runtime.current);
    apply_log_level(self, now);
    udpai_runtime_snapshot_unref(now);
}

/* ---- beginning ---- */

static udpa_err
begin(udpai_daemon_runtime *self,
      uv_loop_t *loop,
      udpai_runtime_plan *layers,
      const udpai_plan *plan,
      udpa_error **ret_error)
{
    const Udpa__Config__V1__Node *node = plan->bootstrap.message->node;
    udpa_err err = udpai_runtime_init(&self->runtime, layers->layers, layers->n_layers, ret_error);
    if (err)
        return err;
    self->runtime.changed = on_changed;
    self->runtime.userdata = self;
    if (layers->n_loads)
        err = udpai_runtime_take_loads(&self->runtime, layers->loads, layers->n_loads);
    layers->n_loads = 0; /* they were taken, whatever has come of it */
    const udpai_runtime_loader_options options = {
        .loop = loop,
        .runtime = &self->runtime,
        .disks = layers->disks,
        .n_disks = layers->n_disks,
        .service_cluster = node ? node->cluster : "",
    };
    return err ? udpai_fail_code(ret_error, err)
               : udpai_runtime_loader_new(&self->loader, &options, ret_error);
}

udpa_err
udpai_daemon_runtime_open(udpai_daemon_runtime **ret_runtime,
                          uv_loop_t *loop,
                          udpa_endpoint *endpoint,
                          const udpai_plan *plan,
                          udpa_error **ret_error)
{
    udpai_runtime_plan layers;
    const Udpa__Config__V1__Bootstrap *message = plan->bootstrap.message;
    udpai_daemon_runtime *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_runtime = self;
    self->log_level = plan->log_level;
    udpa_err err = udpai_runtime_plan_make(&layers, message ? message->runtime : NULL, ret_error);
    if (err)
        return err;
    err = begin(self, loop, &layers, plan, ret_error);
    udpai_runtime_plan_done(&layers);
    const udpai_daemon_rtds_env env = {loop, udpai_endpoint_node(endpoint), &self->runtime,
                                       plan->rtds.items, plan->rtds.n};
    return err ? err : udpai_daemon_rtds_open(&self->rtds, &env, ret_error);
}

void
udpai_daemon_runtime_look(udpai_daemon_runtime *self)
{
    udpai_runtime_loader_look(self->loader);
}

/* ---- the end ---- */

void
udpai_daemon_runtime_close(udpai_daemon_runtime *self)
{
    if (!self)
        return;
    udpai_daemon_rtds_close(UDPAI_TAKE(self->rtds));
    udpai_runtime_loader_close(UDPAI_TAKE(self->loader), NULL, NULL);
}

void
udpai_daemon_runtime_free(udpai_daemon_runtime *self)
{
    if (!self)
        return;
    udpai_runtime_done(&self->runtime);
    udpai_free(self);
}
