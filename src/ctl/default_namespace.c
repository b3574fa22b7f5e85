/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/default_namespace.h"

#include "base/alloc.h"
#include "ctl/collect.h"
#include "ctl/node_status.h"

/* Those that take names to a node of UDPA. */
static bool
takes_names(const udpai_ctl_options *options)
{
    static const char *const commands[] = {"apply", "delete", "get", "verify", "wait", "watch"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(commands); i++)
        if (strcmp(options->command, commands[i]) == 0)
            return !options->origin;
    return false;
}

/* The first argument is a type. A name with a slash may be an id, too. */
static bool
has_names(const udpai_ctl_options *options)
{
    return options->arguments.n > 1 || options->files.n > 0;
}

static bool
is_needed(const udpai_ctl_options *options)
{
    bool is_bench = strcmp(options->command, "bench") == 0 &&
                    (options->bench.publishes || options->bench.load.protocol == UDPAI_LOAD_UDPA);
    bool is_of_udpa = !options->is_xds && !options->is_rest && !options->name_space;
    return is_of_udpa && (is_bench || (takes_names(options) && has_names(options)));
}

static void
take(udpai_ctl_options *options, const udpai_ctl_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **nodes = udpai_ctl_found_sorted(found);
    if (nodes && udpai_ctl_found_size(found))
        options->node_namespace = udpai_ctl_default_namespace_of(nodes[0]);
}

udpai_ctl_exit
udpai_ctl_find_namespace(udpai_ctl *ctl, udpai_ctl_options *options)
{
    udpai_ctl_wishes wishes = {0};
    udpai_ctl_found found;
    if (!is_needed(options))
        return UDPAI_CTL_GOOD;
    udpai_ctl_found_begin(&found);
    udpai_ctl_exit result = udpai_ctl_connect(ctl);
    if (result == UDPAI_CTL_GOOD && udpai_ctl_wish_for_status("NodeStatus", &wishes) == UDPA_OK) {
        ctl->may_be_denied = ctl->is_quiet = true;
        (void)udpai_ctl_collect(ctl, &wishes, &found);
        ctl->may_be_denied = ctl->is_quiet = false;
    }
    udpai_ctl_disconnect(ctl);
    take(options, &found);
    udpai_ctl_found_done(&found);
    udpai_ctl_wishes_done(&wishes);
    return result;
}
