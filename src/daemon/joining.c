/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/joining.h"

#include <inttypes.h>

#include "base/log.h"
#include "endpoint/endpoint.h"
#include "storage/migration.h"
#include "storage/sqlite.h"

#define JOINING_MS 1000

/* Clients must not be sent that what its copy lacks is not there. */
static bool
is_replicated(const udpai_joining *self, uint64_t n_unreadable)
{
    return udpai_endpoint_is_replicated(self->endpoint) &&
           (n_unreadable == 0 || udpai_endpoint_has_listed(self->endpoint));
}

/* What the directory has is taken for the state of an etcd that nobody knows: so it is held,
 * served, and written to the one that there is. Once the store has another position that is done.
 */
static udpa_err
migrate(udpai_joining *self, uint64_t n_unreadable, udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!self->plan->is_migrated)
        return UDPA_OK;
    if (n_unreadable)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "%" PRIu64 " secrets in %s cannot be decrypted, and would be lost in "
                          "etcd: add their keys to store.keys",
                          n_unreadable, self->plan->state_directory);
    if (!udpai_endpoint_has_position(self->endpoint)) {
        udpai_endpoint_assume_position(self->endpoint);
        udpai_log(UDPA_LOG_INFO, "replicas",
                  "the store in %s moves to etcd, in some 10 s: until then it is served, and "
                  "publications are rejected; 'udpactl store status' shows how far it is",
                  self->plan->state_directory);
    } else if (udpai_migration_end(self->plan->state_directory, &error) != UDPA_OK) {
        udpai_log(UDPA_LOG_WARNING, "replicas", "%s", udpa_error_message(error));
    }
    return UDPA_OK;
}

static udpa_err
fail_full(const udpai_joining *self, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "the replica set at %s has %d replicas, and may not have more: to "
                      "serve more clients, start nodes that have it as their ConfigSource",
                      self->plan->etcd.prefix, UDPAI_REPLICAS_MAX);
}

static void
on_joining(uv_timer_t *timer)
{
    udpai_joining *self = timer->data;
    if (udpai_endpoint_membership(self->endpoint) == UDPAI_MEMBERSHIP_FULL) {
        udpa_error *why = NULL;
        (void)fail_full(self, &why);
        self->is_full(self->userdata, why);
    } else if (udpai_endpoint_membership(self->endpoint) == UDPAI_MEMBERSHIP_JOINED) {
        uv_timer_stop(timer);
    }
}

/* It serves what it has: etcd may be away, and then nobody knows how many there are. */
static udpa_err
join_later(udpai_joining *self, udpa_error **ret_error)
{
    return uv_timer_start(&self->timer, on_joining, JOINING_MS, JOINING_MS) == 0
               ? UDPA_OK
               : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

/* The first time it has nothing that it could serve instead; nor of secrets that its copy has, and
 * that it cannot decrypt. */
udpa_err
udpai_joining_begin(udpai_joining *self, udpai_replicas *replicas, udpa_error **ret_error)
{
    udpai_replication *replication = udpai_replicas_take(replicas);
    if (!replication)
        return UDPA_OK;
    uint64_t n_unreadable = self->engine ? udpai_sqlite_stats_of(self->engine).n_unreadable : 0;
    udpa_err err = migrate(self, n_unreadable, ret_error);
    if (err != UDPA_OK) {
        replication->ops->close(replication);
        return err;
    }
    err = udpai_fail_code(ret_error, udpai_endpoint_replicate(self->endpoint, replication));
    if (err != UDPA_OK)
        return err;
    if (udpai_endpoint_has_position(self->endpoint) && !n_unreadable)
        return join_later(self, ret_error);
    udpai_log(UDPA_LOG_INFO, "replicas", "reading etcd before clients are served");
    while (!is_replicated(self, n_unreadable) && !*self->is_stopping) {
        if (udpai_endpoint_membership(self->endpoint) == UDPAI_MEMBERSHIP_FULL)
            return fail_full(self, ret_error);
        uv_run(self->loop, UV_RUN_ONCE);
    }
    return *self->is_stopping ? UDPA_ERR_CLOSED : join_later(self, ret_error);
}

void
udpai_joining_init(udpai_joining *self, uv_loop_t *loop)
{
    self->loop = loop;
    uv_timer_init(loop, &self->timer); /* cannot fail */
    self->timer.data = self;
}

void
udpai_joining_end(udpai_joining *self)
{
    uv_close((uv_handle_t *)&self->timer, NULL);
}
