/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "ctl/collect.h"
#include "ctl/commands.h"
#include "ctl/names.h"
#include "ctl/node_status.h"
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
    const udpai_ctl_options *options = udpai_ctl_options_of(ctl->options);
    udpai_str kind = UDPAI_STR("resource");
    const char *name_space = options->common.name_space;
    if (options->common.arguments.n)
        kind = udpai_str_from(options->common.arguments.items[0]);
    udpai_ctl_complain("there is no %.*s at %s%s%s", (int)kind.len, kind.data,
                       options->common.server, name_space ? " in namespace " : "",
                       name_space ? name_space : "");
}

/* ---- what is in another namespace ---- */

#define ELSEWHERE_SHOWN 3

/* The id of a name in the namespace that was meant; empty: it was given another. */
static udpai_str
id_of(const char *name, const char *name_space)
{
    udpai_str before, rest = udpai_str_from(name);
    bool is_in =
        udpai_str_cut(&rest, '/', &before) && udpai_str_eq(before, udpai_str_from(name_space));
    return is_in ? rest : (udpai_str){0};
}

static void
tell_elsewhere(const udpai_ctl_found *all, udpai_str id)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_ctl_found_sorted(all);
    size_t n_shown = 0;
    for (size_t i = 0; sorted && i < udpai_ctl_found_size(all) && n_shown < ELSEWHERE_SHOWN; i++) {
        udpai_str type = udpai_ctl_type_short(udpai_str_from(udpa_resource_type_url(sorted[i])));
        if (!udpai_ctl_has_id(sorted[i], id))
            continue;
        n_shown++;
        udpai_ctl_complain("there is the %.*s '%s': write its whole name, or its namespace (-n)",
                           UDPAI_SHOWN(type), udpa_resource_name(sorted[i]));
    }
}

/* Asks for the type in all namespaces, if a name was written without one and is not there. */
static void
look_elsewhere(udpai_ctl *ctl, const udpai_ctl_wish *wish, const udpai_ctl_found *found)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(ctl->options);
    udpai_str type_url = udpai_str_from(wish->type_url);
    udpai_ctl_wishes wishes = {0};
    udpai_ctl_found all;
    bool has_looked = false;
    udpai_ctl_found_begin(&all);
    for (size_t i = 0; i < wish->names.n; i++) {
        const char *name = wish->names.items[i];
        udpai_str id = id_of(name, udpai_ctl_namespace(&options->common));
        if (id.len == 0 || udpai_ctl_found_get(found, type_url, udpai_str_from(name)))
            continue;
        if (!has_looked && (!udpai_ctl_wishes_add(&wishes, udpai_strdup(wish->type_url)) ||
                            udpai_ctl_collect(ctl, &wishes, &all) != UDPAI_CTL_GOOD))
            break;
        has_looked = true;
        tell_elsewhere(&all, id);
    }
    udpai_ctl_found_done(&all);
    udpai_ctl_wishes_done(&wishes);
}

static udpai_ctl_exit
show(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, const udpai_ctl_found *found)
{
    bool is_empty = udpai_ctl_found_size(found) == 0;
    bool is_missing = udpai_ctl_tell_missing(ctl, wishes, found);
    for (size_t i = 0; is_missing && !ctl->options->is_xds && i < wishes->n; i++)
        if (!ctl->options->name_space && !udpai_ctl_is_status(wishes->items[i].type_url))
            look_elsewhere(ctl, &wishes->items[i], found);
    bool is_text = ctl->options->format == UDPAI_CTL_TABLE;
    if (is_empty && !is_missing)
        tell_nothing(ctl);
    udpai_ctl_exit result = is_empty && is_text
                                ? UDPAI_CTL_GOOD
                                : udpai_ctl_show(udpai_ctl_options_of(ctl->options), found);
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
    if (result == UDPAI_CTL_GOOD && udpai_ctl_options_of(ctl->options)->all_origins)
        result = udpai_ctl_show_origins(ctl, &wishes, &found);
    else if (result == UDPAI_CTL_GOOD)
        result = show(ctl, &wishes, &found);
    else if (result == UDPAI_CTL_TIMED_OUT && udpai_ctl_found_size(&found)) {
        udpai_ctl_exit shown = udpai_ctl_show(udpai_ctl_options_of(ctl->options), &found);
        if (udpai_ctl_options_of(ctl->options)
                ->is_all) { /* a node that holds something is not synchronized */
            udpai_ctl_complain("this is what %s serves now", ctl->options->server);
            result = shown;
        } /* else: what has come is better than nothing */
    }
    udpai_ctl_found_done(&found);
    udpai_ctl_wishes_done(&wishes);
    return result;
}
