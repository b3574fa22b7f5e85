/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/help.h"

#include <string.h>

#include "base/util.h"
#include "cli/help.h"
#include "cli/tool.h"
#include "ctl/verbs.h"

#define FORM_COLUMNS 26

void
udpai_ctl_help_put_verbs(udpai_strbuf *out)
{
    udpai_strbuf_puts(out, "udpactl looks at a node of UDPA, and publishes to it.\n");
    const udpai_ctl_verb *verb;
    for (size_t i = 0; (verb = udpai_ctl_verb_at(i)); i++) {
        if (verb->group)
            udpai_strbuf_printf(out, "\n%s:\n", verb->group);
        udpai_strbuf_printf(out, "  %-10s %s\n", verb->name, verb->summary);
    }
    udpai_strbuf_puts(out, "\n'udpactl VERB --help' describes a verb, 'udpactl --help' all; see "
                           "udpactl(1).\n");
}

/* "  wait TYPE NAME...          until all who subscribe have it", and its other forms above. */
static void
put_forms(udpai_strbuf *out, const udpai_ctl_verb *verb)
{
    const char *form = verb->usage;
    for (const char *end; (end = strchr(form, '\n')); form = end + 1)
        udpai_strbuf_printf(out, "  %.*s\n", (int)(end - form), form);
    if (strlen(form) > FORM_COLUMNS)
        udpai_strbuf_printf(out, "  %s\n  %-*s %s\n", form, FORM_COLUMNS, "", verb->summary);
    else
        udpai_strbuf_printf(out, "  %-*s %s\n", FORM_COLUMNS, form, verb->summary);
}

void
udpai_ctl_help_put_forms(udpai_strbuf *out)
{
    const udpai_ctl_verb *verb;
    for (size_t i = 0; (verb = udpai_ctl_verb_at(i)); i++)
        put_forms(out, verb);
}

bool
udpai_ctl_help_put_verb(udpai_strbuf *out, const char *name)
{
    const udpai_ctl_verb *verb = udpai_ctl_verb_find(name);
    const udpai_cli_tool *tool = udpai_cli_tool_find(name);
    if (!verb)
        return false;
    udpai_cli_help_put(out, "udpactl", verb->usage, tool ? tool->help : verb->text);
    return true;
}

const char *
udpai_ctl_help_requested(int argc, char *const *argv)
{
    const udpai_ctl_verb *verb = NULL;
    for (int i = 1; !verb && i < argc && strcmp(argv[i], "--") != 0; i++)
        verb = udpai_ctl_verb_find(argv[i]);
    return verb && udpai_cli_help_is_requested(argc, argv) ? verb->name : NULL;
}
