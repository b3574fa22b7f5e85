/* SPDX-License-Identifier: Apache-2.0 */
/* bug-report: an archive of what a node reports of itself, for those who are to find an error. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/time_text.h"
#include "cli/collect.h"
#include "cli/node_status.h"
#include "ctl/clients_view.h"
#include "ctl/commands.h"
#include "ctl/findings.h"
#include "ctl/page.h"
#include "ctl/runtime_page.h"
#include "ctl/schema.h"
#include "ctl/show.h"
#include "ctl/status_view.h"
#include "ctl/tar.h"
#include "loop/clock.h"
#include "model/types.h"

#define FOLDER "udpa-bug-report/"
#define SESSIONS_MAX ((size_t)2000) /* of more clients only the first ones are in it */
#define LOG_MAX ((off_t)1 << 20)    /* the last bytes */

typedef struct reporting {
    udpai_cli *cli;
    const udpai_ctl_options *options;
    udpai_strbuf tar, contents; /* what is in it, and what is not */
    int64_t now_us;
    size_t n_files;
} reporting;

/* ---- files ---- */

static void
add(reporting *self, const char *name, const udpai_strbuf *text, const char *what)
{
    char path[UDPAI_CTL_TAR_NAME_MAX + 1];
    udpai_strbuf redacted = {0};
    snprintf(path, sizeof(path), FOLDER "%s", name);
    udpai_ctl_redact(&redacted, udpai_strbuf_view(text));
    self->tar.failed |= udpai_strbuf_failed(text) || udpai_strbuf_failed(&redacted);
    udpai_ctl_tar_add(&self->tar, path, udpai_strbuf_view(&redacted), self->now_us / 1000000);
    udpai_strbuf_done(&redacted);
    udpai_strbuf_printf(&self->contents, "%-14s %s\n", name, what);
    self->n_files++;
}

static void
note_missing(reporting *self, const char *name, const char *why)
{
    udpai_strbuf_printf(&self->contents, "%-14s is missing: %s\n", name, why);
}

/* ---- by HTTP ---- */

static void
add_page(reporting *self, const char *path, const char *name, const char *what)
{
    udpai_ctl_answer answer;
    if (udpai_ctl_page_fetch(self->options, path, &answer) == UDPAI_CLI_GOOD)
        add(self, name, &answer.text, what);
    else
        note_missing(self, name, "its page could not be read by HTTP");
    udpai_ctl_answer_done(&answer);
}

/* What others have there is not for a report. */
static void
add_runtime(reporting *self)
{
    udpai_ctl_answer answer;
    udpai_ctl_runtime runtime = {0};
    udpai_strbuf out = {0};
    udpai_cli_exit result = udpai_ctl_page_fetch(self->options, "/runtime", &answer);
    if (result == UDPAI_CLI_GOOD &&
        udpai_ctl_runtime_read(&runtime, udpai_strbuf_view(&answer.text), NULL) == UDPA_OK) {
        udpai_ctl_runtime_put_redacted(&runtime, &out);
        add(self, "runtime.json", &out, "the layers of the runtime; values of keys of nodes alone");
    } else {
        note_missing(self, "runtime.json", "its page could not be read by HTTP");
    }
    udpai_strbuf_done(&out);
    udpai_ctl_runtime_done(&runtime);
    udpai_ctl_answer_done(&answer);
}

static void
add_pages(reporting *self)
{
    size_t before = self->n_files;
    add_page(self, "/metrics", "metrics.txt", "the metrics");
    if (self->n_files == before) /* nobody is there, or it is not for us */
        return;
    add_page(self, "/stats", "stats.txt", "the counters of /stats");
    add_page(self, "/config", "config.yaml", "the configuration in effect, without secrets");
    add_runtime(self);
}

/* ---- by UDPA ---- */

static udpai_cli_exit
collect(udpai_cli *cli, const char *const *kinds, size_t n, udpai_cli_found *found)
{
    udpai_cli_requests requests = {0};
    udpa_err err = UDPA_OK;
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = udpai_cli_request_status(kinds[i], &requests);
    if (err == UDPA_OK && (cli->endpoint || udpai_cli_connect(cli) == UDPAI_CLI_GOOD))
        result = udpai_cli_collect(cli, &requests, found);
    udpai_cli_requests_done(&requests);
    return result;
}

static void
add_status_tables(reporting *self, udpa_resource *const *resources, size_t n)
{
    udpai_cli_layout layout = {.is_wide = true};
    udpai_strbuf out = {0};
    udpai_ctl_put_nodes(&out, &layout, resources, n, 0, self->now_us);
    udpai_ctl_put_sources(&out, &layout, resources, n, self->now_us);
    udpai_ctl_put_replicas(&out, &layout, resources, n, self->now_us);
    add(self, "status.txt", &out, "node, types, sinks, sources and replicas");
    udpai_strbuf_done(&out);
    udpai_cli_layout_done(&layout);
}

/* As the node has sent it, with what the tables leave out. */
static void
add_status_whole(reporting *self, udpa_resource *const *resources, size_t n)
{
    udpai_strbuf out = {0};
    udpai_schema *schema = udpai_ctl_schema(self->options);
    for (size_t i = 0; schema && i < n; i++)
        if (udpai_ctl_put_resource(&out, schema, resources[i], UDPAI_FORMAT_YAML, NULL) != UDPA_OK)
            udpai_strbuf_puts(&out, "# one cannot be written\n");
    if (schema)
        add(self, "status.yaml", &out, "the same as the node has sent it");
    else
        note_missing(self, "status.yaml", "there are no descriptors");
    udpai_schema_unref(schema);
    udpai_strbuf_done(&out);
}

static void
add_findings(reporting *self, udpa_resource *const *resources, size_t n)
{
    udpai_ctl_findings findings = {0};
    udpai_strbuf out = {0};
    udpai_ctl_check_status(&findings, resources, n, UDPAI_CLI_VERSION, self->now_us);
    udpai_ctl_findings_put(&findings, &out);
    out.failed |= findings.failed;
    add(self, "check.txt", &out, "what 'udpactl check' finds in it");
    udpai_strbuf_done(&out);
    udpai_ctl_findings_done(&findings);
}

static void
add_status(reporting *self)
{
    static const char *const kinds[] = {"NodeStatus", "SourceStatus", "ReplicaStatus"};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = collect(self->cli, kinds, UDPAI_ARRAY_LEN(kinds), &found);
    UDPAI_AUTO_FREE udpa_resource **resources =
        result == UDPAI_CLI_GOOD ? udpai_cli_found_sorted(&found) : NULL;
    size_t n = resources ? udpai_cli_found_size(&found) : 0;
    if (n) {
        add_status_tables(self, resources, n);
        add_status_whole(self, resources, n);
        add_findings(self, resources, n);
    } else {
        note_missing(self, "status.txt", "the node has not reported its status");
    }
    udpai_cli_found_done(&found);
}

static void
add_clients(reporting *self)
{
    static const char *const kinds[] = {"SessionStatus"};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = collect(self->cli, kinds, 1, &found);
    UDPAI_AUTO_FREE udpa_resource **resources =
        result == UDPAI_CLI_GOOD ? udpai_cli_found_sorted(&found) : NULL;
    size_t n = resources ? udpai_cli_found_size(&found) : 0;
    udpai_cli_layout layout = {.is_wide = true};
    udpai_strbuf out = {0};
    if (n > SESSIONS_MAX)
        udpai_strbuf_printf(&out, "the first %zu of %zu streams\n\n", SESSIONS_MAX, n);
    udpai_ctl_put_clients(&out, &layout, resources, udpai_min_size(n, SESSIONS_MAX), true,
                          self->now_us);
    udpai_strbuf_puts(&out, "\n");
    udpai_ctl_put_sessions(&out, &layout, resources, udpai_min_size(n, SESSIONS_MAX), self->now_us);
    if (n)
        add(self, "clients.txt", &out, "clients, streams, subscriptions, and what is rejected");
    else
        note_missing(self, "clients.txt", "the node has not reported its streams");
    udpai_strbuf_done(&out);
    udpai_cli_layout_done(&layout);
    udpai_cli_found_done(&found);
}

/* ---- the log ---- */

/* From the first whole line of the last bytes on. */
static udpai_cli_exit
add_log(reporting *self)
{
    const char *path = self->options->look.log;
    struct stat facts;
    udpai_strbuf out = {0};
    int file = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (!path) {
        note_missing(self, "log.txt", "no file was named with --log");
        return UDPAI_CLI_GOOD;
    }
    if (file < 0 || fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        udpai_cli_complain("--log %s: %s", path,
                           file < 0 ? strerror(errno) : "it is no regular file");
        if (file >= 0)
            (void)close(file);
        return UDPAI_CLI_MISTAKE;
    }
    off_t from = facts.st_size > LOG_MAX ? facts.st_size - LOG_MAX : 0;
    size_t size = (size_t)(facts.st_size - from);
    char *room = size ? udpai_strbuf_extend(&out, size) : NULL;
    ssize_t n = room ? pread(file, room, size, from) : 0;
    (void)close(file);
    out.len = n > 0 ? (size_t)n : 0;
    udpai_str text = udpai_strbuf_view(&out), line;
    udpai_strbuf whole = {.failed = udpai_strbuf_failed(&out)};
    if (from)
        (void)udpai_str_cut(&text, '\n', &line);
    udpai_strbuf_str(&whole, text);
    add(self, "log.txt", &whole, "the end of the log that was named");
    udpai_strbuf_done(&whole);
    udpai_strbuf_done(&out);
    return UDPAI_CLI_GOOD;
}

/* ---- the archive ---- */

static void
add_contents(reporting *self)
{
    udpai_strbuf out = {0};
    char when[UDPAI_TIME_TEXT_SIZE];
    udpai_time_text(when, self->now_us);
    udpai_strbuf_printf(&out, "udpactl %s, at %s\n\n", UDPAI_CLI_VERSION, when);
    udpai_strbuf_str(&out, udpai_strbuf_view(&self->contents));
    udpai_strbuf_puts(
        &out, "\nResources and keys are not asked for. " UDPAI_CTL_REDACTED
              " stands for what could be a secret.\nNames of resources, clients and files, and "
              "addresses are in it: look through it before you send it.\n");
    add(self, "README.txt", &out, "");
    udpai_strbuf_done(&out);
}

/* Never over another file, and for its owner alone. */
static udpai_cli_exit
write_file(const reporting *self)
{
    char usual[64];
    const char *path = self->options->look.file;
    snprintf(usual, sizeof(usual), "udpa-bug-report-%lld.tar", (long long)(self->now_us / 1000000));
    path = path ? path : usual;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    bool is_good = stream && fwrite(self->tar.data, self->tar.len, 1, stream) == 1;
    int error = errno;
    if (stream && fclose(stream) != 0) {
        is_good = false;
        error = errno;
    }
    if (!is_good) {
        udpai_cli_complain("cannot write %s: %s%s", path, strerror(error),
                           error == EEXIST ? "; name another one with -o FILE.tar" : "");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_print_line("%s: %zu files; look through it before you send it", path, self->n_files);
    return UDPAI_CLI_GOOD;
}

udpai_cli_exit
udpai_ctl_bug_report(udpai_cli *cli)
{
    reporting self = {
        .cli = cli,
        .options = udpai_ctl_options_of(cli->options),
        .now_us = udpai_wall_us(),
    };
    if (cli->options->arguments.n) {
        udpai_cli_complain("bug-report takes no arguments: udpactl bug-report -o FILE.tar");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_exit result = add_log(&self);
    size_t n_own = self.n_files;
    if (result == UDPAI_CLI_GOOD) {
        add_status(&self);
        add_clients(&self);
        add_pages(&self);
        result = self.n_files == n_own ? UDPAI_CLI_NO_CONNECTION : UDPAI_CLI_GOOD;
    }
    if (result == UDPAI_CLI_GOOD) {
        add_contents(&self);
        udpai_ctl_tar_end(&self.tar);
        if (udpai_strbuf_failed(&self.tar) || udpai_strbuf_failed(&self.contents)) {
            udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
            result = UDPAI_CLI_REFUSED;
        } else {
            result = write_file(&self);
        }
    }
    udpai_strbuf_done(&self.tar);
    udpai_strbuf_done(&self.contents);
    return result;
}
