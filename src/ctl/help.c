/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/help.h"

#include <string.h>

#include "base/util.h"
#include "cli/help.h"
#include "cli/tool.h"

/* Of what has tables alone. */
#define TABLE_OPTIONS                                                                              \
    "  -o, --output FORMAT    table, wide, yaml, json, jsonpath=EXPRESSION, or name;\n"            \
    "                         wide: nothing is shortened\n"                                        \
    "  --sort-by COLUMN       numbers as numbers; -COLUMN: from the last to the first\n"           \
    "  --no-headers           no heads above tables\n"

static const struct verb {
    const char *name;
    const char *group; /* NULL: that of the verb before */
    const char *summary;
    const char *usage; /* lines behind "udpactl " */
    const char *text;  /* NULL: that of the program which does it */
} verbs[] = {
    {"get", "Look", "show resources", "get [TYPE [NAME...]]",
     "Show the resources of these names, of a type, or all.\n"
     "\n"
     "  -n, --namespace NAME   of names that have none (default local); without names:\n"
     "                         this namespace alone (default all)\n"
     "  -o, --output FORMAT    table, wide, yaml, json, jsonpath=EXPRESSION, name, or\n"
     "                         path; wide: nothing is shortened\n"
     "  --sort-by COLUMN       numbers as numbers; -COLUMN: from the last to the first\n"
     "  --no-headers           no heads above the table\n"
     "  --all-origins          all contributions to a name, not only the effective one\n"
     "  --all                  with authority, version and generation, for\n"
     "                         apply --restore; with -o yaml\n"
     "  --with-secrets         with --all and --ca: payloads of secrets, too\n"},
    {"watch", NULL, "show changes as they come", "watch [TYPE [NAME...]]",
     "Show what there is, then each change, until SIGINT.\n"
     "\n"
     "  -n, --namespace NAME   of names that have none (default local); without names:\n"
     "                         this namespace alone (default all)\n"
     "  -o, --output FORMAT    table, wide, yaml, json, jsonpath=EXPRESSION, or name\n"},
    {"status", NULL, "what the node has, its sources and its clients", "status [sources|sessions]",
     "Show the node with its sources and sessions, or more of one of these.\n"
     "\n"
     "  --all                  the session of this udpactl, too\n" TABLE_OPTIONS},
    {"clients", NULL, "the clients of the node, and whether they have it all", "clients",
     "Show each client, what it subscribes to, and whether it has acknowledged it.\n"
     "\n"
     "  --tree                 clients of all nodes below it, too\n"
     "  --all                  also those that only look at its status, such as this\n"
     "                         udpactl\n" TABLE_OPTIONS},
    {"events", NULL, "what clients have streamed to the node",
     "events access-log|metrics|trace|tap|event",
     "Print a line of JSON for each event that the node holds.\n"
     "\n"
     "  --follow               go on with those that come, until SIGINT\n"},
    {"apply", "Change", "publish resources", "apply -f FILE",
     "Publish the resources of a file or directory; - is standard input.\n"
     "\n"
     "  -f, --filename FILE    may be given again\n"
     "  -n, --namespace NAME   of names that have none (default local)\n"
     "  --node-id ID           publish as this node (default udpactl)\n"
     "  --validate             publish nothing if 'validate' finds an error\n"
     "  --wait                 then wait until all subscribers have acknowledged it\n"
     "  --at-least N           with --wait: N must have acknowledged it\n"
     "  --despite-refusals     with --wait: go on after a NACK\n"
     "  --restore              the file is from get --all\n"},
    {"delete", NULL, "remove what was applied",
     "delete TYPE NAME...\ndelete -f FILE\ndelete --origin NODE [TYPE]",
     "Remove what was applied with the same --node-id; with --origin what a node has\n"
     "read that will not return.\n"
     "\n"
     "  -f, --filename FILE    the names of this file; may be given again\n"
     "  -n, --namespace NAME   of names that have none (default local)\n"
     "  --node-id ID           what was published as this node (default udpactl)\n"
     "  --wait                 then wait until all subscribers have acknowledged it\n"
     "  --dry-run              with --origin: only show what would go\n"
     "  --http HOST:PORT       with --origin: where the node serves HTTP\n"},
    {"wait", NULL, "until all who subscribe have it", "wait TYPE NAME...\nwait -f FILE",
     "Wait until all who subscribe have acknowledged these resources.\n"
     "\n"
     "  -f, --filename FILE    the names and versions of this file\n"
     "  -n, --namespace NAME   of names that have none (default local)\n"
     "  --gone                 until they have acknowledged that it was removed\n"
     "  --resource-version V   for this version of the one resource\n"
     "  --at-least N           so many must have acknowledged it (default 0)\n"
     "  --despite-refusals     go on after a NACK\n"
     "  --timeout SECONDS      at most so long (default 60)\n"
     "  -o, --output FORMAT    table, wide, json, or jsonpath=EXPRESSION\n"
     "  --sort-by COLUMN, --no-headers\n"
     "                         of the table\n"},
    {"runtime", NULL, "values that change while a node runs",
     "runtime get [KEY...]\nruntime layers\nruntime set KEY=VALUE...\nruntime unset KEY...",
     "Show the effective values, or what each layer has; set values in the layer of\n"
     "the administrator, or remove what was set there.\n"
     "\n"
     "  --http HOST:PORT       where the node serves HTTP (default: the host of\n"
     "                         --server, else 127.0.0.1, with port 18080)\n"
     "  -o, --output FORMAT    table, wide, json, or jsonpath=EXPRESSION\n"
     "  --sort-by COLUMN, --no-headers\n"
     "                         of tables\n"},
    {"sources", NULL, "accept what a source does not name any more", "sources accept NAME...",
     "Withdraw what such a source or directory does not name any more, and the node\n"
     "holds because it is so much (max_withdrawal).\n"
     "\n"
     "  --as-source            at the source itself; NAME is its node id\n"
     "  --http HOST:PORT       where the node serves HTTP (default: the host of\n"
     "                         --server, else 127.0.0.1, with port 18080)\n"},
    {"validate", "Check", "resources against their types; asks no node", "validate FILE...",
     "Check the resources of files or directories; - is standard input.\n"
     "\n"
     "  --references           is what they name among them? Do patterns compile?\n"
     "  --known TYPE[/NAME]    clients have this from elsewhere; may be given again\n"
     "  -f, --filename FILE    the same as FILE\n"
     "  -n, --namespace NAME   of names that have none (default local)\n"
     "  --descriptors FILE     descriptor set of the types\n"},
    {"auth", NULL, "what the node's rules allow a peer",
     "auth can-i PEER publish|subscribe|admin TYPE NAME [AUTHORITY]",
     "Ask whether this peer may, and which rule allows it. Exit status 1: it may not.\n"
     "\n"
     "  -n, --namespace NAME   of a name that has none (default local)\n"},
    {"sign", NULL, "sign resources; asks no node", "sign -f FILE --key FILE --key-id ID",
     "Print the resources of a file, signed.\n"
     "\n"
     "  --key FILE             the private key (PEM)\n"
     "  --key-id ID            the id under which the key is trusted\n"
     "  --authority NAME       the signing authority (default: as in the file)\n"
     "  --validity TIME        such as 90s, 30m, 24h (default) or 7d\n"
     "  --generation NUMBER    grows with each change (default: the time)\n"
     "  -n, --namespace NAME   of names that have none (default local)\n"
     "  -o, --output FORMAT    yaml, json, or jsonpath=EXPRESSION\n"},
    {"verify", NULL, "whether resources are signed, and by which key",
     "verify TYPE [NAME...]\nverify -f FILE",
     "Check the signatures of what the node has, or of files.\n"
     "\n"
     "  -f, --filename FILE    may be given again\n"
     "  -n, --namespace NAME   of names that have none (default local)\n"
     "  --trusted AUTHORITY/KEYID=FILE\n"
     "                         a public key or certificate (PEM); may be given again\n"},
    {"conform", "Test and measure", "test a server of xDS", "conform", NULL},
    {"bench", NULL, "measure a server of xDS or UDPA under load", "bench", NULL},
    {"xds", NULL, "get and watch of any server of xDS", "xds get|watch TYPE [NAME...]",
     "Be a client of a server of xDS v3, and show what it serves.\n"
     "\n"
     "  --state-of-the-world   not the delta protocol\n"
     "  --rest                 REST and JSON, not gRPC\n"
     "  -n, --namespace NAME   the names lie here (default local)\n"
     "  -o, --output FORMAT    table, wide, yaml, json, jsonpath=EXPRESSION, or name\n"},
};

static const struct verb *
find(const char *name)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

const char *
udpai_ctl_help_verb(size_t index)
{
    return index < UDPAI_ARRAY_LEN(verbs) ? verbs[index].name : NULL;
}

void
udpai_ctl_help_put_verbs(udpai_strbuf *out)
{
    udpai_strbuf_puts(out, "udpactl looks at a node of UDPA, and publishes to it.\n");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(verbs); i++) {
        if (verbs[i].group)
            udpai_strbuf_printf(out, "\n%s:\n", verbs[i].group);
        udpai_strbuf_printf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    }
    udpai_strbuf_puts(out, "\n'udpactl VERB --help' describes one verb, 'udpactl --help' lists all "
                           "options,\nshort names of types and exit statuses; see udpactl(1).\n");
}

bool
udpai_ctl_help_put_verb(udpai_strbuf *out, const char *name)
{
    const struct verb *verb = find(name);
    const udpai_cli_tool *tool = udpai_cli_tool_find(name);
    if (!verb)
        return false;
    udpai_cli_help_put(out, "udpactl", verb->usage, tool ? tool->help : verb->text);
    return true;
}

const char *
udpai_ctl_help_wanted(int argc, char *const *argv)
{
    const struct verb *verb = NULL;
    for (int i = 1; !verb && i < argc && strcmp(argv[i], "--") != 0; i++)
        verb = find(argv[i]);
    return verb && udpai_cli_help_is_wanted(argc, argv) ? verb->name : NULL;
}
