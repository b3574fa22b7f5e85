/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/runtime.h"

#include "base/alloc.h"
#include "daemon/runtime_plan.h"

static void
on_changed(void *userdata)
{
    udpai_daemon_runtime *self = userdata;
    udpai_runtime_snapshot *now = udpai_runtime_current_take(&self->runtime.current);
    udpai_tunables_follower_follow(self->follower, now);
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
                          const udpai_tunables_follower_env *env,
                          udpa_error **ret_error)
{
    udpai_runtime_plan layers;
    const Udpa__Config__V1__Bootstrap *message = env->plan->bootstrap.message;
    udpai_daemon_runtime *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_runtime = self;
    self->follower = udpai_tunables_follower_new(env);
    if (!self->follower)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_runtime_plan_make(&layers, message ? message->runtime : NULL, ret_error);
    if (err)
        return err;
    err = begin(self, loop, &layers, env->plan, ret_error);
    udpai_runtime_plan_done(&layers);
    const udpai_daemon_rtds_env rtds = {loop, udpai_endpoint_node(env->endpoint), &self->runtime,
                                        env->plan->rtds.items, env->plan->rtds.n};
    return err ? err : udpai_daemon_rtds_open(&self->rtds, &rtds, ret_error);
}

void
udpai_daemon_runtime_look(udpai_daemon_runtime *self)
{
    udpai_runtime_loader_look(self->loader);
}

/* ---- the end ---- */

void
udpai_daemon_runtime_leave(udpai_daemon_runtime *self)
{
    if (self)
        self->runtime.changed = NULL;
}

void
udpai_daemon_runtime_close(udpai_daemon_runtime *self)
{
    udpai_daemon_runtime_leave(self);
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
    udpai_tunables_follower_free(self->follower);
    udpai_free(self);
}
