/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/replicas.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "daemon/mesh.h"
#include "daemon/store_keys.h"
#include "model/digest.h"
#include "model/secret_type.h"
#include "storage/instance.h"
#include "storage/migration.h"
#include "storage/password_file.h"
#include "storage/set_file.h"
#include "transport/etcd/replication.h"

struct udpai_replicas {
    udpai_replication *replication;
    bool is_taken;
    const char *password_file;  /* NULL: none */
    pthread_mutex_t keys_mutex; /* of the sealer: the thread of etcd uses it */
    udpai_sealer sealer;
    char address[512]; /* for people: the host, and the first socket */
    char advertised[UDPAI_MESH_ADDRESS_MAX];
    char replica[UDPAI_INSTANCE_LEN + 1], set_id[UDPAI_SET_FILE_ID_MAX + 1];

    /* What is found, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t found;
    bool is_found;
    udpa_error *error;
};

/* ---- secrets ---- */

static bool
is_secret(void *userdata, udpai_str type_url)
{
    (void)userdata;
    return udpai_type_is_secret(type_url);
}

static udpai_seal_place
seal_place(const udpai_record_place *place)
{
    return (udpai_seal_place){place->origin, place->type_url, place->name};
}

static udpa_err
seal(void *userdata,
     const udpai_record_place *place,
     udpai_str plain,
     udpa_bytes **ret_sealed,
     udpa_error **ret_error)
{
    udpai_replicas *replicas = userdata;
    const udpai_seal_place where = seal_place(place);
    pthread_mutex_lock(&replicas->keys_mutex);
    udpa_err err = udpai_seal(&replicas->sealer, &where, plain, ret_sealed, ret_error);
    pthread_mutex_unlock(&replicas->keys_mutex);
    return err;
}

static udpa_err
unseal(void *userdata,
       const udpai_record_place *place,
       udpai_str sealed,
       udpa_bytes **ret_plain,
       udpa_error **ret_error)
{
    udpai_replicas *replicas = userdata;
    const udpai_seal_place where = seal_place(place);
    pthread_mutex_lock(&replicas->keys_mutex);
    udpa_err err = udpai_unseal(&replicas->sealer, &where, sealed, ret_plain, ret_error);
    pthread_mutex_unlock(&replicas->keys_mutex);
    return err;
}

static udpai_record_sealed
find_key(void *userdata, udpai_str sealed, char ret_id[UDPAI_RECORD_KEY_ID_MAX])
{
    static const udpai_record_sealed states[] = {
        [UDPAI_SEALED_BY_NONE] = UDPAI_RECORD_DAMAGED,
        [UDPAI_SEALED_BY_FIRST] = UDPAI_RECORD_CURRENT,
        [UDPAI_SEALED_BY_OTHER] = UDPAI_RECORD_OLD,
        [UDPAI_SEALED_BY_MISSING] = UDPAI_RECORD_LOCKED,
    };
    udpai_replicas *replicas = userdata;
    pthread_mutex_lock(&replicas->keys_mutex);
    udpai_sealed_by by = udpai_sealer_find(&replicas->sealer, sealed, ret_id);
    pthread_mutex_unlock(&replicas->keys_mutex);
    return states[by];
}

/* For the others; empty without memory. */
static udpai_str
put_key_ids(const udpai_sealer *keys, udpai_strbuf *text)
{
    udpai_sealer_put_ids(keys, text);
    return udpai_strbuf_failed(text) ? (udpai_str){"", 0} : udpai_strbuf_view(text);
}

udpa_err
udpai_replicas_set_keys(udpai_replicas *replicas, const udpai_sealer *keys)
{
    udpai_strbuf text = {0};
    if (!replicas)
        return UDPA_OK;
    pthread_mutex_lock(&replicas->keys_mutex);
    replicas->sealer = *keys;
    pthread_mutex_unlock(&replicas->keys_mutex);
    udpa_err err = udpai_etcd_replication_set_keys(replicas->replication, put_key_ids(keys, &text));
    udpai_strbuf_done(&text);
    return err;
}

udpa_err
udpai_replicas_reseal(udpai_replicas *replicas, udpa_error **ret_error)
{
    if (!replicas)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "this node has no replicas: what it keeps is encrypted with the first "
                          "key of store.keys as soon as that changes");
    pthread_mutex_lock(&replicas->keys_mutex);
    bool has_key = replicas->sealer.n_keys > 0;
    pthread_mutex_unlock(&replicas->keys_mutex);
    return has_key
               ? udpai_fail_code(ret_error, udpai_etcd_replication_reseal(replicas->replication))
               : udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                            "this replica has no key: set store.keys");
}

udpai_reseal_progress
udpai_replicas_resealing(udpai_replicas *replicas)
{
    return replicas ? udpai_etcd_replication_resealing(replicas->replication)
                    : (udpai_reseal_progress){0};
}

/* ---- the set ---- */

static void
on_found(void *userdata, udpai_str id, const udpa_error *error)
{
    udpai_replicas *replicas = userdata;
    pthread_mutex_lock(&replicas->mutex);
    if (id.len <= UDPAI_SET_FILE_ID_MAX)
        memcpy(replicas->set_id, id.data ? id.data : "", id.len);
    replicas->error = udpa_error_ref((udpa_error *)(uintptr_t)error);
    replicas->is_found = true;
    pthread_cond_signal(&replicas->found);
    pthread_mutex_unlock(&replicas->mutex);
}

/* Nothing else is under way yet, so signals end the process. */
static udpa_err
find_set(udpai_replicas *replicas, const udpai_plan *plan, udpa_error **ret_error)
{
    const udpai_etcd_set_request request = {plan->settings.node.id, on_found, replicas};
    udpa_err err = udpai_etcd_replication_find_set(replicas->replication, &request);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    pthread_mutex_lock(&replicas->mutex);
    while (!replicas->is_found)
        pthread_cond_wait(&replicas->found, &replicas->mutex);
    pthread_mutex_unlock(&replicas->mutex);
    if (!replicas->error)
        return udpai_set_file_write(plan->state_directory, plan->etcd.prefix,
                                    udpai_str_from(replicas->set_id), ret_error);
    err = udpa_error_code(replicas->error);
    *ret_error = UDPAI_TAKE(replicas->error);
    return err;
}

/* The store of a node without replicas is the beginning of a set, if that was asked for. */
static udpa_err
found_set(udpai_plan *plan, udpa_error **ret_error)
{
    char id[UDPAI_INSTANCE_LEN + 1];
    plan->is_migrated = udpai_migration_read(plan->state_directory) == UDPAI_MIGRATION_TO_ETCD;
    if (!plan->is_migrated || !udpai_set_file_is_alone(plan->state_directory))
        return UDPA_OK;
    if (!udpai_instance_draw(id))
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot draw an id for the replica set: %s",
                          strerror(errno));
    return udpai_set_file_write(plan->state_directory, plan->etcd.prefix, udpai_str_from(id),
                                ret_error);
}

/* Its copy is the store of a node without replicas from now on, if that was asked for. */
static udpa_err
leave_set(const char *directory, udpa_error **ret_error)
{
    if (udpai_migration_read(directory) != UDPAI_MIGRATION_TO_SQLITE)
        return udpai_set_file_check_none(directory, ret_error);
    udpa_err err = udpai_set_file_remove(directory, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_log(UDPA_LOG_INFO, "storage",
              "what %s has of the replica set is the store of this node alone from now on",
              directory);
    return udpai_migration_end(directory, ret_error);
}

static udpa_err
join(udpai_replicas *replicas, udpai_plan *plan, udpa_error **ret_error)
{
    udpa_err err = found_set(plan, ret_error);
    if (err == UDPA_OK)
        err = udpai_set_file_read(plan->state_directory, plan->etcd.prefix, replicas->set_id,
                                  ret_error);
    if (err == UDPA_OK && !replicas->set_id[0])
        err = find_set(replicas, plan, ret_error);
    if (err == UDPA_OK)
        udpai_log(UDPA_LOG_INFO, "replicas", "replica %s of the set %s, at %s in etcd",
                  replicas->replica, replicas->set_id, plan->etcd.prefix);
    return err;
}

/* ---- what the others are told ---- */

/* Of what must be the same on all replicas: not where each of them listens, and keeps its copy.
 * Files of keys may have other contents at one path: the keys count. False without memory. */
static bool
put_config(const udpai_plan *plan,
           const Udpa__Config__V1__Bootstrap *rules,
           const udpai_keyring *keyring,
           char ret_hex[UDPAI_CONTENT_HASH_HEX])
{
    Udpa__Config__V1__Bootstrap shared = *plan->bootstrap.message;
    shared.acl = rules->acl;
    shared.signatures = rules->signatures;
    Udpa__Config__V1__Store store = *shared.store;
    static char none[] = "";
    shared.n_sockets = 0;
    shared.http = NULL;
    shared.store = &store;
    store.directory = store.password_file = store.user = none;
    store.n_endpoints = store.n_keys = 0; /* of keys the ids are compared */
    store.tls = store.replica_tls = NULL;
    store.advertise = none;
    size_t size = udpa__config__v1__bootstrap__get_packed_size(&shared);
    UDPAI_AUTO_FREE uint8_t *packed = udpai_alloc(size);
    udpai_strbuf text = {0};
    bool is_put = packed && udpai_keyring_put_keys(keyring, &text) == UDPA_OK;
    if (is_put) {
        udpa__config__v1__bootstrap__pack(&shared, packed);
        udpai_strbuf_append(&text, packed, size);
        is_put = !udpai_strbuf_failed(&text);
    }
    if (is_put)
        udpai_content_hash_hex(udpai_content_hash_of(UDPAI_STR(""), udpai_strbuf_view(&text)),
                               ret_hex);
    udpai_strbuf_done(&text);
    return is_put;
}

static void
write_address(udpai_replicas *replicas, const udpai_plan *plan)
{
    snprintf(replicas->address, sizeof(replicas->address), "%s %s", plan->host,
             plan->sockets.n ? plan->sockets.items[0].address : "");
}

/* ---- its life ---- */

static udpa_err
open_replication(udpai_replicas *replicas, const udpai_plan *plan, udpa_error **ret_error)
{
    const udpai_plan_etcd *etcd = &plan->etcd;
    char password[UDPAI_PASSWORD_MAX + 1] = "", config[UDPAI_CONTENT_HASH_HEX];
    udpai_strbuf key_ids = {0};
    if (!put_config(plan, plan->bootstrap.message, plan->settings.node.keyring, config))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    write_address(replicas, plan);
    udpai_daemon_mesh_address(plan, replicas->advertised, sizeof(replicas->advertised));
    udpa_err err = etcd->password_file
                       ? udpai_password_file_read(etcd->password_file, password, ret_error)
                       : UDPA_OK;
    const udpai_etcd_replication_options options = {
        .client =
            {
                .endpoints = etcd->endpoints,
                .n_endpoints = etcd->n_endpoints,
                .tls = etcd->tls,
                .server_name = etcd->server_name,
                .user = etcd->user,
                .password = etcd->user ? password : NULL,
            },
        .prefix = etcd->prefix,
        .own =
            {
                .id = udpai_str_from(replicas->replica),
                .version = udpai_str_from(plan->settings.version),
                .address = udpai_str_from(replicas->address),
                .config = {config, sizeof(config)},
                .advertised = udpai_str_from(replicas->advertised),
                .keys = put_key_ids(&replicas->sealer, &key_ids),
            },
        .seals =
            {
                .is_secret = is_secret,
                .seal = seal,
                .unseal = unseal,
                .find_key = find_key,
                .userdata = replicas,
            },
    };
    if (err == UDPA_OK)
        err = udpai_etcd_replication_new(&replicas->replication, &options, ret_error);
    OPENSSL_cleanse(password, sizeof(password));
    udpai_strbuf_done(&key_ids);
    return err;
}

udpa_err
udpai_replicas_open(udpai_replicas **ret_replicas, udpai_plan *plan, udpa_error **ret_error)
{
    if (plan->etcd.n_endpoints == 0)
        return plan->state_directory ? leave_set(plan->state_directory, ret_error) : UDPA_OK;
    udpai_replicas *replicas = udpai_alloc(sizeof(*replicas));
    if (!replicas)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    pthread_mutex_init(&replicas->mutex, NULL);
    pthread_mutex_init(&replicas->keys_mutex, NULL);
    pthread_cond_init(&replicas->found, NULL);
    replicas->password_file = plan->etcd.password_file;
    udpa_err err = udpai_instance_get(plan->state_directory, replicas->replica, ret_error);
    if (err == UDPA_OK)
        err = udpai_store_keys_read(&replicas->sealer, plan->bootstrap.message->store, ret_error);
    if (err == UDPA_OK)
        err = udpai_daemon_mesh_plan(plan, ret_error);
    if (err == UDPA_OK)
        err = open_replication(replicas, plan, ret_error);
    if (err == UDPA_OK)
        err = join(replicas, plan, ret_error);
    if (err != UDPA_OK) {
        udpai_replicas_close(replicas);
        return err;
    }
    plan->settings.node.set_id = udpai_str_from(replicas->set_id);
    plan->settings.node.replica = udpai_str_from(replicas->replica);
    *ret_replicas = replicas;
    return UDPA_OK;
}

udpai_replication *
udpai_replicas_take(udpai_replicas *replicas)
{
    if (!replicas)
        return NULL;
    replicas->is_taken = true;
    return replicas->replication;
}

udpa_err
udpai_replicas_replace_tls(udpai_replicas *replicas,
                           const udpai_tls_files *files,
                           udpa_error **ret_error)
{
    return udpai_etcd_replication_replace_tls(replicas->replication, files, ret_error);
}

void
udpai_replicas_note_rules(udpai_replicas *replicas,
                          const udpai_plan *plan,
                          const Udpa__Config__V1__Bootstrap *read,
                          const udpai_keyring *keyring)
{
    char config[UDPAI_CONTENT_HASH_HEX];
    if (!replicas)
        return;
    if (!put_config(plan, read, keyring, config) ||
        udpai_etcd_replication_set_config(replicas->replication,
                                          (udpai_str){config, sizeof(config)}) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "replicas",
                  "out of memory: the other replicas do not have the digest of the rules "
                  "that were read");
}

void
udpai_replicas_reload_password(udpai_replicas *replicas)
{
    char password[UDPAI_PASSWORD_MAX + 1];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!replicas || !replicas->password_file)
        return;
    udpa_err err = udpai_password_file_read(replicas->password_file, password, &error);
    if (err == UDPA_OK)
        err = udpai_etcd_replication_set_password(replicas->replication, password);
    if (err != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "replicas", "the password of etcd is the one of before: %s",
                  error ? udpa_error_message(error) : udpa_err_text(err));
    OPENSSL_cleanse(password, sizeof(password));
}

void
udpai_replicas_close(udpai_replicas *replicas)
{
    if (!replicas)
        return;
    if (replicas->replication && !replicas->is_taken)
        replicas->replication->ops->close(replicas->replication);
    udpa_error_unref(replicas->error);
    udpai_sealer_done(&replicas->sealer);
    pthread_cond_destroy(&replicas->found);
    pthread_mutex_destroy(&replicas->mutex);
    pthread_mutex_destroy(&replicas->keys_mutex);
    udpai_free(replicas);
}
