/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that udpad serves on its admin sockets and on its HTTP sockets, for people and tools:
 * what there is to see, and for which peers. An HTTP thread asks, the loop answers. */
#ifndef UDPAI_DAEMON_PAGES_H
#define UDPAI_DAEMON_PAGES_H

#include "daemon/audit_output.h"
#include "daemon/certificates.h"
#include "daemon/effective.h"
#include "daemon/liveness.h"
#include "daemon/page_list.h"
#include "daemon/readiness.h"
#include "daemon/replicas.h"
#include "daemon/runtime.h"
#include "daemon/workers.h"
#include "loop/loop_inbox.h"
#include "transport/otlp/exporter.h"

typedef struct udpai_pages udpai_pages;

/* What a client has shown, as a reading has it in `access`. */
typedef enum udpai_page_access {
    UDPAI_PAGE_BY_RULES, /* those of the ACL decide */
    UDPAI_PAGE_BY_TOKEN, /* it may all */
    UDPAI_PAGE_NO_TOKEN,
    UDPAI_PAGE_WRONG_TOKEN,
} udpai_page_access;

/* A page that does something, which its owner does: on the loop. */
typedef udpa_err (*udpai_pages_post_fn)(void *userdata,
                                        const udpai_http_reading *reading,
                                        udpai_strbuf *text,
                                        udpa_error **ret_error);

/* Everything is borrowed until the end. */
typedef struct udpai_pages_env {
    uv_loop_t *loop;
    udpa_endpoint *endpoint;
    udpai_daemon_runtime *runtime;
    udpai_replicas *replicas;         /* NULL: none */
    const udpai_effective *effective; /* the plan, and what of its file has changed since */
    udpai_schema *schema;
    /* What they point to may be NULL, and change. */
    udpai_workers *const *workers;
    udpai_durable_engine *const *engine; /* SQLite */
    const udpai_liveness *liveness;
    udpai_readiness *readiness;
    struct udpai_rest *const *admin; /* the admin sockets */
    udpai_pages_post_fn reload;      /* POST /reload */
    void *reload_userdata;
    struct udpai_restart *const *restart;    /* as the workers */
    udpai_otlp_exporter *exporter;           /* NULL: nothing is traced */
    udpai_audit_output *const *audit_output; /* the audit, beside what is kept */
} udpai_pages_env;

udpa_err
udpai_pages_open(udpai_pages **ret_pages, const udpai_pages_env *env, udpa_error **ret_error);
/* The node's own, until others are set; NULL: none are known any more. */
void udpai_pages_set_certificates(udpai_pages *pages, const udpai_certificates *certificates);
/* A client asks for one; @p userdata: the pages. Any thread. */
void udpai_pages_read(void *userdata, udpai_http_reading *reading);
/* When nobody asks any more. NULL is closed already. */
void udpai_pages_close(udpai_pages *pages);

#endif
