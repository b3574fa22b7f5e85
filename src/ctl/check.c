/* SPDX-License-Identifier: Apache-2.0 */
/* check: what is wrong with a node, or will be soon; by its status, its metrics and its readiness.
 */
#include "base/alloc.h"
#include "cli/collect.h"
#include "cli/node_status.h"
#include "cli/output.h"
#include "ctl/commands.h"
#include "ctl/findings.h"
#include "ctl/page.h"
#include "loop/clock.h"

#define UNAVAILABLE 503

static udpai_cli_exit
collect_status(udpai_cli *cli, udpai_cli_found *found)
{
    static const char *const kinds[] = {"NodeStatus", "SourceStatus", "ReplicaStatus"};
    udpai_cli_requests requests = {0};
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(kinds) && err == UDPA_OK; i++)
        err = udpai_cli_request_status(kinds[i], &requests);
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    if (err != UDPA_OK)
        udpai_cli_complain("%s", udpa_err_text(err));
    else
        result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect(cli, &requests, found);
    udpai_cli_requests_done(&requests);
    return result;
}

static udpai_cli_exit
check_status(udpai_cli *cli, udpai_ctl_findings *findings)
{
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = collect_status(cli, &found);
    UDPAI_AUTO_FREE udpa_resource **resources =
        result == UDPAI_CLI_GOOD ? udpai_cli_found_sorted(&found) : NULL;
    if (resources)
        udpai_ctl_check_status(findings, resources, udpai_cli_found_size(&found), UDPAI_CLI_VERSION,
                               udpai_wall_us());
    findings->failed |= result == UDPAI_CLI_GOOD && !resources;
    udpai_cli_found_done(&found);
    return result;
}

/* Load balancers ask the same. */
static void
check_readiness(const udpai_ctl_options *options, udpai_ctl_findings *findings)
{
    const udpai_ctl_finding begin = {
        .level = UDPAI_CTL_ERROR,
        .what = "readiness",
        .action = (char *)(uintptr_t) "fix what it names: load balancers send it no clients",
    };
    udpai_ctl_answer answer;
    if (udpai_ctl_http_ask(options, "/readyz", NULL, &answer) == UDPAI_CLI_GOOD &&
        answer.status == UNAVAILABLE) {
        udpai_strbuf words = {0};
        udpai_ctl_answer_words(&answer, &words);
        udpai_ctl_findings_add(findings, &begin, "", "the node reports: %s",
                               words.data ? words.data : "");
        udpai_strbuf_done(&words);
    }
    udpai_ctl_answer_done(&answer);
}

static udpai_cli_exit
check_pages(const udpai_ctl_options *options, udpai_ctl_findings *findings)
{
    udpai_ctl_answer answer;
    udpai_cli_page page;
    udpai_ctl_asked asked = {.before_us = udpai_wall_us()};
    udpai_cli_exit result = udpai_ctl_page_fetch_metrics(options, &page, &answer);
    asked.after_us = udpai_wall_us();
    if (result == UDPAI_CLI_GOOD)
        udpai_ctl_check_metrics(findings, &page, &asked);
    udpai_cli_page_done(&page);
    udpai_ctl_answer_done(&answer);
    if (result == UDPAI_CLI_GOOD)
        check_readiness(options, findings);
    return result;
}

/* One of both cannot be asked: what was not checked may be what is wrong. */
static void
add_unchecked(const udpai_ctl_options *options, bool is_status, udpai_ctl_findings *findings)
{
    static const udpai_ctl_finding status = {
        .what = "status",
        .action = (char *)(uintptr_t) "give the address of a socket of the node: --server "
                                      "HOST:PORT; if it is right, the node or its worker hangs",
    };
    static const udpai_ctl_finding metrics = {
        .what = "metrics",
        .action = (char *)(uintptr_t) "give the address of the node's admin socket: --admin "
                                      "ADDRESS",
    };
    if (is_status)
        udpai_ctl_findings_add(findings, &status, options->common.server,
                               "cannot be read, so sources, types, sinks, replicas and versions "
                               "were not checked");
    else
        udpai_ctl_findings_add(findings, &metrics, options->common.http,
                               "cannot be read, so certificates, clock, disk, limits, workers and "
                               "store were not checked");
}

static udpai_cli_exit
print(const udpai_ctl_options *options, const udpai_ctl_findings *findings)
{
    udpai_strbuf out = {.failed = findings->failed};
    udpai_cli_exit result;
    if (options->common.format == UDPAI_CLI_JSON) {
        udpai_ctl_findings_put_json(findings, &out);
        result = udpai_cli_print_json(&options->common, &out);
    } else {
        udpai_ctl_findings_put(findings, &out);
        result = udpai_cli_print(&out);
    }
    if (result != UDPAI_CLI_GOOD)
        return result;
    bool is_bad =
        findings->n[UDPAI_CTL_ERROR] || (options->look.is_strict && findings->n[UDPAI_CTL_WARNING]);
    return is_bad ? UDPAI_CLI_REFUSED : UDPAI_CLI_GOOD;
}

udpai_cli_exit
udpai_ctl_check(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_ctl_findings findings = {0};
    if (options->common.arguments.n) {
        udpai_cli_complain("check takes no arguments: udpactl check, or udpactl check --strict");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_exit of_status = check_status(cli, &findings), of_pages = UDPAI_CLI_GOOD, result;
    if (of_status != UDPAI_CLI_MISTAKE)
        of_pages = check_pages(options, &findings);
    if (of_status == UDPAI_CLI_MISTAKE || (of_status && of_pages)) {
        result = of_status;
    } else {
        if (of_status || of_pages)
            add_unchecked(options, of_status != UDPAI_CLI_GOOD, &findings);
        result = print(options, &findings);
    }
    udpai_ctl_findings_done(&findings);
    return result;
}
