/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/page_list.h"

const udpai_http_page udpai_pages_all[UDPAI_PAGES] = {
    [UDPAI_PAGE_METRICS] = {.path = "/metrics"},
    [UDPAI_PAGE_READY] = {.path = "/ready"},
    [UDPAI_PAGE_LIVEZ] = {.path = "/livez", .is_prompt = true},
    [UDPAI_PAGE_READYZ] = {.path = "/readyz"},
    [UDPAI_PAGE_RUNTIME] = {.path = "/runtime"},
    [UDPAI_PAGE_MODIFY] = {.path = "/runtime_modify", .is_post = true},
    [UDPAI_PAGE_STATS] = {.path = "/stats"},
    [UDPAI_PAGE_PROMETHEUS] = {.path = "/stats/prometheus"},
    [UDPAI_PAGE_ACCEPT] = {.path = "/sources_accept", .is_post = true},
    [UDPAI_PAGE_DELETE] = {.path = "/origins_delete", .is_post = true},
    [UDPAI_PAGE_REBALANCE] = {.path = "/replicas_rebalance", .is_post = true},
    [UDPAI_PAGE_STORE] = {.path = "/store"},
    [UDPAI_PAGE_STORE_ACCEPT] = {.path = "/store_accept", .is_post = true},
    [UDPAI_PAGE_STORE_PUSH] = {.path = "/store_push", .is_post = true},
    [UDPAI_PAGE_STORE_RESEAL] = {.path = "/store_reseal", .is_post = true},
    [UDPAI_PAGE_STORE_MIGRATE] = {.path = "/store_migrate", .is_post = true},
    [UDPAI_PAGE_EVENTS] = {.path = "/events"},
    [UDPAI_PAGE_INDEX] = {.path = "/"},
    [UDPAI_PAGE_AUDIT] = {.path = "/audit"},
    [UDPAI_PAGE_FREEZES] = {.path = "/freezes"},
    [UDPAI_PAGE_FREEZE] = {.path = "/freeze", .is_post = true},
    [UDPAI_PAGE_THAW] = {.path = "/thaw", .is_post = true},
    [UDPAI_PAGE_STATUS] = {.path = "/status"},
    [UDPAI_PAGE_EXPLAIN] = {.path = "/explain"},
    [UDPAI_PAGE_CONFIG] = {.path = "/config"},
    [UDPAI_PAGE_TOP] = {.path = "/top"},
    [UDPAI_PAGE_BACKUP] = {.path = "/backup", .is_post = true},
    [UDPAI_PAGE_BACKUP_PART] = {.path = "/backup_part"},
    [UDPAI_PAGE_RELOAD] = {.path = "/reload", .is_post = true},
    [UDPAI_PAGE_RESTART] = {.path = "/restart", .is_post = true},
    [UDPAI_PAGE_PROCESS] = {.path = "/process"},
};

const char *const udpai_page_summaries[UDPAI_PAGES] = {
    [UDPAI_PAGE_METRICS] = "all metrics, for Prometheus",
    [UDPAI_PAGE_READY] = "200 once all sources have synchronized",
    [UDPAI_PAGE_LIVEZ] = "200 while the node's threads make progress",
    [UDPAI_PAGE_READYZ] = "200 while the node should have clients; ?verbose has the reasons",
    [UDPAI_PAGE_RUNTIME] = "values that change while the node runs, by layer",
    [UDPAI_PAGE_MODIFY] = "?KEY=VALUE sets some of them; an empty value removes it",
    [UDPAI_PAGE_STATS] = "counters, a line for each",
    [UDPAI_PAGE_PROMETHEUS] = "the same, for Prometheus",
    [UDPAI_PAGE_ACCEPT] = "?NAME accepts that a source does not name what it named before",
    [UDPAI_PAGE_DELETE] =
        "?NODE deletes what a node has read that will not come back; &dry_run only shows it",
    [UDPAI_PAGE_REBALANCE] = "spreads clients over replicas; ?over_ms=NUMBER",
    [UDPAI_PAGE_STORE] = "why a replica holds what etcd has",
    [UDPAI_PAGE_STORE_ACCEPT] = "takes what etcd has; ?dry_run only shows what would go",
    [UDPAI_PAGE_STORE_PUSH] = "writes what etcd lacks; ?dry_run only shows it",
    [UDPAI_PAGE_STORE_RESEAL] =
        "encrypts secrets in etcd with the first key; ?look=true only shows how far",
    [UDPAI_PAGE_STORE_MIGRATE] = "moves the store to the other engine, with the next start",
    [UDPAI_PAGE_EVENTS] =
        "what happens to the node, and what is streamed to it, as it comes; ?kind=KIND",
    [UDPAI_PAGE_INDEX] = "this list",
    [UDPAI_PAGE_AUDIT] =
        "who has changed what, as JSON; ?limit, after, before, since, identity, name",
    [UDPAI_PAGE_FREEZES] = "what is frozen, and the changes that wait, as JSON; ?prefix",
    [UDPAI_PAGE_FREEZE] =
        "?because=TEXT stops all changes; &prefix=PREFIX of these names, &all also endpoints",
    [UDPAI_PAGE_THAW] = "what waits becomes effective; ?prefix=PREFIX as it was frozen",
    [UDPAI_PAGE_STATUS] =
        "?type=node, source, replica, session or client, as JSON; &name, limit, after",
    [UDPAI_PAGE_CONFIG] = "the configuration in effect, without secrets, as YAML; ?format=json",
    [UDPAI_PAGE_EXPLAIN] =
        "?type=TYPE&name=NAME why it is served, or not, and who has it, as JSON; &for",
    [UDPAI_PAGE_RELOAD] =
        "reads the bootstrap file again; ?dry_run only shows what would change; ?force",
    [UDPAI_PAGE_RESTART] =
        "has another process of the program take the place of this one, without a gap",
    [UDPAI_PAGE_PROCESS] = "which process answers, and how a restart goes, as JSON",
    [UDPAI_PAGE_TOP] = "rates of the last seconds, times, and the worst clients, as JSON; ?limit",
    [UDPAI_PAGE_BACKUP] = "makes a copy of the store; ?look=true only shows how far that is",
    [UDPAI_PAGE_BACKUP_PART] = "?id=ID&from=BYTE reads it, a part at a time",
};
