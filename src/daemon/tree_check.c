/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/tree_check.h"

#include <dirent.h>
#include <errno.h>

#include "base/strbuf.h"
#include "daemon/files_check.h"
#include "daemon/option_rules.h"
#include "runtime/tree_reading.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__RuntimeTreeSource tree_message;

/* The name that a layer would have. False without memory. */
static bool
try_name(const bootstrap_message *message, const tree_message *tree, udpa_error **ret_error)
{
    char room[UDPAI_NAME_MAX];
    udpai_str name;
    udpai_strbuf written = {0};
    UDPAI_AUTO_FREE udpai_xdstp_authority *authorities =
        udpai_alloc_array(message->n_authorities, sizeof(*authorities));
    for (size_t i = 0; authorities && i < message->n_authorities; i++)
        authorities[i] =
            (udpai_xdstp_authority){udpai_str_from(message->authorities[i]->name),
                                    udpai_str_from(message->authorities[i]->namespace_)};
    const udpai_runtime_tree_rules rules = {
        .default_namespace =
            *tree->namespace_ ? udpai_str_from(tree->namespace_) : UDPAI_STR("local"),
        .authorities = {authorities, message->n_authorities},
    };
    udpai_strbuf_printf(&written, "%slayer", tree->prefix);
    bool has_memory = authorities && !udpai_strbuf_failed(&written);
    if (has_memory)
        (void)udpai_runtime_tree_name(&rules, udpai_strbuf_view(&written), room, &name, ret_error);
    udpai_strbuf_done(&written);
    return has_memory;
}

void
udpai_tree_check(const bootstrap_message *message,
                 const tree_message *tree,
                 const char *path,
                 udpai_diagnostics *diagnostics)
{
    char room[UDPAI_FIELD_PATH_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *of_namespace = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *of_prefix = NULL;
    udpai_diagnostics_require(diagnostics, path, "symlink_root", *tree->symlink_root);
    if (udpai_namespace_check(tree->namespace_, &of_namespace) != UDPA_OK)
        udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "namespace"), "%s",
                                udpa_error_message(of_namespace));
    else if (*tree->prefix && !try_name(message, tree, &of_prefix))
        diagnostics->has_failed = true;
    if (of_prefix)
        udpai_diagnostics_error(diagnostics, udpai_path_field(room, path, "prefix"),
                                "before the name of a directory it makes no name: %s",
                                udpa_error_message(of_prefix));
}

void
udpai_tree_check_files(const tree_message *tree, const char *path, udpai_diagnostics *diagnostics)
{
    char room[UDPAI_FIELD_PATH_MAX], where[UDPAI_WHERE_MAX];
    DIR *found = *tree->symlink_root ? opendir(tree->symlink_root) : NULL;
    if (*tree->symlink_root && !found)
        udpai_diagnostics_warn(diagnostics, udpai_path_field(room, path, "symlink_root"),
                               "%s: cannot be read at present: %s%s", tree->symlink_root,
                               strerror(errno), udpai_files_where(where, tree->symlink_root));
    if (found)
        closedir(found);
}
