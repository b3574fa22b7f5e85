/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'store' of the bootstrap file: where what is received is kept, which of it is secret,
 * and the etcd that the replicas of a set share. */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <strings.h>

#include "codec/place.h"
#include "daemon/certificates.h"
#include "daemon/files.h"
#include "daemon/plan_internal.h"
#include "daemon/reflect.h"
#include "daemon/sections.h"
#include "model/secret_type.h"
#include "storage/password_file.h"
#include "storage/secret_key.h"
#include "transport/etcd/client.h"

#define DEFAULT_PREFIX "/udpa/default"
#define PREFIX_MAX 256

typedef Udpa__Config__V1__Store store_message;

bool
udpai_store_is_replicated(const store_message *store)
{
    return store && store->engine == UDPA__CONFIG__V1__STORE__ENGINE__ETCD;
}

/* ---- the state directory ---- */

static void
check_in_memory(const udpai_value *value)
{
    const store_message *store = value->in;
    if (*store->directory || store->n_keys)
        udpai_value_error(value, "", "nothing is kept, so directory and keys have no meaning");
    if (udpai_store_is_replicated(store))
        udpai_value_error(value, "",
                          "engine ETCD needs a state directory, for its local copy: omit this, and "
                          "set directory");
}

static void
check_key(const udpai_value *value)
{
    uint8_t key[UDPAI_SECRET_KEY_SIZE];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_secret_key_read(value->text, key, &error) != UDPA_OK)
        udpai_file_error(value, "", value->text, "%s", udpa_error_message(error));
    OPENSSL_cleanse(key, sizeof(key));
}

static void
check_once(const udpai_value *value)
{
    const store_message *store = value->bootstrap->store;
    for (size_t i = 0; i < value->index; i++)
        if (strcmp(store->keys[i]->file, value->text) == 0)
            udpai_value_error(value, "", "store.keys[%zu] has the same file", i);
}

static const udpai_field key_fields[] = {
    {.name = "file", UDPAI_PUBLIC, UDPAI_REQUIRED, .check = check_once, .check_files = check_key},
};

static const udpai_section key = {UDPAI_SECTION(store_key, key_fields)};

/* ---- etcd ---- */

/* Tools of etcd take URLs. */
static udpa_err
check_endpoint(const char *endpoint, udpa_error **ret_error)
{
    if (strncasecmp(endpoint, "http://", 7) != 0 && strncasecmp(endpoint, "https://", 8) != 0)
        return udpai_dial_address_check(endpoint, ret_error);
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is a URL: write HOST:PORT, such as etcd-1.example.com:2379; with 'tls' "
                      "in store, etcd is reached with TLS",
                      endpoint);
}

static udpa_err
check_prefix(const char *prefix, udpa_error **ret_error)
{
    size_t len = strlen(prefix), n_good = 0;
    while (prefix[n_good] > ' ' && prefix[n_good] <= '~')
        n_good++;
    if (len == 0 ||
        (n_good == len && len <= PREFIX_MAX && prefix[0] == '/' && prefix[len - 1] != '/'))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no prefix in etcd: write '/' and a name, such as /udpa/eu-west: at "
                      "most %d bytes of printable ASCII without spaces, and no '/' at the end",
                      UDPAI_QUOTE(udpai_str_from(prefix)), PREFIX_MAX);
}

static void
check_password(const udpai_value *value)
{
    char password[UDPAI_PASSWORD_MAX + 1];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_password_file_read(value->text, password, &error) != UDPA_OK)
        udpai_file_error(value, "", value->text, "%s", udpa_error_message(error));
    OPENSSL_cleanse(password, sizeof(password));
}

/* A number can be any, and must not come to mean a node alone. */
static void
check_known(const udpai_value *value)
{
    if (value->number > UDPA__CONFIG__V1__STORE__ENGINE__ETCD)
        udpai_value_error(value, "", "%" PRIu64 " is no engine: write SQLITE or ETCD",
                          value->number);
}

static void
check_no_etcd(const udpai_value *value)
{
    static const char *const names[] = {"endpoints",     "tls",           "user",
                                        "password_file", "prefix",        "advertise",
                                        "replica_tls",   "replica_names", "accept_above_share"};
    const ProtobufCMessage *store = value->message;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field_by_name(store->descriptor, names[i]);
        if (udpai_reflect_count(store, field))
            udpai_value_error(value, names[i],
                              "has no meaning without engine ETCD: set 'engine: ETCD' in store, or "
                              "omit this");
    }
}

static void
check_etcd(const udpai_value *value)
{
    const store_message *store = value->message;
    if (store->n_endpoints == 0)
        udpai_value_error(value, "endpoints",
                          "is required with engine ETCD: write HOST:PORT of the members of the "
                          "etcd cluster");
    if ((*store->user != 0) != (*store->password_file != 0))
        udpai_value_error(value, *store->user ? "user" : "password_file",
                          "user and password_file come together: the other one is missing");
}

static void
check_engine(const udpai_value *value)
{
    if (udpai_store_is_replicated(value->message))
        check_etcd(value);
    else
        check_no_etcd(value);
}

/* ---- the fields ---- */

static const udpai_field fields[] = {
    {.name = "engine", .check = check_known},
    {.name = "directory",
     UDPAI_PUBLIC}, /* its files: below, with the option that takes its place */
    {.name = "keys",
     .of = &key,
     .max = UDPAI_SEAL_KEYS_MAX,
     .bounds = "are too many",
     .is_taken_over = true},
    {.name = "in_memory", .check = check_in_memory},
    {.name = "secret_types", UDPAI_PUBLIC, UDPAI_EACH_REQUIRED, .word = udpai_type_check},
    {.name = "endpoints",
     UDPAI_PUBLIC,
     UDPAI_EACH_REQUIRED,
     .word = check_endpoint,
     .check = udpai_check_dialled,
     .max = UDPAI_ETCD_ENDPOINTS_MAX,
     .bounds = "are too many"},
    {.name = "tls", .of = &udpai_section_client_tls},
    {.name = "user", UDPAI_MAY_BE_SECRET},
    {.name = "password_file", UDPAI_PUBLIC, .check_files = check_password},
    {.name = "prefix", UDPAI_PUBLIC, .word = check_prefix},
    {.name = "advertise", UDPAI_PUBLIC, .word = udpai_dial_address_check},
    {.name = "replica_tls", .of = &udpai_section_client_tls},
    {.name = "replica_names", UDPAI_PUBLIC, UDPAI_EACH_REQUIRED},
    {.name = "accept_above_share", UDPAI_TO(settings.accepts_above_share)},
};

const udpai_section udpai_section_store = {
    UDPAI_SECTION(store, fields),
    .check = check_engine,
};

void
udpai_store_check_files(const Udpa__Config__V1__Bootstrap *message,
                        const udpai_options *options,
                        udpai_diagnostics *diagnostics)
{
    const store_message *store = message->store;
    udpai_value value = {.diagnostics = diagnostics};
    if (options->state) {
        udpai_state_check(&value, "--state", options->state);
    } else if (store && *store->directory) {
        value.path = "store.directory";
        udpai_state_check(&value, "", store->directory);
    } else if (!store || !store->in_memory) {
        udpai_state_check(&value, "the default of --state", UDPAI_DEFAULT_STATE);
    }
}

bool
udpai_store_is_secret(const store_message *store, const char *type)
{
    udpai_str type_url = udpai_str_from(type);
    for (size_t i = 0; store && i < store->n_secret_types; i++) {
        const udpai_str further = udpai_str_from(store->secret_types[i]);
        if (udpai_type_is_secret_of(&further, 1, type_url))
            return true;
    }
    return udpai_type_is_secret_of(NULL, 0, type_url);
}

/* ---- use ---- */

/* Reads the certificates, as of every peer that is dialled. */
static udpa_err
use_etcd(udpai_plan *plan, const store_message *store, udpa_error **ret_error)
{
    plan->etcd = (udpai_plan_etcd){
        .endpoints = (const char *const *)store->endpoints,
        .n_endpoints = store->n_endpoints,
        .user = *store->user ? store->user : NULL,
        .password_file = *store->password_file ? store->password_file : NULL,
        .prefix = *store->prefix ? store->prefix : DEFAULT_PREFIX,
    };
    plan->settings.has_replicas = true;
    if (!store->tls)
        return UDPA_OK;
    plan->etcd.server_name = *store->tls->server_name ? store->tls->server_name : NULL;
    plan->etcd.tls = &plan->etcd_tls;
    return udpai_certificates_read_client(store->tls, &plan->etcd_tls, ret_error);
}

/* What is asked for and cannot be is an error: an operator counts on it. */
static udpa_err
check_restore(const udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    if (!options->restore_from || (plan->state_directory && !plan->etcd.n_endpoints))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      plan->state_directory
                          ? "--restore-from: the store of this node is in etcd: restore that"
                          : "--restore-from: this node stores nothing (store.in_memory)");
}

udpa_err
udpai_use_store(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const store_message *store = plan->bootstrap.message->store;
    udpa_err err = UDPA_OK;
    if (store) {
        plan->udpa_polls.n_secret_types = plan->csds.n_secret_types = store->n_secret_types;
        err = udpai_plan_types(plan, store->secret_types, store->n_secret_types,
                               &plan->udpa_polls.secret_types);
        plan->csds.secret_types = plan->udpa_polls.secret_types;
    }
    if (store && store->in_memory && !options->state)
        return err ? udpai_fail_code(ret_error, err) : check_restore(plan, options, ret_error);
    plan->restore_from = options->restore_from;
    plan->state_directory =
        udpai_first_of(options->state, store ? store->directory : NULL, UDPAI_DEFAULT_STATE);
    plan->is_restored = options->is_restored;
    plan->is_forced = options->is_forced;
    if (store) {
        plan->secret_types = (const char *const *)store->secret_types;
        plan->n_secret_types = store->n_secret_types;
    }
    if (err == UDPA_OK && udpai_store_is_replicated(store))
        err = use_etcd(plan, store, ret_error);
    if (err == UDPA_OK)
        err = check_restore(plan, options, ret_error);
    return udpai_fail_code(ret_error, err);
}
