/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/collect.h"
#include "ctl/commands.h"
#include "ctl/names.h"
#include "ctl/origins.h"
#include "ctl/show.h"

static udpai_ctl_exit
find_wishes(udpai_ctl *ctl, udpai_ctl_wishes *wishes)
{
    return ctl->options->arguments.n ? udpai_ctl_wish_of_arguments(ctl->options, wishes)
                                     : udpai_ctl_wish_for_all_types(ctl, wishes);
}

/* An empty table says nothing; this goes where it disturbs no program that reads the output. */
static void
tell_nothing(const udpai_ctl *ctl)
{
    const udpai_ctl_options *options = ctl->options;
    udpai_str kind = UDPAI_STR("resource");
    const char *name_space = options->name_space;
    if (options->arguments.n)
        kind = udpai_str_from(options->arguments.items[0]);
    udpai_ctl_complain("there is no %.*s at %s%s%s", (int)kind.len, kind.data, options->server,
                       name_space ? " in namespace " : "", name_space ? name_space : "");
}

static udpai_ctl_exit
show(const udpai_ctl *ctl, const udpai_ctl_wishes *wishes, const udpai_ctl_found *found)
{
    bool is_empty = udpai_ctl_found_size(found) == 0;
    bool is_missing = udpai_ctl_tell_missing(ctl, wishes, found);
    bool is_text = ctl->options->format == UDPAI_CTL_TABLE;
    if (is_empty && !is_missing)
        tell_nothing(ctl);
    udpai_ctl_exit result =
        is_empty && is_text ? UDPAI_CTL_GOOD : udpai_ctl_show(ctl->options, found);
    return is_missing ? UDPAI_CTL_REFUSED : result;
}

udpai_ctl_exit
udpai_ctl_get(udpai_ctl *ctl)
{
    udpai_ctl_wishes wishes = {0};
    udpai_ctl_found found;
    udpai_ctl_found_begin(&found);
    udpai_ctl_exit result = udpai_ctl_connect(ctl);
    if (result == UDPAI_CTL_GOOD)
        result = find_wishes(ctl, &wishes);
    if (result == UDPAI_CTL_GOOD)
        result = udpai_ctl_collect(ctl, &wishes, &found);
    udpai_ctl_wishes_decide(&wishes, &found);
    if (result == UDPAI_CTL_GOOD && ctl->options->all_origins)
        result = udpai_ctl_show_origins(ctl, &wishes, &found);
    else if (result == UDPAI_CTL_GOOD)
        result = show(ctl, &wishes, &found);
    else if (result == UDPAI_CTL_TIMED_OUT && udpai_ctl_found_size(&found)) {
        udpai_ctl_exit shown = udpai_ctl_show(ctl->options, &found);
        if (ctl->options->is_all) { /* a node that holds something is not synchronized */
            udpai_ctl_complain("this is what %s serves now", ctl->options->server);
            result = shown;
        } /* else: what has come is better than nothing */
    }
    udpai_ctl_found_done(&found);
    udpai_ctl_wishes_done(&wishes);
    return result;
}
