/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/default_namespace.h"

#include "base/alloc.h"
#include "ctl/collect.h"
#include "ctl/node_status.h"

static void
take(udpai_ctl_common *options, const udpai_ctl_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **nodes = udpai_ctl_found_sorted(found);
    if (nodes && udpai_ctl_found_size(found))
        options->node_namespace = udpai_ctl_default_namespace_of(nodes[0]);
}

udpai_ctl_exit
udpai_ctl_find_namespace(udpai_ctl *ctl, udpai_ctl_common *options)
{
    udpai_ctl_wishes wishes = {0};
    udpai_ctl_found found;
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
