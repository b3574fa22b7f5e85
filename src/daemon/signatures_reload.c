/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/signatures_reload.h"

#include "base/log.h"
#include "daemon/bootstrap_check.h"
#include "daemon/plan_internal.h"

static void
log_finding(const udpa_error *error, bool is_warning, void *userdata)
{
    (void)userdata;
    udpai_log(is_warning ? UDPA_LOG_WARNING : UDPA_LOG_ERROR, "daemon", "%s",
              udpa_error_message(error));
}

static udpa_err
check_files(const udpai_reload_target *target,
            const Udpa__Config__V1__Bootstrap *message,
            udpa_error **ret_error)
{
    udpai_diagnostics diagnostics = {.source_name = target->config_file};
    udpai_signatures_check_files(message, &diagnostics);
    udpai_diagnostics_report(&diagnostics, log_finding, NULL);
    bool is_good = diagnostics.n_errors == 0 && !diagnostics.has_failed;
    udpai_diagnostics_done(&diagnostics);
    return is_good ? UDPA_OK
                   : udpai_fail(ret_error, UDPA_ERR_INVAL,
                                "there are errors in files that %s names", target->config_file);
}

static udpa_err
put_into_use(const udpai_reload_target *target,
             const Udpa__Config__V1__Signatures *from,
             udpai_keyring **ret_keyring,
             udpa_error **ret_error)
{
    if (!from)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "the file has no section 'signatures' any more: to look at none takes a "
                          "restart");
    udpa_err err = udpai_plan_signatures_again(target->plan, from, ret_keyring, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_endpoint_set_keyring(target->endpoint, *ret_keyring);
    udpai_readers_set_keyring(target->readers, *ret_keyring);
    return UDPA_OK;
}

udpa_err
udpai_signatures_reload(const udpai_reload_target *target,
                        const Udpa__Config__V1__Bootstrap *message,
                        udpai_keyring **ret_keyring,
                        udpa_error **ret_error)
{
    const Udpa__Config__V1__Signatures *from = message->signatures;
    if (!from && !target->plan->bootstrap.message->signatures)
        return UDPA_OK;
    udpa_err err = check_files(target, message, ret_error);
    if (err == UDPA_OK)
        err = put_into_use(target, from, ret_keyring, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_log_about(UDPA_LOG_INFO, "daemon",
                    UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(target->config_file)}),
                    "%s: reloaded, %zu keys sign now, and %zu more are trusted",
                    target->config_file, from->n_keys, from->n_trusted);
    return UDPA_OK;
}
