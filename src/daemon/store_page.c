/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store_page.h"

#include <inttypes.h>

#include "daemon/page_body.h"
#include "loop/clock.h"
#include "storage/migration.h"

static const char *
state_text(udpai_replication_state state)
{
    static const char *const texts[] = {
        [UDPAI_REPLICATION_STARTING] = "starting",
        [UDPAI_REPLICATION_CURRENT] = "current",
        [UDPAI_REPLICATION_BEHIND] = "behind",
        [UDPAI_REPLICATION_HELD] = "held",
    };
    return texts[state];
}

/* In that state. */
static uint64_t
seconds_of(const udpai_replica_status *status)
{
    int64_t us = status->since_us ? udpai_wall_us() - status->since_us : 0;
    return us > 0 ? (uint64_t)us / 1000000 : 0;
}

static int64_t
applied_of(const udpa_endpoint *endpoint)
{
    return udpai_node_position(udpai_endpoint_node(endpoint)).revision;
}

/* ---- the page ---- */

static void
put_count(udpai_strbuf *text, const char *name, size_t n)
{
    udpai_strbuf_printf(text, "%s: %zu\n", name, n);
}

/* One, whatever a peer has named itself. */
static void
put_line(udpai_strbuf *text, const char *name, udpai_str value)
{
    udpai_strbuf_printf(text, "%s: ", name);
    for (size_t i = 0; i < value.len; i++)
        udpai_strbuf_putc(text, (unsigned char)value.data[i] < ' ' ? '?' : value.data[i]);
    udpai_strbuf_putc(text, '\n');
}

static void
put_hold(udpai_strbuf *text, const udpai_hold *hold)
{
    const udpai_hold_difference *difference = &hold->difference;
    if (hold->is_listed) {
        put_count(text, "missing in etcd", difference->n_missing);
        put_count(text, "older in etcd", difference->n_older);
        put_count(text, "another in etcd", difference->n_other);
        put_count(text, "newer in etcd", difference->n_newer);
        put_count(text, "in etcd alone", difference->n_returned);
        put_count(text, "in etcd, and cannot be decrypted here", difference->n_locked);
    }
    for (size_t i = 0; i < hold->n_names; i++)
        put_line(text, "would be lost", udpai_bytes_view(hold->names[i]));
    size_t n_lost = difference->n_missing + difference->n_older;
    if (n_lost > hold->n_names)
        udpai_strbuf_printf(text, "would be lost: %zu more\n", n_lost - hold->n_names);
    if (hold->next)
        put_line(text, "next", udpai_bytes_view(hold->next));
}

udpa_err
udpai_store_page(const udpa_endpoint *endpoint, udpai_strbuf *text, udpa_error **ret_error)
{
    const udpai_replica_status *status = udpai_node_replica_status(udpai_endpoint_node(endpoint));
    if (!status)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node has no replicas: its store is no etcd");
    udpai_strbuf_printf(text,
                        "state: %s, for %" PRIu64 " s\n"
                        "revision: %" PRId64 " applied, etcd was at %" PRId64 "\n",
                        state_text(status->state), seconds_of(status), applied_of(endpoint),
                        status->revision);
    if (status->why)
        put_line(text, "reason", udpai_str_from(udpa_error_message(status->why)));
    if (status->hold)
        put_hold(text, status->hold);
    return UDPA_OK;
}

udpa_err
udpai_store_migrate_page(const udpai_plan *plan, udpai_strbuf *text, udpa_error **ret_error)
{
    bool is_to_etcd = plan->etcd.n_endpoints == 0;
    if (!plan->state_directory)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "nothing is stored (store.in_memory), so there is nothing to move");
    udpa_err err = udpai_migration_ask(
        plan->state_directory, is_to_etcd ? UDPAI_MIGRATION_TO_ETCD : UDPAI_MIGRATION_TO_SQLITE,
        ret_error);
    if (err != UDPA_OK)
        return err;
    if (is_to_etcd)
        udpai_strbuf_printf(
            text,
            "The next start with store.engine ETCD moves what %s has to etcd.\n"
            "1. Set store.engine, endpoints and a prefix that nothing else uses; 'udpad --check' "
            "reads it.\n"
            "2. Restart udpad. It serves at once, and takes publications when all is in etcd, "
            "after "
            "some 10 s.\n"
            "3. Start the other replicas then, each with an empty directory.\n",
            plan->state_directory);
    else
        udpai_strbuf_printf(
            text,
            "The next start with store.engine SQLITE keeps what %s has.\n"
            "1. Stop the other replicas: what is published there from now on is not in it.\n"
            "2. Set store.engine to SQLITE, and remove what is for ETCD alone; 'udpad --check' "
            "reads "
            "it.\n"
            "3. Restart udpad. What is below store.prefix in etcd is not used any more.\n",
            plan->state_directory);
    return UDPA_OK;
}

udpa_err
udpai_store_answer_page(udpa_endpoint *endpoint,
                        udpai_hold_answer answer,
                        udpai_str form,
                        udpai_strbuf *text,
                        udpa_error **ret_error)
{
    bool is_dry_run =
        udpai_str_eq(form, UDPAI_STR("dry_run")) || udpai_str_eq(form, UDPAI_STR("dry_run=true"));
    const udpai_replica_status *status = udpai_node_replica_status(udpai_endpoint_node(endpoint));
    if (form.len && !is_dry_run)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "usage: /store_accept or /store_push, with ?dry_run, or "
                          "{\"dry_run\": true} as the body, to see only what would be lost");
    if (is_dry_run && (!status || status->state == UDPAI_REPLICATION_HELD))
        return udpai_store_page(endpoint, text, ret_error);
    udpa_err err = udpai_store_page(endpoint, text, ret_error);
    return err == UDPA_OK ? udpai_endpoint_answer_hold(endpoint, answer, ret_error) : err;
}

/* ---- secrets ---- */

udpa_err
udpai_store_reseal_page(udpai_replicas *replicas,
                        udpai_str form,
                        udpai_strbuf *text,
                        udpa_error **ret_error)
{
    bool only_looks = udpai_str_eq(form, UDPAI_STR("look=true"));
    udpa_err err = only_looks ? UDPA_OK : udpai_replicas_reseal(replicas, ret_error);
    if (err != UDPA_OK)
        return err;
    const udpai_reseal_progress progress = udpai_replicas_resealing(replicas);
    udpai_strbuf_printf(text, "%s secrets %zu sealed %zu changed %zu left %zu %s\n",
                        progress.is_running ? "running"
                        : progress.error[0] ? "failed"
                                            : "done",
                        progress.n_secrets, progress.n_sealed, progress.n_lost, progress.n_left,
                        progress.error);
    return UDPA_OK;
}

/* ---- numbers ---- */

void
udpai_store_stats(const udpa_endpoint *endpoint, udpai_strbuf *text)
{
    const udpai_replica_status *status = udpai_node_replica_status(udpai_endpoint_node(endpoint));
    if (!status)
        return;
    udpai_strbuf_printf(
        text,
        "replica.is_current: %d\nreplica.is_held: %d\n"
        "replica.not_current_seconds: %" PRIu64 "\n"
        "replica.revision: %" PRId64 "\nreplica.etcd_revision: %" PRId64 "\n"
        "replica.etcd_size_bytes: %" PRId64 "\nreplica.etcd_quota_bytes: %" PRId64
        "\nreplica.etcd_has_alarm: %d\nreplica.overdue: %zu\n"
        "replica.barriers_given_up: %" PRIu64 "\n",
        status->state == UDPAI_REPLICATION_CURRENT, status->state == UDPAI_REPLICATION_HELD,
        status->state == UDPAI_REPLICATION_CURRENT ? 0 : seconds_of(status), applied_of(endpoint),
        status->revision, status->size_bytes, status->quota_bytes, status->alarm != NULL,
        status->n_overdue, status->n_given_up);
}

static void
put_gauge(udpai_strbuf *text, const char *name, uint64_t value)
{
    udpai_strbuf_printf(text, "# TYPE udpa_replica_%s gauge\nudpa_replica_%s %" PRIu64 "\n", name,
                        name, value);
}

void
udpai_store_metrics(const udpa_endpoint *endpoint, udpai_strbuf *text)
{
    const udpai_replica_status *status = udpai_node_replica_status(udpai_endpoint_node(endpoint));
    if (!status)
        return;
    bool is_current = status->state == UDPAI_REPLICATION_CURRENT;
    put_gauge(text, "is_current", is_current);
    put_gauge(text, "is_held", status->state == UDPAI_REPLICATION_HELD);
    put_gauge(text, "not_current_seconds", is_current ? 0 : seconds_of(status));
    put_gauge(text, "revision", (uint64_t)applied_of(endpoint));
    put_gauge(text, "etcd_revision", (uint64_t)status->revision);
    put_gauge(text, "etcd_size_bytes", (uint64_t)status->size_bytes);
    put_gauge(text, "etcd_quota_bytes", (uint64_t)status->quota_bytes);
    put_gauge(text, "etcd_has_alarm", status->alarm != NULL);
    put_gauge(text, "overdue", status->n_overdue);
    udpai_strbuf_printf(text,
                        "# TYPE udpa_replica_barriers_given_up_total counter\n"
                        "udpa_replica_barriers_given_up_total %" PRIu64 "\n",
                        status->n_given_up);
    if (status->hold && status->hold->is_listed)
        put_gauge(text, "would_be_lost",
                  status->hold->difference.n_missing + status->hold->difference.n_older);
}
