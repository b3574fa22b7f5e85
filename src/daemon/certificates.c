/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/certificates.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "endpoint/note.h"
#include "loop/clock.h"

#define LOG "daemon"
#define SOON_S ((int64_t)7 * 86400)
#define AGAIN_S 86400

/* ---- reading ---- */

static udpai_tls_paths
paths_of_server(const Udpa__Config__V1__ServerTls *from)
{
    return (udpai_tls_paths){from->certificate_file, from->private_key_file, from->client_ca_file,
                             from->crl_file};
}

static udpai_tls_paths
paths_of_client(const Udpa__Config__V1__ClientTls *from)
{
    return (udpai_tls_paths){from->certificate_file, from->private_key_file, from->ca_file,
                             from->crl_file};
}

static int64_t
now_s(void)
{
    return udpai_wall_us() / 1000000;
}

udpa_err
udpai_certificates_read(const Udpa__Config__V1__ServerTls *from,
                        udpai_tls_files *ret_files,
                        udpa_error **ret_error)
{
    const udpai_tls_paths paths = paths_of_server(from);
    return udpai_tls_files_read(ret_files, &paths, now_s(), ret_error);
}

udpa_err
udpai_certificates_read_client(const Udpa__Config__V1__ClientTls *from,
                               udpai_tls_files *ret_files,
                               udpa_error **ret_error)
{
    const udpai_tls_paths paths = paths_of_client(from);
    return udpai_tls_files_read(ret_files, &paths, now_s(), ret_error);
}

udpa_err
udpai_certificates_server(const Udpa__Config__V1__ServerTls *from,
                          udpai_server_tls **ret_tls,
                          udpa_error **ret_error)
{
    udpai_tls_files files = {0};
    *ret_tls = NULL;
    if (!from)
        return UDPA_OK;
    udpa_err err = udpai_certificates_read(from, &files, ret_error);
    if (err == UDPA_OK)
        err = udpai_server_tls_new(ret_tls, &files, from->client_certificate_optional, ret_error);
    udpai_tls_files_done(&files);
    return err;
}

udpa_err
udpai_certificates_server_again(const Udpa__Config__V1__ServerTls *from,
                                udpai_server_tls *tls,
                                udpa_error **ret_error)
{
    udpai_tls_files files = {0};
    udpa_err err = udpai_certificates_read(from, &files, ret_error);
    if (err == UDPA_OK)
        err = udpai_server_tls_replace(tls, &files, ret_error);
    udpai_tls_files_done(&files);
    return err;
}

/* ---- those in use ---- */

static udpai_tls_paths
paths_of(const udpai_certificate_user *user)
{
    return user->server ? paths_of_server(user->server) : paths_of_client(user->client);
}

void
udpai_certificate_user_done(udpai_certificate_user *user)
{
    udpai_trust_store_unref(user->trust);
    udpa_error_unref(user->refused);
    udpai_free((char *)(uintptr_t)user->name);
    udpai_free(user->files);
}

/* NULL without memory. */
static char *
name_files(const udpai_certificate_user *user)
{
    udpai_strbuf text = {0};
    const udpai_tls_paths paths = paths_of(user);
    const char *const all[] = {paths.certificate, paths.private_key, paths.authorities,
                               paths.revocations};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        udpai_strbuf_printf(&text, "%s\n", all[i] ? all[i] : "");
    return udpai_strbuf_take(&text);
}

udpa_err
udpai_certificates_add(udpai_certificates *certificates, const udpai_certificate_user *user)
{
    udpai_certificate_user made = *user;
    made.name = udpai_strdup(user->name);
    made.files = name_files(user);
    if (made.name && made.files && udpai_vector_push(&certificates->users, made))
        return UDPA_OK;
    udpai_certificate_user_done(&made);
    return UDPA_ERR_NOMEM;
}

void
udpai_certificates_done(udpai_certificates *certificates)
{
    for (size_t i = 0; i < certificates->users.n; i++)
        udpai_certificate_user_done(&certificates->users.items[i]);
    udpai_vector_done(&certificates->users);
}

udpa_err
udpai_certificates_watch(udpai_certificates *certificates, udpai_file_set *set, size_t first_group)
{
    udpa_err err = UDPA_OK;
    if (certificates->last_group < first_group)
        certificates->last_group = first_group - 1;
    for (size_t i = 0; i < certificates->users.n && err == UDPA_OK; i++) {
        udpai_certificate_user *user = &certificates->users.items[i];
        const udpai_tls_paths paths = paths_of(user);
        if (user->group == 0)
            user->group = ++certificates->last_group;
        const char *const all[] = {paths.certificate, paths.private_key, paths.authorities,
                                   paths.revocations};
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(all) && err == UDPA_OK; k++)
            err = udpai_file_set_add(set, all[k], user->group);
    }
    return err;
}

bool
udpai_certificates_find(const udpai_certificates *certificates, size_t group, size_t *ret_index)
{
    for (size_t i = 0; i < certificates->users.n; i++)
        if (certificates->users.items[i].group == group) {
            *ret_index = i;
            return true;
        }
    return false;
}

#define STAY "%s %s: the certificates stay as they were: %s"
#define READ_AGAIN "%s %s: certificates were read again"

static bool
is_reported(const udpai_certificate_user *user, const udpa_error *error)
{
    return user->refused &&
           strcmp(udpa_error_message(user->refused), udpa_error_message(error)) == 0;
}

static void
note(udpa_endpoint *endpoint, const udpai_certificate_user *user, const udpa_error *error)
{
    const udpai_log_field about[] = {{UDPAI_LOG_NAME, udpai_str_from(user->name)},
                                     {UDPAI_LOG_CODE, udpai_log_code(error)}};
    if (error)
        udpai_endpoint_note_about(endpoint, UDPAI_NOTE_RELOAD_FAILED, UDPA_LOG_ERROR, about,
                                  UDPAI_ARRAY_LEN(about), STAY, user->kind, user->name,
                                  udpa_error_message(error));
    else
        udpai_endpoint_note_about(endpoint, UDPAI_NOTE_RELOADED, UDPA_LOG_INFO, about,
                                  UDPAI_ARRAY_LEN(about), READ_AGAIN, user->kind, user->name);
}

static void
report(udpa_endpoint *endpoint, const udpai_certificate_user *user, const udpa_error *error)
{
    bool is_news = error ? !is_reported(user, error) : user->is_read;
    if (!is_news)
        return;
    note(endpoint, user, error);
    if (error)
        udpai_log(UDPA_LOG_ERROR, LOG, STAY, user->kind, user->name, udpa_error_message(error));
    else
        udpai_log(UDPA_LOG_INFO, LOG, READ_AGAIN, user->kind, user->name);
}

bool
udpai_certificates_reload(udpai_certificates *certificates, size_t index)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_certificate_user *user = &certificates->users.items[index];
    udpai_tls_files files = {0};
    const udpai_tls_paths paths = paths_of(user);
    udpa_err err = udpai_tls_files_read(&files, &paths, now_s(), &error);
    if (err == UDPA_OK)
        err = user->replace(user->userdata, user->index, &files, &error);
    report(certificates->problems ? certificates->problems->endpoint : NULL, user, error);
    udpa_error_unref(user->refused);
    user->refused = UDPAI_TAKE(error);
    if (err == UDPA_OK) {
        user->is_read = true;
        user->not_after_s = files.not_after_s;
        udpai_trust_store_unref(user->trust);
        user->trust = UDPAI_TAKE(files.trust);
    }
    udpai_tls_files_done(&files);
    return err == UDPA_OK;
}

void
udpai_certificates_report_again(udpai_certificates *certificates)
{
    for (size_t i = 0; i < certificates->users.n; i++)
        udpa_error_unref(UDPAI_TAKE(certificates->users.items[i].refused));
}

/* ---- their ends ---- */

typedef UDPAI_VECTOR(char *) text_list;

static void
add_text(text_list *texts, udpai_strbuf *text)
{
    char *taken = udpai_strbuf_take(text);
    if (!taken || !udpai_vector_push(texts, taken))
        udpai_free(taken);
}

static void
find_end(const udpai_certificate_user *user, int64_t now, text_list *texts)
{
    char room[32] = "?";
    struct tm tm;
    time_t end = (time_t)user->not_after_s;
    udpai_strbuf text = {0};
    if (!user->is_read || user->not_after_s == INT64_MAX || user->not_after_s - now > SOON_S)
        return;
    if (gmtime_r(&end, &tm))
        strftime(room, sizeof(room), "%Y-%m-%d %H:%M:%S UTC", &tm);
    udpai_strbuf_printf(&text, "%s %s: our certificate, %s, %s on %s: put a new one in its place",
                        user->kind, user->name, paths_of(user).certificate,
                        user->not_after_s < now ? "has expired" : "expires", room);
    add_text(texts, &text);
}

static void
find_late_list(const udpai_certificate_user *user, int64_t now, text_list *texts)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *late = NULL;
    udpai_strbuf text = {0};
    if (!user->trust || udpai_trust_store_check_time(user->trust, now, &late) == UDPA_OK || !late)
        return;
    udpai_strbuf_printf(&text, "%s %s: %s", user->kind, user->name, udpa_error_message(late));
    add_text(texts, &text);
}

static void
add_refused(const udpai_certificate_user *user, text_list *texts)
{
    udpai_strbuf text = {0};
    if (!user->refused)
        return;
    udpai_strbuf_printf(&text, STAY, user->kind, user->name, udpa_error_message(user->refused));
    add_text(texts, &text);
}

void
udpai_certificates_look(udpai_certificates *certificates, int64_t now)
{
    text_list texts = {0};
    for (size_t i = 0; i < certificates->users.n; i++) {
        find_end(&certificates->users.items[i], now, &texts);
        find_late_list(&certificates->users.items[i], now, &texts);
    }
    size_t n_ends = texts.n; /* the others were logged when they were met */
    for (size_t i = 0; i < certificates->users.n; i++)
        add_refused(&certificates->users.items[i], &texts);
    udpai_problems_set(certificates->problems, UDPAI_FOUND_IN_CERTIFICATES,
                       (const char *const *)texts.items, texts.n);
    bool is_time = now - certificates->warned_s >= AGAIN_S || now < certificates->warned_s;
    for (size_t i = 0; i < texts.n; i++) {
        if (is_time && i < n_ends) {
            udpai_log(UDPA_LOG_WARNING, LOG, "%s", texts.items[i]);
            udpai_endpoint_note_about(certificates->problems->endpoint,
                                      UDPAI_NOTE_CERTIFICATE_EXPIRES, UDPA_LOG_WARNING, NULL, 0,
                                      "%s", texts.items[i]);
        }
        udpai_free(texts.items[i]);
    }
    if (is_time && n_ends)
        certificates->warned_s = now;
    udpai_vector_done(&texts);
}
