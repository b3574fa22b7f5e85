/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/http.h"

#include <curl/curl.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/client.h"
#include "cli/table.h"
#include "ctl/interrupt.h"
#include "endpoint/exposure.h"
#include "model/server_list.h"
#include "transport/grpc/stream_thread.h"
#include "transport/http/curl_client.h"
#include "transport/token_file.h"

#define ANSWER_MAX ((size_t)256 << 20)
#define WORDS_MAX 1000
#define UNAUTHORIZED 401
#define FORBIDDEN 403
#define NOT_FOUND 404
#define LOCAL "unix:"
#define ELSEWHERE "on the admin socket" /* in the words of a node (daemon/rest.c) */

typedef struct request {
    const udpai_ctl_options *options;
    char *server; /* of options->common.http */
    bool has_next;
    bool goes_on;        /* to the next one, since this one was not reached … */
    udpai_strbuf *tried; /* … and why */
    udpai_ctl_answer *answer;
    bool is_local;         /* a unix socket */
    udpai_tls_files files; /* that libcurl reads while it asks */
    udpai_token_file *token;
    CURL *easy;
    struct curl_slist *connect_to, *fields;
    udpai_strbuf url;
    bool is_too_large;
    char words[CURL_ERROR_SIZE];
} request;

static size_t
on_body(char *data, size_t one, size_t n, void *userdata)
{
    request *self = userdata;
    udpai_strbuf *text = &self->answer->text;
    (void)one; /* is 1 */
    self->is_too_large = n > ANSWER_MAX - text->len;
    if (!self->is_too_large)
        udpai_strbuf_append(text, data, n);
    return self->is_too_large || udpai_strbuf_failed(text) ? 0 : n;
}

static int
on_progress(void *userdata, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)userdata, (void)a, (void)b, (void)c, (void)d;
    return udpai_ctl_is_interrupted(); /* ends the request */
}

#define SET(option, value)                                                                         \
    (is_set = is_set && curl_easy_setopt(self->easy, (option), (value)) == CURLE_OK)

/* Only the authorities that were given may vouch for the node. */
static bool
set_tls(request *self)
{
    const udpai_tls_files *files = &self->files;
    struct curl_blob blob = {files->authorities, strlen(files->authorities), CURL_BLOB_NOCOPY};
    bool is_set = true;
    SET(CURLOPT_CAINFO, NULL);
    SET(CURLOPT_CAPATH, NULL);
    SET(CURLOPT_CAINFO_BLOB, &blob);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (!files->certificate)
        return is_set;
    blob = (struct curl_blob){files->certificate, strlen(files->certificate), CURL_BLOB_NOCOPY};
    SET(CURLOPT_SSLCERT_BLOB, &blob);
    blob = (struct curl_blob){files->private_key, strlen(files->private_key), CURL_BLOB_NOCOPY};
    SET(CURLOPT_SSLKEY_BLOB, &blob);
    return is_set;
}

static bool
has_tls(const request *self)
{
    return self->options->common.ca && !self->is_local;
}

static bool
set_local_address(request *self, const char *path)
{
    bool is_set = true;
    udpai_strbuf_puts(&self->url, "http://localhost");
    udpai_strbuf_puts(&self->url, path);
    if (udpai_strbuf_failed(&self->url))
        return false;
    SET(CURLOPT_URL, self->url.data);
    SET(CURLOPT_UNIX_SOCKET_PATH, self->server + strlen(LOCAL));
    return is_set;
}

/* A name that the certificate must have takes the place of the host, which is dialled all the
 * same. */
static bool
set_address(request *self, const char *path)
{
    const udpai_ctl_options *options = self->options;
    bool has_name = options->common.ca && options->common.server_name, is_set = true;
    if (self->is_local)
        return set_local_address(self, path);
    udpai_strbuf_puts(&self->url, options->common.ca ? "https://" : "http://");
    udpai_strbuf_puts(&self->url, has_name ? options->common.server_name : self->server);
    udpai_strbuf_puts(&self->url, has_name ? strrchr(self->server, ':') : "");
    udpai_strbuf_puts(&self->url, path);
    if (udpai_strbuf_failed(&self->url))
        return false;
    SET(CURLOPT_URL, self->url.data);
    if (!has_name)
        return is_set;
    udpai_strbuf to = {0};
    udpai_strbuf_printf(&to, "::%s", self->server);
    self->connect_to = udpai_strbuf_failed(&to) ? NULL : curl_slist_append(NULL, to.data);
    udpai_strbuf_done(&to);
    SET(CURLOPT_CONNECT_TO, self->connect_to);
    return is_set && self->connect_to;
}

/* False without memory. */
static bool
add_field(request *self, const char *name, udpai_str value)
{
    udpai_strbuf field = {0};
    udpai_strbuf_puts(&field, name);
    udpai_strbuf_str(&field, value);
    struct curl_slist *longer =
        udpai_strbuf_failed(&field) ? NULL : curl_slist_append(self->fields, field.data);
    udpai_strbuf_done(&field);
    if (longer)
        self->fields = longer;
    return longer;
}

static bool
set_fields(request *self, const udpai_strbuf *body)
{
    bool is_set = true;
    if (body)
        is_set = add_field(self, "Content-Type: ", UDPAI_STR("application/json"));
    if (is_set && self->token)
        is_set = add_field(self, "Authorization: Bearer ", udpai_token_file_token(self->token));
    SET(CURLOPT_HTTPHEADER, self->fields);
    return is_set;
}

static bool
prepare(request *self, const char *path, const udpai_strbuf *body)
{
    bool is_set = set_address(self, path);
    SET(CURLOPT_PROTOCOLS_STR, has_tls(self) ? "https" : "http");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PROXY, ""); /* it would see, and could change, what is sent */
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TIMEOUT_MS, (long)self->options->common.timeout_ms);
    if (self->has_next)
        SET(CURLOPT_CONNECTTIMEOUT_MS, (long)UDPAI_DIAL_HURRIED_MS);
    SET(CURLOPT_ERRORBUFFER, self->words);
    SET(CURLOPT_USERAGENT, "udpactl");
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, self);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_NOPROGRESS, 0L);
    if (body) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
        SET(CURLOPT_POSTFIELDS, body->data);
    }
    return is_set && set_fields(self, body) && (!has_tls(self) || set_tls(self));
}

/* ---- what it comes to ---- */

/* Nothing was asked of it yet: so it is safe to ask another one. */
static bool
was_not_reached(const request *self, CURLcode code)
{
    long connect_us = 0;
    if (code == CURLE_OPERATION_TIMEDOUT)
        return curl_easy_getinfo(self->easy, CURLINFO_PRETRANSFER_TIME_T, &connect_us) ==
                   CURLE_OK &&
               connect_us == 0;
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION;
}

/* Of a unix socket libcurl has a host in its words, that nobody has asked for. */
static void
note_tried(request *self, CURLcode code)
{
    char room[128];
    long number = 0;
    const char *why = *self->words ? self->words : curl_easy_strerror(code);
    if (self->is_local && curl_easy_getinfo(self->easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK &&
        number)
        why = strerror_r((int)number, room, sizeof(room));
    udpai_strbuf_printf(self->tried, "%s%s: %s", self->tried->len ? " | " : "", self->server, why);
    if (self->options->common.is_verbose && self->has_next)
        udpai_cli_note("cannot ask %s: %s", self->server, why);
}

static void
note_where(const request *self)
{
    if (self->is_local)
        udpai_cli_note(
            "Where the node is administered, it prints at its start; --admin unix:PATH or "
            "HOST:PORT[,...], or the environment variable UDPACTL_ADMIN, gives it to "
            "udpactl. The file of a unix socket is for the user of the node.");
    else
        udpai_cli_note(
            "Where the node is administered is given by --admin unix:PATH or "
            "HOST:PORT[,...], or by the environment variable UDPACTL_ADMIN%s. --http and "
            "UDPACTL_HTTP are for a node with 'http: {admin_pages: true}', and say where "
            "its http.sockets are.",
            self->options->common.ca ? "" : "; --ca FILE makes it TLS");
}

static udpai_cli_exit
report_failure(request *self, CURLcode code)
{
    const udpai_ctl_options *options = self->options;
    bool was_reached = !was_not_reached(self, code);
    if (!was_reached)
        note_tried(self, code);
    self->goes_on = !was_reached && self->has_next;
    bool is_silent = options->failures == UDPAI_CTL_FAILURES_SILENT || udpai_ctl_is_interrupted();
    if (self->goes_on || (is_silent && !self->is_too_large))
        return UDPAI_CLI_NO_CONNECTION;
    if (code == CURLE_OPERATION_TIMEDOUT) {
        udpai_cli_complain("no answer from %s within %g s; --timeout SECONDS has it wait longer",
                           self->server, (double)options->common.timeout_ms / 1000);
        return UDPAI_CLI_TIMED_OUT;
    }
    if (self->is_too_large) {
        udpai_cli_complain("the answer of %s is larger than %zu bytes", self->server, ANSWER_MAX);
        return UDPAI_CLI_REFUSED;
    }
    if (was_reached)
        udpai_cli_complain("cannot ask %s: %s", self->server,
                           *self->words ? self->words : curl_easy_strerror(code));
    else
        udpai_cli_complain("cannot ask %s", self->tried->data ? self->tried->data : self->server);
    if (options->failures == UDPAI_CTL_FAILURES_WITH_HELP)
        note_where(self);
    return UDPAI_CLI_NO_CONNECTION;
}

static udpai_cli_exit
perform(request *self, const char *path, const udpai_strbuf *body)
{
    self->easy = curl_easy_init();
    if (!self->easy || !prepare(self, path, body)) {
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
        return UDPAI_CLI_REFUSED;
    }
    CURLcode code = curl_easy_perform(self->easy);
    if (code != CURLE_OK)
        return report_failure(self, code);
    (void)curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &self->answer->status);
    return UDPAI_CLI_GOOD;
}

/* It is as good as a password, so it does not pass where others could read it. */
static udpa_err
read_token(request *self, udpa_error **ret_error)
{
    const char *file = self->options->common.admin_token;
    if (!file)
        return UDPA_OK;
    if (!self->is_local && !has_tls(self) && !udpai_exposure_is_loopback(self->server))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "--admin-token: a token is not sent in the clear to %s: give --ca FILE",
                          self->server);
    return udpai_token_file_open(&self->token, file, ret_error);
}

static udpa_err
read_files(request *self, udpa_error **ret_error)
{
    const udpai_tls_paths paths = {.certificate = self->options->common.certificate,
                                   .private_key = self->options->common.key,
                                   .authorities = self->options->common.ca};
    udpa_err err = self->is_local ? UDPA_OK : udpai_http_address_check(self->server, ret_error);
    if (err == UDPA_OK)
        err = read_token(self, ret_error);
    return err || !has_tls(self)
               ? err
               : udpai_tls_files_read(&self->files, &paths, (int64_t)time(NULL), ret_error);
}

static udpai_cli_exit
ask_one(request *self, const char *path, const udpai_strbuf *body)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_cli_exit result = UDPAI_CLI_MISTAKE;
    if (read_files(self, &error) == UDPA_OK)
        result = perform(self, path, body);
    else
        udpai_cli_complain_of(error);
    curl_easy_cleanup(self->easy);
    curl_slist_free_all(self->connect_to);
    curl_slist_free_all(self->fields);
    udpai_strbuf_done(&self->url);
    udpai_tls_files_done(&self->files);
    udpai_token_file_free(self->token);
    if (result == UDPAI_CLI_GOOD)
        self->answer->server = UDPAI_TAKE(self->server);
    udpai_free(self->server);
    return result;
}

udpai_cli_exit
udpai_ctl_http_ask(const udpai_ctl_options *options,
                   const char *path,
                   const udpai_strbuf *body,
                   udpai_ctl_answer *ret_answer)
{
    udpai_str rest = udpai_str_from(options->common.http), server;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_strbuf tried = {0};
    udpai_cli_exit result = UDPAI_CLI_MISTAKE;
    *ret_answer = (udpai_ctl_answer){0};
    if (udpai_server_list_check(rest, &error) != UDPA_OK)
        udpai_cli_complain_of(error);
    while (!error && udpai_server_list_cut(&rest, &server)) {
        request self = {.options = options,
                        .answer = ret_answer,
                        .server = udpai_strndup(server.data, server.len),
                        .has_next = rest.data != NULL,
                        .tried = &tried};
        if (!self.server)
            udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
        self.is_local = self.server && strncmp(self.server, LOCAL, strlen(LOCAL)) == 0;
        result = self.server ? ask_one(&self, path, body) : UDPAI_CLI_REFUSED;
        if (!self.goes_on)
            break;
    }
    udpai_strbuf_done(&tried);
    return result;
}

udpai_cli_exit
udpai_ctl_http_refused(const udpai_ctl_options *options,
                       const udpai_ctl_answer *answer,
                       const char *hint)
{
    udpai_strbuf words = {0};
    if (options->failures == UDPAI_CTL_FAILURES_SILENT && answer->status >= UDPAI_CTL_SERVER_ERROR)
        return UDPAI_CLI_REFUSED;
    udpai_ctl_answer_words(answer, &words);
    if (answer->status == NOT_FOUND && words.len && strstr(words.data, ELSEWHERE)) {
        udpai_cli_complain("%s has no pages of administration: give --admin unix:PATH or "
                           "HOST:PORT, which the node prints at its start; or have it serve them "
                           "there, too, by 'http: {admin_pages: true}'",
                           options->common.http);
        udpai_strbuf_done(&words);
        return UDPAI_CLI_REFUSED;
    }
    udpai_cli_complain("%s has answered %ld%s%s%s", options->common.http, answer->status,
                       words.len ? ": " : "", words.len ? words.data : "",
                       answer->status == FORBIDDEN ? "; this takes a rule with the action ADMIN"
                       : answer->status == UNAUTHORIZED ? "; --admin-token FILE sends it"
                                                        : hint);
    udpai_strbuf_done(&words);
    return UDPAI_CLI_REFUSED;
}

void
udpai_ctl_answer_words(const udpai_ctl_answer *answer, udpai_strbuf *words)
{
    udpai_str text = udpai_strbuf_view(&answer->text);
    while (text.len && text.data[text.len - 1] == '\n')
        text.len--;
    udpai_cli_put_text(words, (udpai_str){text.data, udpai_min_size(text.len, WORDS_MAX)});
}

void
udpai_ctl_answer_done(udpai_ctl_answer *answer)
{
    udpai_strbuf_done(&answer->text);
    udpai_free(answer->server);
}
