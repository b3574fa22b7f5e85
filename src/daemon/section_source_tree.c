/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigSources of kind runtime_tree: directories that become resources of the runtime. */
#include <errno.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "daemon/files.h"
#include "daemon/sections.h"
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

/* That of the namespace was reported. */
static void
check_prefix(const udpai_value *value)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const tree_message *tree = value->in;
    if (udpai_namespace_check(tree->namespace_, NULL) != UDPA_OK)
        return;
    if (!try_name(value->bootstrap, tree, &error))
        value->diagnostics->has_failed = true;
    if (error)
        udpai_value_error(value, "", "before the name of a directory it makes no name: %s",
                          udpa_error_message(error));
}

static void
check_root(const udpai_value *value)
{
    char where[UDPAI_WHERE_MAX];
    if (!udpai_directory_is_read(value->text))
        udpai_value_warn(value, "", "%s: cannot be read at present: %s%s", value->text,
                         strerror(errno), udpai_files_where(where, value->text));
}

static const udpai_field fields[] = {
    {.name = "symlink_root", UDPAI_PUBLIC, UDPAI_REQUIRED, .check_files = check_root},
    {.name = "subdirectory", UDPAI_PUBLIC},
    {.name = "namespace", UDPAI_PUBLIC, .word = udpai_namespace_check, .is_namespace = true},
    {.name = "prefix", UDPAI_PUBLIC, .check = check_prefix},
    {.name = "authority", UDPAI_PUBLIC},
    {.name = "replicas", .check = udpai_check_replicas},
};

const udpai_section udpai_section_tree_source = {UDPAI_SECTION(runtime_tree_source, fields)};
