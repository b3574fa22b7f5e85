/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/kept_load.h"

#include "base/strbuf.h"
#include "endpoint/endpoint.h"

static udpa_err
put_path(udpai_strbuf *path, const udpai_plan *plan, const char *file)
{
    udpai_strbuf_printf(path, "%s/%s", plan->state_directory, file);
    udpai_strbuf_putc(path, '\0');
    return udpai_strbuf_failed(path) ? UDPA_ERR_NOMEM : UDPA_OK;
}

udpa_err
udpai_kept_load_open(udpai_reported_load **ret_reported,
                     udpa_endpoint *endpoint,
                     const udpai_plan *plan,
                     udpa_error **ret_error)
{
    udpai_strbuf sums = {0}, reported = {0};
    udpai_str owner = plan->settings.node.instance;
    udpa_err err = put_path(&sums, plan, "load-sums");
    if (err == UDPA_OK)
        err = put_path(&reported, plan, "load-told");
    if (err == UDPA_OK)
        err = udpai_endpoint_keep_load(endpoint, udpai_strbuf_view(&sums).data, owner);
    if (err == UDPA_OK && plan->reported_load.n)
        err = udpai_reported_load_open(ret_reported, udpai_strbuf_view(&reported).data, owner,
                                       plan->reported_load.items, plan->reported_load.n);
    udpai_strbuf_done(&sums);
    udpai_strbuf_done(&reported);
    return udpai_fail_code(ret_error, err);
}
