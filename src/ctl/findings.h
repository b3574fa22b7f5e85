/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl check has found: lines of text, or JSON. Pure. */
#ifndef UDPAI_CTL_FINDINGS_H
#define UDPAI_CTL_FINDINGS_H

#include <udpa/resource.h>

#include "base/strbuf.h"
#include "base/vector.h"
#include "cli/series.h"

/* By how many such lines a list may grow: a peer can make the others. */
#define UDPAI_CTL_FINDINGS_MAX 1000

typedef enum udpai_ctl_level {
    UDPAI_CTL_ERROR, /* clients or publishers lack something, now or within days */
    UDPAI_CTL_WARNING,
} udpai_ctl_level;

/* Owned texts; all but `what` may come from a peer, and are masked. */
typedef struct udpai_ctl_finding {
    udpai_ctl_level level;
    const char *what;           /* static: "certificate", "source" */
    char *where, *why, *action; /* NULL: no memory */
} udpai_ctl_finding;

typedef struct udpai_ctl_findings {
    UDPAI_VECTOR(udpai_ctl_finding) items;
    size_t n[2]; /* of each level, with those that there was no room for */
    bool failed; /* no memory */
} udpai_ctl_findings;

/* @p why is formatted; @p where is cut if it is very long. */
void udpai_ctl_findings_add(udpai_ctl_findings *findings,
                            const udpai_ctl_finding *begin,
                            const char *where,
                            const char *why,
                            ...) UDPA_PRINTF(4, 5);
void udpai_ctl_findings_done(udpai_ctl_findings *findings);

/* "error  certificate socket: expires in 3 d; …", a line each, errors first; and how many. */
void udpai_ctl_findings_put(const udpai_ctl_findings *findings, udpai_strbuf *out);
void udpai_ctl_findings_put_json(const udpai_ctl_findings *findings, udpai_strbuf *out);

/* ---- the rules ---- */

#define UDPAI_CTL_EXPIRES_ERROR_S (7 * 86400)
#define UDPAI_CTL_EXPIRES_WARNING_S (30 * 86400)

/* When the page was asked for, and when it came; by the clock of udpactl, since 1970. */
typedef struct udpai_ctl_asked {
    int64_t before_us, after_us;
} udpai_ctl_asked;

/* By /metrics: certificates, the clock, the disk, open files, etcd, workers, the store. */
void udpai_ctl_check_metrics(udpai_ctl_findings *findings,
                             const udpai_cli_page *page,
                             const udpai_ctl_asked *asked);
/* By the resources NodeStatus, SourceStatus and ReplicaStatus; others are passed over. @p version:
 * of udpactl. */
void udpai_ctl_check_status(udpai_ctl_findings *findings,
                            udpa_resource *const *resources,
                            size_t n,
                            const char *version,
                            int64_t now_us);

#endif
