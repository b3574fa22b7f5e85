/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'store' of the bootstrap file: where what is received is kept, and which of it is
 * secret. */
#include <openssl/crypto.h>

#include "daemon/files.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "model/secret_type.h"
#include "storage/secret_key.h"

typedef Udpa__Config__V1__Store store_message;

static void
check_in_memory(const udpai_value *value)
{
    const store_message *store = value->in;
    if (*store->directory || *store->key_file)
        udpai_value_error(value, "", "nothing is kept, so directory and key_file have no meaning");
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

static const udpai_field fields[] = {
    {.name = "directory"}, /* its files: below, with the option that takes its place */
    {.name = "key_file", .check_files = check_key},
    {.name = "in_memory", .check = check_in_memory},
    {.name = "secret_types", UDPAI_EACH_REQUIRED, .word = udpai_type_check},
};

const udpai_section udpai_section_store = {UDPAI_SECTION(store, fields)};

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
        return udpai_fail_code(ret_error, err);
    plan->state_directory =
        udpai_first_of(options->state, store ? store->directory : NULL, UDPAI_DEFAULT_STATE);
    plan->is_restored = options->is_restored;
    plan->is_forced = options->is_forced;
    if (store) {
        plan->key_file = *store->key_file ? store->key_file : NULL;
        plan->secret_types = (const char *const *)store->secret_types;
        plan->n_secret_types = store->n_secret_types;
    }
    return udpai_fail_code(ret_error, err);
}
