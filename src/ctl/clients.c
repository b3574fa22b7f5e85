/* SPDX-License-Identifier: Apache-2.0 */
/* udpactl clients: by what the node says of its sessions, those of its workers included. */
#include "ctl/clients_view.h"
#include "ctl/collect.h"
#include "ctl/commands.h"
#include "ctl/node_status.h"
#include "ctl/show.h"
#include "loop/clock.h"

static udpai_ctl_exit
show_table(const udpai_ctl_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_ctl_found_sorted(found);
    size_t n = resources ? udpai_ctl_found_size(found) : 0;
    udpai_strbuf out = {.failed = !resources};
    udpai_ctl_put_clients(&out, resources, n, udpai_wall_us());
    if (out.len == 0)
        udpai_strbuf_puts(&out, "none\n");
    return udpai_ctl_print(&out);
}

static udpai_ctl_exit
find_wishes(const udpai_ctl_options *options, udpai_ctl_wishes *wishes)
{
    if (options->arguments.n) {
        udpai_ctl_complain("clients takes no arguments: udpactl clients");
        return UDPAI_CTL_MISTAKE;
    }
    udpa_err err = udpai_ctl_wish_for_status("SessionStatus", wishes);
    if (err == UDPA_OK)
        return UDPAI_CTL_GOOD;
    udpai_ctl_complain("%s", udpa_err_text(err));
    return UDPAI_CTL_REFUSED;
}

udpai_ctl_exit
udpai_ctl_clients(udpai_ctl *ctl)
{
    udpai_ctl_wishes wishes = {0};
    udpai_ctl_found found;
    udpai_ctl_found_begin(&found);
    udpai_ctl_exit result = find_wishes(ctl->options, &wishes);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_connect(ctl);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_collect(ctl, &wishes, &found);
    if (result == UDPAI_CTL_GOOD)
        result = ctl->options->format == UDPAI_CTL_TABLE ? show_table(&found)
                                                         : udpai_ctl_show(ctl->options, &found);
    udpai_ctl_found_done(&found);
    udpai_ctl_wishes_done(&wishes);
    return result;
}
