/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/storage.h"

#include "base/log.h"
#include "daemon/store_keys.h"
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

udpa_err
udpai_daemon_storage_open(udpai_durable_engine **ret_engine,
                          const udpai_plan *plan,
                          udpa_error **ret_error)
{
    if (!plan->state_directory)
        return UDPA_OK;
    udpai_sealer sealer;
    udpa_err err = udpai_store_keys_read(&sealer, plan->bootstrap.message->store, ret_error);
    if (err == UDPA_OK && sealer.n_keys == 0)
        log_no_keys(plan);
    const udpai_sqlite_options options = {
        .directory = plan->state_directory,
        .sealer = &sealer,
        .secret_types = plan->secret_types,
        .n_secret_types = plan->n_secret_types,
        .takes_loss = plan->is_forced,
        .keeps_expired = plan->etcd.n_endpoints != 0,
    };
    if (err == UDPA_OK)
        err = udpai_sqlite_open(ret_engine, &options, ret_error);
    udpai_sealer_done(&sealer);
    return err;
}
