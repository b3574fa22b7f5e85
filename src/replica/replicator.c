/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/replicator_internal.h"

#include "base/alloc.h"

/* ---- changes ---- */

/* One that cannot be read is as if it were not there, on all replicas that cannot read it. */
static udpa_err
add_event(udpai_replicator *replicator, const udpai_etcd_event *event, udpai_durable_batch *batch)
{
    size_t before = udpa_bytes_size(replicator->prefix);
    const udpai_str key = {event->kv.key.data + before, event->kv.key.len - before};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_durable_op op = {0};
    unsigned n_suppressed;
    if (!udpai_record_is_key(key))
        return UDPA_OK;
    udpa_err err = udpai_record_read(&replicator->reader, key,
                                     event->is_delete ? NULL : &event->kv.value, &op, &error);
    if (err != UDPA_OK && err != UDPA_ERR_NOMEM) {
        if (udpai_log_allow(&replicator->malformed_log, replicator->env.wheel->now_ms,
                            &n_suppressed))
            udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_REPLICA, "ignored in etcd: %s (%u more not shown)",
                      error ? udpa_error_message(error) : udpa_err_text(err), n_suppressed);
        udpai_durable_op_done(&op);
        op = (udpai_durable_op){0};
        err = udpai_record_read(&replicator->reader, key, NULL, &op, NULL);
        if (err != UDPA_OK && err != UDPA_ERR_NOMEM)
            return UDPA_OK;
    }
    if (err == UDPA_OK)
        err = udpai_durable_batch_add(batch, &op);
    udpai_durable_op_done(&op);
    return err;
}

static udpa_err
on_changed(void *userdata, const udpai_mirror_change *change)
{
    udpai_replicator *replicator = userdata;
    UDPA_AUTO(udpai_replicated_free)
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_CHANGE);
    if (!event || !(event->batch = udpai_durable_batch_new()))
        return UDPA_ERR_NOMEM;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < change->n_events && err == UDPA_OK; i++)
        err = add_event(replicator, &change->events[i], event->batch);
    if (err != UDPA_OK || (event->batch->ops.n == 0 && !change->is_all))
        return err;
    event->batch->position = (udpai_durable_position){
        .cluster_id = change->position.cluster_id,
        .revision = change->position.revision,
    };
    event->is_all = change->is_all;
    replicator->env.report(replicator->env.userdata, UDPAI_TAKE(event));
    return UDPA_OK;
}

/* ---- the state ---- */

static void
log_state(udpai_mirror_state state, const udpa_error *why)
{
    const char *text = why ? udpa_error_message(why) : "no reason is known";
    if (state == UDPAI_MIRROR_CURRENT)
        udpai_log(UDPA_LOG_INFO, UDPAI_LOG_REPLICA, "current with etcd");
    else if (state == UDPAI_MIRROR_BEHIND)
        udpai_log(UDPA_LOG_WARNING, UDPAI_LOG_REPLICA,
                  "etcd is unavailable, so publications are rejected; what this node has is served "
                  "as before: %s",
                  text);
    else if (state == UDPAI_MIRROR_HELD)
        udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_REPLICA,
                  "etcd has another state than before, so nothing is taken from it, and "
                  "publications are rejected; what this node has is served as before: %s",
                  text);
}

/* Without memory it is reported with the next change of it. */
static void
on_state(void *userdata, udpai_mirror_state state, const udpa_error *why)
{
    static const udpai_replication_state states[] = {
        [UDPAI_MIRROR_LISTING] = UDPAI_REPLICATION_STARTING,
        [UDPAI_MIRROR_CURRENT] = UDPAI_REPLICATION_CURRENT,
        [UDPAI_MIRROR_BEHIND] = UDPAI_REPLICATION_BEHIND,
        [UDPAI_MIRROR_HELD] = UDPAI_REPLICATION_HELD,
    };
    const udpai_replicator *replicator = userdata;
    udpai_replicated *event = udpai_replicated_new(UDPAI_REPLICATED_STATE);
    log_state(state, why);
    if (!event)
        return;
    event->state = states[state];
    event->error = udpa_error_ref((udpa_error *)(uintptr_t)why);
    replicator->env.report(replicator->env.userdata, event);
}

/* ---- its life ---- */

static udpa_err
make_proposals(udpai_replicator *replicator)
{
    const udpai_proposals_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .mirror = replicator->mirror,
        .random = replicator->env.random,
        .userdata = replicator->env.userdata,
    };
    udpai_strbuf lanes = {0};
    udpai_strbuf_str(&lanes, udpai_bytes_view(replicator->prefix));
    udpai_strbuf_puts(&lanes, "lane/");
    udpai_strbuf_str(&lanes, udpai_bytes_view(replicator->replica));
    udpai_strbuf_putc(&lanes, '/');
    udpa_err err = udpai_strbuf_failed(&lanes) ? UDPA_ERR_NOMEM
                                               : udpai_proposals_new(&replicator->proposals, &env,
                                                                     udpai_strbuf_view(&lanes));
    udpai_strbuf_done(&lanes);
    return err;
}

static udpa_err
make(udpai_replicator *replicator, const udpai_replicator_config *config)
{
    const udpai_mirror_env env = {
        .etcd = replicator->env.etcd,
        .wheel = replicator->env.wheel,
        .random = replicator->env.random,
        .changed = on_changed,
        .state_changed = on_state,
        .userdata = replicator,
    };
    const udpai_mirror_position has = {config->has.cluster_id, config->has.revision};
    udpa_err err = udpa_bytes_new(&replicator->prefix, config->prefix.data, config->prefix.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&replicator->replica, config->replica.data, config->replica.len);
    if (err == UDPA_OK)
        err = udpai_mirror_new(&replicator->mirror, &env, config->prefix, has);
    return err == UDPA_OK ? make_proposals(replicator) : err;
}

udpa_err
udpai_replicator_new(udpai_replicator **ret_replicator,
                     const udpai_replicator_env *env,
                     const udpai_replicator_config *config)
{
    udpai_replicator *replicator = udpai_alloc(sizeof(*replicator));
    if (!replicator)
        return UDPA_ERR_NOMEM;
    replicator->env = *env;
    replicator->seals = config->seals;
    udpai_list_init(&replicator->proposed);
    udpai_record_reader_init(&replicator->reader, &replicator->seals);
    udpa_err err = make(replicator, config);
    if (err == UDPA_OK)
        *ret_replicator = replicator;
    else
        udpai_replicator_free(replicator);
    return err;
}

udpai_replicator *
udpai_replicator_free(udpai_replicator *replicator)
{
    if (!replicator)
        return NULL;
    udpai_proposals_free(replicator->proposals);
    udpai_replicator_free_proposed(replicator);
    udpai_mirror_free(replicator->mirror);
    udpai_record_reader_done(&replicator->reader);
    udpa_bytes_unref(replicator->prefix);
    udpa_bytes_unref(replicator->replica);
    udpai_free(replicator);
    return NULL;
}
