/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/verbs.h"

#include <string.h>

#include "cli/output_options.h"
#include "ctl/commands.h"

#define SORTED_TABLES (UDPAI_CLI_HAS_TABLE | UDPAI_CLI_HAS_WIDE | UDPAI_CLI_IS_SORTABLE)

/* Of what has tables alone. */
#define TABLE_OPTIONS                                                                              \
    "  -o, --output FORMAT    table, wide, yaml, json, jsonpath=EXPRESSION, or name;\n"            \
    "                         wide: nothing is shortened\n"                                        \
    "  --sort-by COLUMN       numbers as numbers; -COLUMN: from the last to the first\n"           \
    "  --no-headers           no heads above tables\n"

static const udpai_ctl_verb verbs[] = {
    {.name = "get",
     .group = "Look",
     .run = udpai_ctl_get,
     .takes = UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NAMES,
     .tables = SORTED_TABLES,
     .summary = "show resources",
     .usage = "get [TYPE [NAME...]]",
     .text = "Show the resources of these names, of a type, or all.\n"
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
    {.name = "watch",
     .run = udpai_ctl_watch,
     .takes = UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NAMES,
     .tables = UDPAI_CLI_HAS_TABLE | UDPAI_CLI_HAS_WIDE,
     .summary = "show changes as they come",
     .usage = "watch [TYPE [NAME...]]",
     .text = "Show what there is, then each change, until SIGINT.\n"
             "\n"
             "  -n, --namespace NAME   of names that have none (default local); without names:\n"
             "                         this namespace alone (default all)\n"
             "  -o, --output FORMAT    table, wide, yaml, json, jsonpath=EXPRESSION, or name\n"},
    {.name = "explain",
     .run = udpai_ctl_explain,
     .takes = UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NAMES,
     .tables = UDPAI_CLI_HAS_TABLE | UDPAI_CLI_HAS_WIDE,
     .summary = "why a resource is served, or not, and who has it",
     .usage = "explain TYPE NAME [--for CLIENT] [--follow]",
     .text = "Show whether the node serves this resource, which of its contributions is\n"
             "effective and why, what the node waits for, and which clients have it.\n"
             "\n"
             "  -n, --namespace NAME   of a name that has none (default local)\n"
             "  --for CLIENT           whether this client has it, and may: its node id,\n"
             "                         identity, or address\n"
             "  --follow               show it again whenever it changes, until SIGINT\n"
             "  -o, --output FORMAT    table, wide, json, or jsonpath=EXPRESSION\n"},
    {.name = "status",
     .run = udpai_ctl_status,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .tables = SORTED_TABLES,
     .summary = "what the node has, its sources and its clients",
     .usage = "status [sources|replicas|sessions]",
     .text = "Show the node with its sources and sessions, or more of one of these.\n"
             "\n"
             "  --all                  the session of this udpactl, too\n" TABLE_OPTIONS},
    {.name = "clients",
     .run = udpai_ctl_clients,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .tables = SORTED_TABLES,
     .summary = "its clients, and whether they have it all",
     .usage = "clients",
     .text = "Show each client, what it subscribes to, and whether it has acknowledged it.\n"
             "\n"
             "  --tree                 clients of all nodes below it, too\n"
             "  --all                  also those that only look at its status, such as this\n"
             "                         udpactl\n" TABLE_OPTIONS},
    {.name = "client",
     .run = udpai_ctl_client,
     .takes = UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NAMES,
     .tables = SORTED_TABLES,
     .summary = "what one client has, and what it should have",
     .usage = "client NODE [TYPE]",
     .text = "Show how many resources of each type the client with this node id has, has\n"
             "rejected, has not answered, or was not sent; then which differ from what it\n"
             "should have: both versions, where the resource is from, and why.\n"
             "\n"
             "  -n, --namespace NAME   of names that have none (default local)\n"
             "  --all                  what is as it should be, too\n"
             "  -o, --output FORMAT    table, wide, json, or jsonpath=EXPRESSION\n"
             "  --sort-by COLUMN, --no-headers\n"
             "                         of the tables\n"
             "\n"
             "Example: udpactl client envoy-1 cluster\n"},
    {.name = "config",
     .run = udpai_ctl_config,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .summary = "the configuration in effect, without secrets",
     .usage = "config",
     .text = "Show the bootstrap file that the node runs with, with the rules and keys that it\n"
             "has taken over since: where the file is, when it was read, its SHA-256, and what\n"
             "takes a restart. (redacted) stands for what could be a secret.\n"
             "\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "  -o, --output FORMAT    yaml (default), json, or jsonpath=EXPRESSION\n"
             "\n"
             "Example: udpactl config -o jsonpath='{.bootstrap.sockets[*].address}'\n"},
    {.name = "top",
     .run = udpai_ctl_top_command,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .tables = UDPAI_CLI_HAS_TABLE | UDPAI_CLI_HAS_WIDE,
     .summary = "rates, times, and the worst clients, live",
     .usage = "top [--interval SECONDS] [--once]",
     .text = "Show deliveries, bytes, ACKs, NACKs and changes a second, how long changes take\n"
             "to the last client, turns of threads, streams, sources, and the clients that\n"
             "are most behind, until SIGINT. Uses --admin, and for clients --server.\n"
             "\n"
             "  --interval SECONDS     between two blocks (default 1)\n"
             "  --once                 one block, and no more\n"
             "  -o, --output FORMAT    table, wide, json (an object for each block, as on\n"
             "                         the page /top), or jsonpath=EXPRESSION\n"
             "\n"
             "Example: udpactl top --server edge:18000 --interval 5\n"},
    {.name = "events",
     .run = udpai_ctl_events,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .summary = "what has happened, and what clients have streamed",
     .usage = "events node|access-log|metrics|trace|tap|event",
     .text = "Print a line for each event that the node holds, the oldest first. Those of the\n"
             "node itself are NACKs, fail-overs, lost sources, limits, revoked clients, held\n"
             "resources, reloads. Those that clients stream to its sinks are lines of JSON.\n"
             "\n"
             "  --follow               go on with those that come, until SIGINT\n"
             "  -o json                of the node, too: a line of JSON for each\n"
             "\n"
             "Example: udpactl events node --follow\n"},
    {.name = "apply",
     .group = "Change",
     .run = udpai_ctl_apply,
     .takes = UDPAI_CTL_TAKES_FILES | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_WAIT |
              UDPAI_CTL_TAKES_NAMES,
     .summary = "publish resources",
     .usage = "apply -f FILE [--dry-run]\napply -f FILE --prune -n NAMESPACE --node-id ID",
     .text = "Publish the resources of a file or directory; - is standard input.\n"
             "\n"
             "  -f, --filename FILE    may be given again\n"
             "  -n, --namespace NAME   of names that have none (default local)\n"
             "  --node-id ID           publish as this node (default udpactl)\n"
             "  --dry-run              change nothing: ask the node what would be rejected,\n"
             "                         what would change, and for how many clients\n"
             "  --prune                then remove what this node id has applied in this\n"
             "                         namespace, and is not in the files\n"
             "  --yes                  with --prune: also more than half of it\n"
             "  --validate             publish nothing if 'validate' finds an error\n"
             "  --wait                 then wait until all subscribers have acknowledged it\n"
             "  --at-least N           with --wait: N must have acknowledged it\n"
             "  --despite-refusals     with --wait: go on after a NACK\n"
             "  --restore              the file is from get --all\n"},
    {.name = "diff",
     .run = udpai_ctl_diff,
     .takes = UDPAI_CTL_TAKES_FILES | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NAMES,
     .summary = "show what apply would change",
     .usage = "diff -f FILE",
     .text = "Show how the resources of a file or directory differ from what the node has, by\n"
             "diff(1), or the program that UDPACTL_EXTERNAL_DIFF names. Of secrets only that\n"
             "they differ. What was published as the same node, and is not in the files, is\n"
             "listed. Exit status: 0 nothing differs, 1 something does, 2 an error.\n"
             "\n"
             "  -f, --filename FILE    may be given again; - is standard input\n"
             "  -n, --namespace NAME   of names that have none (default local)\n"
             "  --node-id ID           what was published as this node (default udpactl)\n"
             "\n"
             "Example: udpactl diff -f resources\n"},
    {.name = "delete",
     .run = udpai_ctl_delete,
     .takes = UDPAI_CTL_TAKES_FILES | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_WAIT |
              UDPAI_CTL_TAKES_NAMES,
     .summary = "remove what was applied",
     .usage = "delete TYPE NAME...\ndelete -f FILE\ndelete --origin NODE [TYPE]",
     .text = "Remove what was applied with the same --node-id; with --origin what a node has\n"
             "read that will not return.\n"
             "\n"
             "  -f, --filename FILE    the names of this file; may be given again\n"
             "  -n, --namespace NAME   of names that have none (default local)\n"
             "  --node-id ID           what was published as this node (default udpactl)\n"
             "  --wait                 then wait until all subscribers have acknowledged it\n"
             "  --dry-run              with --origin: only show what would go\n"
             "  --admin ADDRESS        with --origin: where the node is administered\n"},
    {.name = "wait",
     .run = udpai_ctl_wait_command,
     .takes = UDPAI_CTL_TAKES_FILES | UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE |
              UDPAI_CTL_TAKES_ACKS | UDPAI_CTL_TAKES_NAMES,
     .tables = SORTED_TABLES,
     .summary = "until all who subscribe have it",
     .usage = "wait TYPE NAME...\nwait -f FILE",
     .text = "Wait until all who subscribe have acknowledged these resources.\n"
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
    {.name = "runtime",
     .run = udpai_ctl_runtime_command,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .tables = SORTED_TABLES,
     .summary = "values that change while a node runs",
     .usage =
         "runtime get [KEY...]\nruntime layers\nruntime set KEY=VALUE...\nruntime unset KEY...",
     .text = "Show the effective values, or what each layer has; set values in the layer of\n"
             "the administrator, or remove what was set there.\n"
             "\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "  -o, --output FORMAT    table, wide, json, or jsonpath=EXPRESSION\n"
             "  --sort-by COLUMN, --no-headers\n"
             "                         of tables\n"},
    {.name = "store",
     .run = udpai_ctl_store_command,
     .summary = "a restored etcd, keys for secrets, migration",
     .usage = "store status\nstore accept\nstore push\nstore reseal\nstore migrate",
     .text = "status: the state of a replica, and what etcd lacks of what the replica has.\n"
             "While a replica holds, because etcd has an older or another state: accept takes\n"
             "what etcd has, and push writes what this replica has.\n"
             "reseal: encrypt the secrets in etcd with the first key of store.keys, those that\n"
             "another key has encrypted; versions and clients do not change.\n"
             "migrate: the next start of the node with another store.engine, ETCD or SQLITE,\n"
             "takes over what its directory has; prints what to do.\n"
             "\n"
             "  --dry-run              of accept and push: only show what would be lost\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"},
    {.name = "backup",
     .run = udpai_ctl_backup,
     .summary = "a copy of the store of a running node, in a file",
     .usage = "backup FILE\nbackup status FILE",
     .text = "Make a backup of the node's store: publications with their versions and\n"
             "generations, what is remembered of removals, and the audit, as of one moment.\n"
             "Secrets are in it encrypted, their key is not. FILE is new, and is there only if\n"
             "all of it was read and verified. Of a replica, back up etcd instead.\n"
             "status: verify a backup, and show what is in it; asks no node.\n"
             "\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "\n"
             "Example: udpactl backup /var/backups/udpa-$(date +%F).db\n"},
    {.name = "restore",
     .run = udpai_ctl_restore,
     .takes = UDPAI_CTL_TAKES_NO_NODE,
     .summary = "make a backup the store of a node; asks no node",
     .usage = "restore FILE --state DIRECTORY",
     .text = "Verify a backup, and put it into the state directory of a node that does not run\n"
             "and has no store. To other nodes it is another store than before: they withdraw\n"
             "nothing because of what it lacks, and give back what is newer where the node has\n"
             "'recover'.\n"
             "\n"
             "  --state DIRECTORY      made if its parent exists\n"
             "\n"
             "Example: udpactl restore /var/backups/udpa.db --state /var/lib/udpa\n"},
    {.name = "reload",
     .run = udpai_ctl_reload,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .summary = "have the node read its bootstrap file again",
     .usage = "reload [--dry-run] [--force]",
     .text = "Check the bootstrap file of the node, and make what differs effective, all of\n"
             "it or nothing. Show which fields have changed, and which take a restart.\n"
             "\n"
             "  --dry-run              only show what would change\n"
             "  --force                also if more resources would be withdrawn than\n"
             "                         limits.max_withdrawal allows\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "  -o, --output FORMAT    json, or jsonpath=EXPRESSION\n"
             "\n"
             "Example: udpactl reload --dry-run\n"},
    {.name = "restart",
     .run = udpai_ctl_restart,
     .summary = "start the node anew, without a gap",
     .usage = "restart",
     .text = "The node starts its program anew, an upgraded one if there is one, with its\n"
             "bootstrap file as it is now, and hands it its sockets and its store. Clients\n"
             "move within timing.drain_time, and are sent nothing that they have. Waits until\n"
             "the new process serves. If it does not, the one that is there goes on.\n"
             "\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "\n"
             "Example: udpactl restart\n"},
    {.name = "freeze",
     .run = udpai_ctl_freeze,
     .summary = "change nothing until it is thawed",
     .usage = "freeze [NAMESPACE] --because TEXT",
     .text = "Reject publications, with the text, and let what files and sources change wait:\n"
             "clients keep what they have. Without NAMESPACE everything is frozen. Endpoints\n"
             "and secrets go on changing, and so does what clients report. It holds until it\n"
             "is thawed, also after a restart, and at all replicas.\n"
             "\n"
             "  --because TEXT         the reason, which publishers and operators are shown\n"
             "  --all                  endpoints and secrets, too\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "\n"
             "Example: udpactl freeze com.acme.shop --because 'incident 4711, ask ops'\n"},
    {.name = "thaw",
     .run = udpai_ctl_thaw,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .tables = SORTED_TABLES,
     .summary = "show what waits since it was frozen, and let it go",
     .usage = "thaw [NAMESPACE] [--yes]",
     .text = "Show the changes that wait. With --yes they become effective, and publications\n"
             "are accepted again. NAMESPACE is what freeze was given.\n"
             "\n"
             "  --yes                  thaw it, and not only show what waits\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "  -o, --output FORMAT    table, wide, json, or jsonpath=EXPRESSION\n"},
    {.name = "sources",
     .run = udpai_ctl_sources_command,
     .summary = "accept what a source does not name any more",
     .usage = "sources accept NAME...",
     .text = "Withdraw what such a source or directory does not name any more, and the node\n"
             "holds because it is so much (max_withdrawal).\n"
             "\n"
             "  --as-source            at the source itself; NAME is its node id\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"},
    {.name = "replicas",
     .run = udpai_ctl_replicas_command,
     .summary = "share clients evenly among the replicas of the node",
     .usage = "replicas rebalance",
     .text = "Have replicas with more clients of xDS than their share end some streams, so\n"
             "that these clients connect again, to another replica.\n"
             "\n"
             "  --over TIME            in this time, such as 30s (default 10s) or 5m\n"
             "  --admin ADDRESS        where a replica is administered: unix:PATH or HOST:PORT\n"},
    {.name = "check",
     .group = "Check",
     .run = udpai_ctl_check,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .summary = "what is wrong with the node, or will be soon",
     .usage = "check [--strict]",
     .text = "Look for certificates that expire, clocks that differ, full disks and limits,\n"
             "versions that differ, sources that are not active, resources that are pending\n"
             "or held, workers that do not report, and replicas that are not current. A line\n"
             "for each has where and why, and what to do. Uses --server and --admin.\n"
             "\n"
             "  --strict               exit status 1 for warnings, too\n"
             "  -o, --output FORMAT    table, json, or jsonpath=EXPRESSION\n"
             "\n"
             "Example: udpactl check --server edge:18000 || echo 'look at edge'\n"
             "Exit status: 0 no errors; 1 errors; 2 of the command line; 3 no connection;\n"
             "4 no answer in time.\n"},
    {.name = "audit",
     .run = udpai_ctl_audit,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .tables = SORTED_TABLES,
     .summary = "who has changed what, and when",
     .usage = "audit [--since TIME] [--name NAME] [--follow]\naudit verify FILE...",
     .text = "Show the last records of the node: publications and removals with the identity\n"
             "and the rule, what an administrator has done, reloads, and what the node has\n"
             "removed by itself. verify: files of audit.file, in the order in which they were\n"
             "written, are whole and unchanged.\n"
             "\n"
             "  --since TIME           of this time until now, such as 90s, 30m, 24h or 7d\n"
             "  --identity NAME        by this one; stars stand for anything\n"
             "  --name NAME            about this resource; stars stand for anything\n"
             "  --limit N              at most so many (default 100; with --since all)\n"
             "  --follow               go on with those that come, until SIGINT\n"
             "  --admin ADDRESS        where the node is administered: unix:PATH or HOST:PORT\n"
             "  -o, --output FORMAT    table, wide, json, or jsonpath=EXPRESSION\n"
             "\n"
             "Example: udpactl audit --since 24h --name 'com.acme.foo/*'\n"},
    {.name = "bug-report",
     .run = udpai_ctl_bug_report,
     .summary = "an archive for an error report, without secrets",
     .usage = "bug-report [-o FILE.tar] [--log FILE]",
     .text = "Write an archive of status, sources, replicas, clients, metrics, counters and\n"
             "runtime of the node, and its configuration without secrets. Payloads and keys\n"
             "are not in it; names and addresses are. Uses --server and --admin; what one\n"
             "lacks is noted in it.\n"
             "\n"
             "  -o FILE.tar            a new file (default udpa-bug-report-TIME.tar)\n"
             "  --log FILE             the last MiB of this log, too\n"
             "\n"
             "Example: udpactl bug-report -o edge.tar --log /var/log/udpad.log\n"},
    {.name = "validate",
     .run = udpai_ctl_validate,
     .takes = UDPAI_CTL_TAKES_FILES | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NO_NODE,
     .summary = "resources against their types; asks no node",
     .usage = "validate FILE...",
     .text = "Check the resources of files or directories; - is standard input.\n"
             "\n"
             "  --references           is what they name among them? Do patterns compile?\n"
             "  --known TYPE[/NAME]    clients have this from elsewhere; may be given again\n"
             "  -f, --filename FILE    the same as FILE\n"
             "  -n, --namespace NAME   of names that have none (default local)\n"
             "  --descriptors FILE     descriptor set of the types\n"},
    {.name = "auth",
     .run = udpai_ctl_auth,
     .takes = UDPAI_CTL_TAKES_NAMESPACE,
     .summary = "what the node's rules allow a peer",
     .usage = "auth can-i PEER publish|subscribe|admin TYPE NAME [AUTHORITY]",
     .text = "Ask whether this peer may, and which rule allows it. Exit status 1: it may not.\n"
             "\n"
             "  -n, --namespace NAME   of a name that has none (default local)\n"},
    {.name = "sign",
     .run = udpai_ctl_sign,
     .takes = UDPAI_CTL_TAKES_FILES | UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE |
              UDPAI_CTL_TAKES_NO_NODE,
     .summary = "sign resources; asks no node",
     .usage = "sign -f FILE --key FILE --key-id ID",
     .text = "Print the resources of a file, signed.\n"
             "\n"
             "  --key FILE             the private key (PEM)\n"
             "  --key-id ID            the id under which the key is trusted\n"
             "  --authority NAME       the signing authority (default: as in the file)\n"
             "  --validity TIME        such as 90s, 30m, 24h (default) or 7d\n"
             "  --generation NUMBER    grows with each change (default: the time)\n"
             "  -n, --namespace NAME   of names that have none (default local)\n"
             "  -o, --output FORMAT    yaml, json, or jsonpath=EXPRESSION\n"},
    {.name = "verify",
     .run = udpai_ctl_verify,
     .takes = UDPAI_CTL_TAKES_FILES | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NAMES,
     .summary = "whether resources are signed, and by which key",
     .usage = "verify TYPE [NAME...]\nverify -f FILE",
     .text = "Check the signatures of what the node has, or of files.\n"
             "\n"
             "  -f, --filename FILE    may be given again\n"
             "  -n, --namespace NAME   of names that have none (default local)\n"
             "  --trusted AUTHORITY/KEYID=FILE\n"
             "                         a public key or certificate (PEM); may be given again\n"},
    {.name = "context",
     .group = "Set up, test and measure",
     .run = udpai_ctl_context,
     .takes = UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE | UDPAI_CTL_TAKES_NO_NODE |
              UDPAI_CTL_TAKES_NOTHING,
     .tables = SORTED_TABLES,
     .summary = "named servers with their certificates and namespace",
     .usage = "context [list]\ncontext current\ncontext use NAME\ncontext show [NAME]\n"
              "context set NAME OPTION...\ncontext delete NAME",
     .text = "Contexts are in ~/.config/udpa/config.yaml. What neither the command line nor\n"
             "the environment sets is from the current one, or from that of --context.\n"
             "list: all. current: its name. use: make one current. show: its fields.\n"
             "delete: remove it. 'udpactl config use NAME', and so on, is the same.\n"
             "set: keep these options in a context, new or not; an empty value removes one.\n"
             "\n"
             "  -n, --namespace NAME   and --server, --admin, --admin-token, --http, --ca,\n"
             "                         --cert, --key, --server-name, --node-id, --timeout,\n"
             "                         --descriptors: what set keeps; files by their full path\n"
             "  -o, --output FORMAT    of list: table, wide, json, or jsonpath=EXPRESSION\n"
             "\n"
             "Example: udpactl context set prod --server edge:18000 --ca /etc/udpa/ca.crt\n"},
    {.name = "bootstrap",
     .run = udpai_ctl_bootstrap_command,
     .takes = UDPAI_CTL_TAKES_FORMAT,
     .summary = "the file by which a client finds the node",
     .usage = "bootstrap envoy|grpc [--client-id ID]",
     .text = "Print a complete bootstrap file of an Envoy, or of the clients of gRPC, with the\n"
             "addresses of --server. --ca, --cert and --key are the files that the client\n"
             "opens. No node is asked.\n"
             "\n"
             "  --client-id ID         the client's node id (default this machine's name)\n"
             "  --client-cluster NAME  its cluster (default: its node id)\n"
             "  --locality REGION[/ZONE[/SUB_ZONE]]\n"
             "                         where it is\n"
             "  --envoy-admin HOST:PORT\n"
             "                         where the Envoy is administered (default\n"
             "                         127.0.0.1:9901; '' for nowhere)\n"
             "  -o, --output FORMAT    of envoy: yaml (default), or json\n"
             "\n"
             "Example: udpactl --server edge:18000 bootstrap envoy --client-id envoy-1\n"},
    {.name = "completion",
     .run = udpai_ctl_completion,
     .takes = UDPAI_CTL_TAKES_NO_NODE | UDPAI_CTL_TAKES_NOTHING,
     .summary = "the script by which a shell completes commands",
     .usage = "completion bash|zsh|fish",
     .text = "Print it. Packages install it for all three. It completes commands, options,\n"
             "types, contexts, and names of resources, which it asks the node for, one second\n"
             "at most.\n"
             "\n"
             "Example, in ~/.bashrc: source <(udpactl completion bash)\n"},
    {.name = "conform",
     .takes = UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE,
     .summary = "test a server of xDS",
     .usage = "conform"},
    {.name = "bench",
     .takes = UDPAI_CTL_TAKES_FORMAT | UDPAI_CTL_TAKES_NAMESPACE,
     .summary = "measure a server of xDS or UDPA under load",
     .usage = "bench"},
    {.name = "xds",
     .summary = "get and watch of any server of xDS",
     .usage = "xds get|watch TYPE [NAME...]",
     .text = "Be a client of a server of xDS v3, and show what it serves.\n"
             "\n"
             "  --state-of-the-world   not the delta protocol\n"
             "  --rest                 REST and JSON, not gRPC\n"
             "  -n, --namespace NAME   the names lie here (default local)\n"
             "  -o, --output FORMAT    table, wide, yaml, json, jsonpath=EXPRESSION, or name\n"},
};

const udpai_ctl_verb *
udpai_ctl_verb_at(size_t index)
{
    return index < UDPAI_ARRAY_LEN(verbs) ? &verbs[index] : NULL;
}

const udpai_ctl_verb *
udpai_ctl_verb_find(const char *name)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}
