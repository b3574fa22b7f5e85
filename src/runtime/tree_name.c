/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the layers of a tree, plain or xdstp, as full names of resources. */
#include "model/types.h"
#include "runtime/encode.h"
#include "runtime/tree_reading.h"

static udpa_err
name_of_xdstp(const udpai_runtime_tree_rules *rules,
              udpai_str written,
              char room[UDPAI_NAME_MAX],
              udpai_str *ret_name,
              udpa_error **ret_error)
{
    udpai_xdstp xdstp;
    udpai_str name_space;
    udpa_err err = udpai_xdstp_parse(written, &xdstp, ret_error);
    if (err)
        return err;
    if (!udpai_str_eq(xdstp.type, udpai_type_url_name(UDPAI_STR(UDPAI_TYPE_RUNTIME))))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%.*s' is no name of a %s",
                          UDPAI_SHOWN(written), UDPAI_TYPE_RUNTIME);
    if (xdstp.is_glob)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%.*s' is the name of a collection",
                          UDPAI_SHOWN(written));
    if (!udpai_xdstp_namespace(&rules->authorities, xdstp.authority, rules->default_namespace,
                               &name_space))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the authority of '%.*s' stands for no namespace: list it in the section "
                          "'authorities' of the node's configuration",
                          UDPAI_SHOWN(written));
    return udpai_xdstp_full_name(&xdstp, name_space, room, ret_name, ret_error);
}

udpa_err
udpai_runtime_tree_name(const udpai_runtime_tree_rules *rules,
                        udpai_str written,
                        char room[UDPAI_NAME_MAX],
                        udpai_str *ret_name,
                        udpa_error **ret_error)
{
    if (udpai_xdstp_is(written))
        return name_of_xdstp(rules, written, room, ret_name, ret_error);
    bool is_full = udpai_name_is_full(written, rules->default_namespace);
    udpai_str before = is_full ? (udpai_str){0} : rules->default_namespace;
    if (before.len + 1 + written.len > UDPAI_NAME_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the name '%.*s' is too long",
                          UDPAI_SHOWN(written));
    char *at = room;
    *ret_name = udpai_str_put(&at, before);
    if (!is_full)
        *at++ = '/';
    (void)udpai_str_put(&at, written);
    ret_name->len = (size_t)(at - room);
    return udpai_name_check(*ret_name, ret_error);
}
