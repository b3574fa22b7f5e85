/* SPDX-License-Identifier: Apache-2.0 */
/* delete: a node takes the removal of what is not there, or is somebody else's, for no error. So it
 * is looked what is there before, and what is still there afterwards. */
#include <stdio.h>

#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/names.h"
#include "ctl/publish.h"
#include "ctl/wait.h"

/* ---- what to delete ---- */

static udpai_ctl_exit
wish_for_files(const udpai_ctl_options *options, udpai_ctl_wishes *wishes)
{
    udpai_ctl_input input;
    udpai_ctl_exit result = udpai_ctl_input_read(&input, options);
    for (size_t i = 0; i < input.resources.n && result == UDPAI_CTL_GOOD; i++) {
        const udpa_resource *resource = input.resources.items[i];
        udpai_ctl_wish *wish = udpai_ctl_wishes_of_type(wishes, udpa_resource_type_url(resource));
        if (!wish || udpai_ctl_wish_full_name(wish, udpa_resource_name(resource)) != UDPA_OK) {
            udpai_ctl_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
            result = UDPAI_CTL_REFUSED;
        }
    }
    udpai_ctl_input_done(&input);
    return result;
}

static udpai_ctl_exit
find_wishes(const udpai_ctl_options *options, udpai_ctl_wishes *wishes)
{
    if (options->files.n && !options->arguments.n)
        return wish_for_files(options, wishes);
    if (!options->files.n && options->arguments.n >= 2)
        return udpai_ctl_wish_of_arguments(options, wishes);
    udpai_ctl_complain("delete takes a type and names, or files: udpactl delete TYPE NAME..., or "
                       "udpactl delete -f FILE");
    return UDPAI_CTL_MISTAKE;
}

/* ---- deleting ---- */

static udpai_ctl_exit
look(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found)
{
    udpai_ctl_found_begin(found);
    udpai_ctl_exit result = udpai_ctl_connect(ctl);
    return result == UDPAI_CTL_GOOD ? udpai_ctl_collect(ctl, wishes, found) : result;
}

static bool
tell(const udpai_ctl *ctl, const udpa_resource *deleted, const udpa_resource *left)
{
    udpai_str kind = udpai_ctl_type_short(udpai_str_from(udpa_resource_type_url(deleted)));
    if (!left) {
        printf("%.*s %s deleted\n", (int)kind.len, kind.data, udpa_resource_name(deleted));
        return true;
    }
    udpai_ctl_complain("%.*s %s is still there: '%s' answers for it, and udpactl takes back only "
                       "what was applied as node id '%s' (--node-id)",
                       (int)kind.len, kind.data, udpa_resource_name(deleted),
                       udpa_resource_authority(left), ctl->options->node_id);
    return false;
}

static udpai_ctl_exit
tell_all(const udpai_ctl *ctl, const udpai_ctl_found *before, const udpai_ctl_found *after)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_ctl_found_sorted(before);
    udpai_ctl_exit result = sorted ? UDPAI_CTL_GOOD : UDPAI_CTL_REFUSED;
    for (size_t i = 0; sorted && i < udpai_ctl_found_size(before); i++) {
        const udpa_resource *left =
            udpai_ctl_found_get(after, udpai_str_from(udpa_resource_type_url(sorted[i])),
                                udpai_str_from(udpa_resource_name(sorted[i])));
        if (!tell(ctl, sorted[i], left))
            result = UDPAI_CTL_REFUSED;
    }
    return result;
}

/* A new connection is asked, because this one is told of the removal some time. */
static udpai_ctl_exit
look_again(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, const udpai_ctl_found *before)
{
    udpai_ctl_found after;
    udpai_ctl_exit result = look(ctl, wishes, &after);
    if (result == UDPAI_CTL_GOOD)
        result = tell_all(ctl, before, &after);
    udpai_ctl_found_done(&after);
    return result;
}

static udpai_ctl_exit
delete_wishes(udpai_ctl *ctl, udpai_ctl_wishes *wishes)
{
    udpai_ctl_found before;
    udpai_ctl_exit result = look(ctl, wishes, &before);
    udpai_ctl_wishes_decide(wishes, &before);
    bool any_missing = result == UDPAI_CTL_GOOD && udpai_ctl_tell_missing(ctl, wishes, &before);
    for (size_t i = 0; i < wishes->n && result == UDPAI_CTL_GOOD; i++)
        result = udpai_ctl_withdraw(ctl, &wishes->items[i]);
    if (result == UDPAI_CTL_GOOD && udpai_ctl_found_size(&before))
        result = look_again(ctl, wishes, &before);
    if (result == UDPAI_CTL_GOOD && ctl->options->is_waiting && udpai_ctl_found_size(&before))
        result = udpai_ctl_wait_for_deleted(ctl, &before);
    udpai_ctl_found_done(&before);
    return result == UDPAI_CTL_GOOD && any_missing ? UDPAI_CTL_REFUSED : result;
}

udpai_ctl_exit
udpai_ctl_delete(udpai_ctl *ctl)
{
    udpai_ctl_wishes wishes = {0};
    if (ctl->options->origin)
        return udpai_ctl_delete_origin(ctl);
    udpai_ctl_exit result = find_wishes(ctl->options, &wishes);
    if (result == UDPAI_CTL_GOOD)
        result = delete_wishes(ctl, &wishes);
    udpai_ctl_wishes_done(&wishes);
    return result;
}
