/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/storage.h"

#include "base/log.h"
#include "cli/options.h"
#include "daemon/audit_file.h"
#include "daemon/store_keys.h"
#include "daemon/successor.h"
#include "endpoint/host.h"
#include "storage/backup.h"
#include "storage/sqlite.h"

static void
log_no_keys(const udpai_plan *plan)
{
    if (plan->etcd.n_endpoints)
        udpai_log(UDPA_LOG_INFO, "storage",
                  "store.keys has no key: secrets that are published are rejected");
    else
        udpai_log(UDPA_LOG_INFO, "storage",
                  "store.keys has no key: secrets are kept in memory only, and are served after a "
                  "restart only when their source has sent them again");
}

static udpa_err
open_database(udpai_durable_engine **ret_engine, const udpai_plan *plan, udpa_error **ret_error)
{
    udpai_sealer sealer;
    udpa_err err = udpai_store_keys_read(&sealer, plan->bootstrap.message->store, ret_error);
    if (err == UDPA_OK && sealer.n_keys == 0)
        log_no_keys(plan);
    const udpai_sqlite_options options = {
        .directory = plan->state_directory,
        .sealer = &sealer,
        .secret_types = plan->secret_types,
        .n_secret_types = plan->n_secret_types,
        .release = UDPAI_CLI_VERSION,
        .keeps_format = udpai_successor_is(),
        .takes_loss = plan->is_forced,
        .audit_max_bytes = plan->audit.max_bytes,
        .audit_max_age_us = plan->audit.max_age_ms * 1000,
    };
    if (err == UDPA_OK)
        err = udpai_sqlite_open(ret_engine, &options, ret_error);
    udpai_sealer_done(&sealer);
    if (err == UDPA_OK && udpai_successor_is()) /* it may fail yet, and leave all as it was */
        udpai_sqlite_set_hold(*ret_engine, UDPAI_SQLITE_WAITS);
    return err;
}

/* One that was lost, or never was; a later start has what this one has kept. */
static udpa_err
begin_with_backup(const udpai_plan *plan, udpa_error **ret_error)
{
    udpai_backup_facts facts;
    const char *directory = plan->state_directory, *path = plan->restore_from;
    if (!path)
        return UDPA_OK;
    if (udpai_backup_has_store(directory)) {
        udpai_log(UDPA_LOG_INFO, "storage", "%s has a store, so %s is not restored", directory,
                  path);
        return UDPA_OK;
    }
    udpa_err err = udpai_backup_restore(path, directory, &facts, ret_error);
    if (err == UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "storage",
                  "%s had no store, and was restored from %s, made %s: %llu resources", directory,
                  path, facts.has_manifest ? facts.manifest.made : "at an unknown time",
                  (unsigned long long)facts.manifest.n_resources);
    return err;
}

void
udpai_daemon_storage_leave_output(udpai_daemon_storage *storage)
{
    udpai_audit_output_close(UDPAI_TAKE(storage->output));
}

udpa_err
udpai_daemon_storage_take_output(udpai_daemon_storage *storage,
                                 const udpai_plan *plan,
                                 udpa_error **ret_error)
{
    const udpai_plan_audit *audit = &plan->audit;
    if (storage->output || !storage->sqlite || !audit->is_on || !(audit->file || audit->journald))
        return UDPA_OK;
    return udpai_audit_output_open(&storage->output, plan, ret_error);
}

udpa_err
udpai_daemon_storage_open(udpai_daemon_storage *storage,
                          const udpai_plan *plan,
                          udpa_error **ret_error)
{
    if (!plan->state_directory)
        return plan->audit.is_on
                   ? udpai_audit_file_open(&storage->engine, plan->audit.file, ret_error)
                   : UDPA_OK;
    udpa_err err = begin_with_backup(plan, ret_error);
    if (err == UDPA_OK)
        err = open_database(&storage->sqlite, plan, ret_error);
    storage->engine = storage->sqlite;
    return err == UDPA_OK ? udpai_daemon_storage_take_output(storage, plan, ret_error) : err;
}

void
udpai_daemon_storage_started(const udpai_daemon_storage *storage, udpa_endpoint *endpoint)
{
    if (!storage->sqlite || !udpai_sqlite_was_backup(storage->sqlite))
        return;
    udpai_node_audit(udpai_endpoint_node(endpoint),
                     &(udpai_audit_record){
                         .action = UDPAI_STR("restore"),
                         .actor = UDPAI_STR(UDPAI_AUDIT_NODE),
                         .is_proven = true,
                         .reason = UDPAI_STR("its store was restored from a backup"),
                     });
    udpai_endpoint_touch(endpoint);
}

/* The first output begins what writes them. */
void
udpai_daemon_storage_take_plan(udpai_daemon_storage *storage,
                               const udpai_plan *plan,
                               udpai_audit_outputs *next)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (storage->sqlite)
        udpai_sqlite_set_audit_bounds(storage->sqlite, plan->audit.max_bytes,
                                      plan->audit.max_age_ms * 1000);
    if (next && storage->output) {
        udpai_audit_output_take(storage->output, next);
        return;
    }
    bool is_first = next && storage->sqlite && (plan->audit.file || plan->audit.journald);
    udpai_audit_output_leave(next);
    if (is_first && udpai_audit_output_open(&storage->output, plan, &error) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "audit", "%s",
                  error ? udpa_error_message(error) : "not written: out of memory");
}

void
udpai_daemon_storage_reopen(udpai_daemon_storage *storage)
{
    udpai_audit_output_reopen(storage->output);
    if (!storage->sqlite)
        udpai_audit_file_reopen(storage->engine);
}

void
udpai_daemon_storage_close(udpai_daemon_storage *storage)
{
    udpai_audit_output_close(UDPAI_TAKE(storage->output));
}
