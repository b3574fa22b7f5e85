/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reload_page.h"

#include "daemon/page_body.h"

static bool
take_flag(udpai_str part, udpai_str name, bool *ret_is)
{
    udpai_str value = {part.data + name.len, part.len - name.len};
    if (!udpai_str_starts(part, name))
        return false;
    bool is = value.len == 0 || udpai_str_eq(value, UDPAI_STR("=true"));
    *ret_is |= is;
    return is || udpai_str_eq(value, UDPAI_STR("=false"));
}

static bool
read_form(udpai_str form, udpai_configuration_request *ret_request)
{
    udpai_str part;
    bool has_more, is_good = true;
    do {
        has_more = udpai_page_form_next(&form, &part);
        is_good &= part.len == 0 ||
                   take_flag(part, UDPAI_STR("dry_run"), &ret_request->is_dry_run) ||
                   take_flag(part, UDPAI_STR("force"), &ret_request->is_forced);
    } while (has_more);
    return is_good;
}

udpa_err
udpai_reload_page(udpai_reload *reload,
                  const udpai_http_reading *reading,
                  udpai_strbuf *text,
                  udpa_error **ret_error)
{
    udpai_strbuf form;
    udpai_configuration_request request = {.report = text};
    udpa_err err = udpai_page_form_read(reading->query, reading->body, &form, ret_error);
    if (err == UDPA_OK && !read_form(udpai_strbuf_view(&form), &request))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "usage: /reload[?dry_run][&force], or {\"dry_run\": true, \"force\": "
                         "true} as the body: reads the bootstrap file again");
    udpai_strbuf_done(&form);
    if (err == UDPA_OK && !reload)
        err = udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "the node is beginning, or ending");
    return err == UDPA_OK ? udpai_reload_configuration(reload, &request, ret_error) : err;
}
