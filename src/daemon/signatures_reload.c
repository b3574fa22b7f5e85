/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/signatures_reload.h"

#include "base/log.h"
#include "daemon/bootstrap_check.h"
#include "daemon/plan_internal.h"
#include "daemon/signatures_check.h"

static void
tell(const udpa_error *error, bool is_warning, void *userdata)
{
    (void)userdata;
    udpai_log(is_warning ? UDPA_LOG_WARNING : UDPA_LOG_ERROR, "daemon", "%s",
              udpa_error_message(error));
}

/* All mistakes in files of keys are told, the rest has been. */
static udpa_err
read_file(udpai_bootstrap *bootstrap,
          const udpai_schema *schema,
          const char *config_file,
          udpa_error **ret_error)
{
    udpai_findings findings = {0};
    udpa_err err = udpai_bootstrap_read(bootstrap, schema, config_file, &findings, ret_error);
    if (err == UDPA_OK)
        udpai_bootstrap_check(bootstrap->message, &findings);
    if (err == UDPA_OK && findings.n_mistakes == 0 && !findings.has_failed) {
        udpai_findings_done(&findings);
        findings = (udpai_findings){.source_name = config_file};
        udpai_signatures_check_files(bootstrap->message, &findings);
        udpai_findings_tell(&findings, tell, NULL);
    }
    if (err == UDPA_OK && (findings.n_mistakes || findings.has_failed))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "there are mistakes in %s, or in files that it names", config_file);
    udpai_findings_done(&findings);
    return err;
}

static udpa_err
put_into_use(udpa_endpoint *endpoint,
             const udpai_plan *plan,
             const Udpa__Config__V1__Signatures *from,
             udpa_error **ret_error)
{
    UDPA_AUTO(udpai_keyring_unref) udpai_keyring *keyring = NULL;
    if (!from)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "the file has no section 'signatures' any more: to look at none takes a "
                          "restart");
    udpa_err err = udpai_plan_signatures_again(plan, from, &keyring, ret_error);
    if (err == UDPA_OK)
        udpai_endpoint_set_keyring(endpoint, keyring);
    return err;
}

bool
udpai_signatures_reload(udpa_endpoint *endpoint,
                        const udpai_plan *plan,
                        udpai_schema *schema,
                        const char *config_file)
{
    udpai_bootstrap bootstrap = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = read_file(&bootstrap, schema, config_file, &error);
    const Udpa__Config__V1__Signatures *from =
        err == UDPA_OK ? bootstrap.message->signatures : NULL;
    bool was_used = plan->bootstrap.message->signatures != NULL;
    bool is_used = from || was_used;
    if (err == UDPA_OK && is_used)
        err = put_into_use(endpoint, plan, from, &error);
    if (err != UDPA_OK && is_used)
        udpai_log(UDPA_LOG_ERROR, "daemon", "the keys of signatures stay as they were: %s",
                  udpa_error_message(error));
    else if (err == UDPA_OK && is_used)
        udpai_log(UDPA_LOG_INFO, "daemon",
                  "%s: %zu keys sign, and %zu more are trusted from now on", config_file,
                  from->n_keys, from->n_trusted);
    udpai_bootstrap_done(&bootstrap);
    return err == UDPA_OK && is_used;
}
