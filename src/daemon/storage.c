/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/storage.h"

#include <openssl/crypto.h>

#include "base/log.h"
#include "storage/secret_key.h"
#include "storage/sqlite.h"

udpa_err
udpai_daemon_storage_open(udpai_durable_engine **ret_engine,
                          const udpai_plan *plan,
                          udpa_error **ret_error)
{
    if (!plan->state_directory)
        return UDPA_OK;
    uint8_t key[UDPAI_SECRET_KEY_SIZE];
    if (plan->key_file) {
        udpa_err err = udpai_secret_key_read(plan->key_file, key, ret_error);
        if (err != UDPA_OK)
            return err;
    } else if (plan->etcd.n_endpoints) {
        udpai_log(UDPA_LOG_INFO, "storage",
                  "no store.key_file is configured: secrets that are published are rejected");
    } else {
        udpai_log(UDPA_LOG_INFO, "storage",
                  "no store.key_file is configured: secrets are kept in memory only, and are "
                  "served after a restart only when their source has sent them again");
    }
    const udpai_sqlite_options options = {
        .directory = plan->state_directory,
        .secret_key = plan->key_file ? key : NULL,
        .secret_types = plan->secret_types,
        .n_secret_types = plan->n_secret_types,
        .takes_loss = plan->is_forced,
        .keeps_expired = plan->etcd.n_endpoints != 0,
    };
    udpa_err err = udpai_sqlite_open(ret_engine, &options, ret_error);
    OPENSSL_cleanse(key, sizeof(key));
    return err;
}
