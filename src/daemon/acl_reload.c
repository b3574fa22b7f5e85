/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/acl_reload.h"

#include "base/log.h"
#include "daemon/bootstrap_check.h"
#include "daemon/plan_internal.h"

static void
tell(const udpa_error *error, bool is_warning, void *userdata)
{
    (void)userdata;
    udpai_log(is_warning ? UDPA_LOG_WARNING : UDPA_LOG_ERROR, "daemon", "%s",
              udpa_error_message(error));
}

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
    udpai_findings_tell(&findings, tell, NULL);
    if (err == UDPA_OK && (findings.n_mistakes || findings.has_failed))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, "there are mistakes in %s", config_file);
    udpai_findings_done(&findings);
    return err;
}

static udpa_err
put_into_use(udpa_endpoint *endpoint,
             const udpai_plan *plan,
             const Udpa__Config__V1__Acl *from,
             udpa_error **ret_error)
{
    UDPA_AUTO(udpai_acl_unref) udpai_acl *acl = NULL;
    if (!from)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "the file has no section 'acl' any more: to have no rules takes a "
                          "restart");
    udpa_err err = udpai_plan_acl_again(plan, from, &acl);
    if (err == UDPA_OK)
        err = udpai_endpoint_set_acl(endpoint, acl);
    return udpai_fail_code(ret_error, err);
}

bool
udpai_acl_reload(udpa_endpoint *endpoint,
                 const udpai_plan *plan,
                 udpai_schema *schema,
                 const char *config_file)
{
    udpai_bootstrap bootstrap = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = read_file(&bootstrap, schema, config_file, &error);
    const Udpa__Config__V1__Acl *acl = err == UDPA_OK ? bootstrap.message->acl : NULL;
    bool has_any = acl || plan->settings.node.acl;
    if (err == UDPA_OK && has_any)
        err = put_into_use(endpoint, plan, acl, &error);
    if (err != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "daemon", "the rules stay as they were: %s",
                  udpa_error_message(error));
    else if (has_any)
        udpai_log(UDPA_LOG_INFO, "daemon", "%s: %zu rules hold from now on%s", config_file,
                  acl->n_rules, acl->dry_run ? ", in a dry run" : "");
    udpai_bootstrap_done(&bootstrap);
    return err == UDPA_OK;
}
