/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/store_keys.h"

#include <openssl/crypto.h>

#include "storage/secret_key.h"

static udpa_err
add(udpai_sealer *sealer, const char *path, udpa_error **ret_error)
{
    uint8_t key[UDPAI_SECRET_KEY_SIZE];
    udpa_error *why = NULL;
    udpa_err err = udpai_secret_key_read(path, key, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_sealer_add(sealer, key, &why);
    OPENSSL_cleanse(key, sizeof(key));
    return err == UDPA_OK
               ? err
               : udpai_fail_because(ret_error, err, why, "key file %s of store.keys", path);
}

udpa_err
udpai_store_keys_read(udpai_sealer *ret_sealer,
                      const Udpa__Config__V1__Store *store,
                      udpa_error **ret_error)
{
    udpa_err err = udpai_sealer_init(ret_sealer, NULL, ret_error);
    for (size_t i = 0; store && i < store->n_keys && err == UDPA_OK; i++)
        err = add(ret_sealer, store->keys[i]->file, ret_error);
    return err;
}
