/* SPDX-License-Identifier: Apache-2.0 */
/* One request as libcurl needs it, and what its answer means. The server may send anything: what it
 * sends is bounded, headers too, nothing is unpacked, and no redirect is followed. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "loop/clock.h"
#include "transport/http/curl_client_internal.h"
#include "transport/tls_identity.h"

#define REQUEST "envoy.service.discovery.v3.DiscoveryRequest"
#define RESPONSE "envoy.service.discovery.v3.DiscoveryResponse"
#define CONNECT_TIMEOUT_MS 10000
#define HEADERS_MAX ((size_t)64 * 1024)
#define WORDS_MAX 1000 /* of an error's body */
#define HELD_HEADER UDPAI_STR("preference-applied:")
#define TRACE_HEADER UDPAI_STR("traceparent:")

/* While it is under way. */
typedef struct exchange {
    udpai_curl_client *client;
    udpai_http_request *request;
    CURL *easy;
    struct curl_slist *headers, *connect_to;
    udpai_http_tls *tls; /* NULL: plaintext */
    udpa_bytes *json;    /* what is asked */
    udpai_strbuf body;
    size_t n_header_bytes;
    bool is_too_large;
    udpai_chain *chain;       /* of the server, when it was reached; NULL: none */
    udpai_trust_store *store; /* that it was looked at with */
    int64_t until_s;          /* and by which it is good so long */
    udpa_error *odd_server; /* with a certificate that does not have a clear name, or is not good */
    char words[CURL_ERROR_SIZE];
} exchange;

/* ---- what comes ---- */

static long
status_of(const exchange *self)
{
    long status = 0;
    (void)curl_easy_getinfo(self->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* Of an error, the first words are enough. */
static size_t
on_body(char *data, size_t one, size_t n, void *userdata)
{
    exchange *self = userdata;
    (void)one; /* is 1 */
    bool is_answer = status_of(self) == 200;
    size_t max = is_answer ? self->request->max_bytes : WORDS_MAX;
    size_t taken = udpai_min_size(n, max - self->body.len);
    udpai_strbuf_str(&self->body, (udpai_str){data, taken});
    self->is_too_large = is_answer && taken < n;
    return self->is_too_large || udpai_strbuf_failed(&self->body) ? 0 : n;
}

/* Cuts its name off the header, if it has this one; what remains is its value. */
static bool
take_name(udpai_str *header, udpai_str name)
{
    if (header->len < name.len || strncasecmp(header->data, name.data, name.len) != 0)
        return false;
    const char *begin = header->data + name.len, *end = header->data + header->len;
    while (begin < end && memchr(" \t", *begin, 2))
        begin++;
    while (begin < end && memchr(" \t\r\n", end[-1], 4))
        end--;
    *header = (udpai_str){begin, (size_t)(end - begin)};
    return true;
}

static size_t
on_header(char *data, size_t one, size_t n, void *userdata)
{
    exchange *self = userdata;
    udpai_str header = {data, n};
    (void)one;
    self->n_header_bytes += n;
    self->is_too_large = self->n_header_bytes > HEADERS_MAX;
    if (take_name(&header, HELD_HEADER))
        self->request->server_holds |= memmem(header.data, header.len, "wait", 4) != NULL;
    else if (take_name(&header, TRACE_HEADER))
        (void)udpai_trace_read(header, &self->request->trace);
    return self->is_too_large ? 0 : n;
}

/* By what is trusted now. */
static bool
is_good(exchange *self)
{
    udpai_trust_answer answer;
    udpai_trust_question question = {.chain = self->chain, .is_server = true};
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    udpai_http_tls *tls = udpai_curl_client_tls(self->client);
    question.now_s = udpai_wall_us() / 1000000;
    udpai_trust_store *store = udpai_trust_store_ref(tls->files.trust);
    udpai_http_tls_unref(tls);
    if (!store || (store == self->store && question.now_s <= self->until_s)) {
        udpai_trust_store_unref(store);
        return true;
    }
    udpai_trust_store_unref(self->store);
    self->store = store;
    udpa_err err = udpai_trust_store_verify(store, &question, &answer, &why);
    if (err == UDPA_OK)
        self->until_s = answer.until_s;
    else if (!self->odd_server)
        self->odd_server = udpa_error_new(err, why, "%s", self->client->address);
    return err == UDPA_OK;
}

bool
udpai_curl_request_is_trusted(const udpai_http_request *request)
{
    exchange *self = request->state;
    return !self->chain || is_good(self);
}

static void
take_chain(exchange *self, SSL *ssl)
{
    self->chain = udpai_chain_unref(self->chain); /* of a connection that broke at once */
    self->store = udpai_trust_store_unref(self->store);
    (void)udpai_ssl_chain(ssl, "the server's certificate", &self->chain, &self->odd_server);
}

/* The connection is established: to which server? It may be one that has been there for long. */
static int
on_connected(void *userdata, char *peer, char *own, int peer_port, int own_port)
{
    exchange *self = userdata;
    struct curl_tlssessioninfo *session = NULL;
    (void)peer, (void)own, (void)peer_port, (void)own_port;
    if (curl_easy_getinfo(self->easy, CURLINFO_TLS_SSL_PTR, &session) == CURLE_OK && session &&
        session->backend == CURLSSLBACKEND_OPENSSL && session->internals)
        take_chain(self, session->internals);
    if (self->chain && !is_good(self))
        return CURL_PREREQFUNC_ABORT;
    if (self->chain && !self->request->path)
        (void)udpai_chain_identity(self->chain, &self->request->identity, &self->odd_server);
    return CURL_PREREQFUNC_OK;
}

/* ---- asking ---- */

static udpa_err
make_json(exchange *self, udpa_error **ret_error)
{
    const udpai_json_codec *codec = &self->client->codec;
    return codec->to_json(codec->userdata, REQUEST, udpai_bytes_view(self->request->message),
                          &self->json, ret_error);
}

static bool
add_header(exchange *self, const char *header)
{
    struct curl_slist *longer = curl_slist_append(self->headers, header);
    self->headers = longer ? longer : self->headers;
    return longer != NULL;
}

/* A server that can hold a request is asked to, but for less time than is waited for its answer. */
static bool
add_headers(exchange *self)
{
    char prefer[64];
    unsigned long long wait_s = self->request->timeout_ms / 5 * 4 / 1000;
    snprintf(prefer, sizeof(prefer), "Prefer: wait=%llu", wait_s);
    return add_header(self, "Content-Type: application/json") &&
           add_header(self, "Accept: application/json") && add_header(self, "Expect:") &&
           (wait_s == 0 || add_header(self, prefer));
}

#define SET(option, value)                                                                         \
    (is_set = is_set && curl_easy_setopt(self->easy, (option), (value)) == CURLE_OK)

/* The authorities of the file, and no others: those of the system are not asked. */
static bool
set_tls(exchange *self)
{
    self->tls = udpai_curl_client_tls(self->client);
    const udpai_tls_files *files = &self->tls->files;
    bool is_set = true;
    struct curl_blob blob = {files->authorities, strlen(files->authorities), CURL_BLOB_NOCOPY};
    SET(CURLOPT_CAINFO, NULL);
    SET(CURLOPT_CAPATH, NULL);
    SET(CURLOPT_CAINFO_BLOB, &blob);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_SSL_SESSIONID_CACHE, 0L);
    if (!files->certificate)
        return is_set;
    blob = (struct curl_blob){files->certificate, strlen(files->certificate), CURL_BLOB_NOCOPY};
    SET(CURLOPT_SSLCERT_BLOB, &blob);
    blob = (struct curl_blob){files->private_key, strlen(files->private_key), CURL_BLOB_NOCOPY};
    SET(CURLOPT_SSLKEY_BLOB, &blob);
    return is_set;
}

/* No proxy that the environment may name, either: it would see and could change what is asked. */
static bool
set_connection(exchange *self)
{
    const udpai_curl_client *client = self->client;
    uint64_t timeout_ms = self->request->timeout_ms;
    uint64_t connect_ms = timeout_ms < CONNECT_TIMEOUT_MS ? timeout_ms : CONNECT_TIMEOUT_MS;
    bool is_set = true;
    SET(CURLOPT_PROTOCOLS_STR, client->is_secure ? "https" : "http");
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_QUICK_EXIT, 1L); /* nobody waits for a name that is looked up for nobody */
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    SET(CURLOPT_ERRORBUFFER, self->words);
    SET(CURLOPT_PREREQFUNCTION, on_connected);
    SET(CURLOPT_PREREQDATA, self);
    if (client->connect_to) {
        self->connect_to = curl_slist_append(NULL, client->connect_to);
        is_set = is_set && self->connect_to;
        SET(CURLOPT_CONNECT_TO, self->connect_to);
    }
    return is_set && (!client->is_secure || set_tls(self));
}

static bool
set_request(exchange *self)
{
    bool is_set = add_headers(self);
    SET(CURLOPT_HTTPHEADER, self->headers);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)udpa_bytes_size(self->json));
    SET(CURLOPT_POSTFIELDS, udpa_bytes_data(self->json));
    SET(CURLOPT_USERAGENT, "udpa");
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, self);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, self);
    return is_set;
}

static bool
set_probe(exchange *self)
{
    bool is_set = true;
    SET(CURLOPT_CONNECT_ONLY, 1L);
    return is_set;
}

static udpa_err
prepare(exchange *self, udpa_error **ret_error)
{
    const char *path = self->request->path;
    char url[512];
    bool is_set = true;
    udpa_err err = path ? make_json(self, ret_error) : UDPA_OK;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    snprintf(url, sizeof(url), "%s%s", self->client->url, path ? path : "/");
    self->easy = curl_easy_init();
    if (!self->easy)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    SET(CURLOPT_URL, url);
    SET(CURLOPT_PRIVATE, self->request);
    is_set = is_set && set_connection(self);
    is_set = is_set && (path ? set_request(self) : set_probe(self));
    if (is_set && curl_multi_add_handle(self->client->multi, self->easy) == CURLM_OK)
        return UDPA_OK;
    curl_easy_cleanup(UDPAI_TAKE(self->easy));
    return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

/* ---- what it comes to ---- */

/* A server that requires another certificate may break off before its alert is read. */
static const char *
hint_of_end(const exchange *self, CURLcode code)
{
    long n_connects = 0;
    (void)curl_easy_getinfo(self->easy, CURLINFO_NUM_CONNECTS, &n_connects);
    if (!self->tls)
        return code == CURLE_GOT_NOTHING ? "; does it want TLS?" : "";
    if (n_connects == 0) /* it has been content with this connection before */
        return "";
    return self->tls->files.certificate
               ? "; does it refuse our certificate?"
               : "; does it want a certificate of ours? Then set certificate_file";
}

static const char *
hint_of(const exchange *self, CURLcode code)
{
    static const struct {
        const char *words, *hint;
    } hints[] = {
        {"self-signed", "; is it signed by another CA than those of ca_file?"},
        {"issuer certificate", "; is it signed by another CA than those of ca_file?"},
        {"no alternative certificate", "; set server_name to a name that the certificate has"},
        {"does not match target host", "; set server_name to a name that the certificate has"},
        {"wrong version number", "; does it listen without TLS?"},
        {"certificate required", "; it wants a certificate of ours: set certificate_file"},
        {"unknown ca", "; it does not trust the CA that signed our certificate"},
        {"Could not resolve", "; is the name right?"},
        {"HTTP/0.9", "; does it speak gRPC there? Then it is a source of kind xds"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(hints); i++)
        if (strstr(self->words, hints[i].words))
            return hints[i].hint;
    if (code == CURLE_COULDNT_CONNECT)
        return "; does it run, and listen there?";
    bool has_ended =
        code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR;
    return has_ended ? hint_of_end(self, code) : "";
}

/* libcurl keeps the first thing that went amiss, which may be no more than a remark. */
static bool
is_remark(const char *words)
{
    return strstr(words, "getpeername") || strstr(words, "getsockname");
}

static udpa_error *
error_of_curl(const exchange *self, CURLcode code)
{
    const char *path = self->request->path, *words = self->words;
    long number = 0;
    if (self->is_too_large)
        return udpa_error_new(UDPA_ERR_LIMIT, NULL,
                              "%s%s: the answer is larger than %zu bytes, which is the limit "
                              "(limits.max_message_bytes_from_sources)",
                              self->client->address, path, self->request->max_bytes);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return udpa_error_new(UDPA_ERR_DEADLINE, NULL, "%s%s: no answer within %llu ms",
                              self->client->address, path ? path : "",
                              (unsigned long long)self->request->timeout_ms);
    (void)curl_easy_getinfo(self->easy, CURLINFO_OS_ERRNO, &number);
    if (code == CURLE_COULDNT_CONNECT && number)
        words = strerror((int)number);
    else if (!*words || is_remark(words))
        words = curl_easy_strerror(code);
    return path ? udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "%s%s cannot be asked: %s%s",
                                 self->client->address, path, words, hint_of(self, code))
                : udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "cannot connect to %s: %s%s",
                                 self->client->address, words, hint_of(self, code));
}

/* Text of a peer's for a log: one line. */
static udpai_str
printable_of(udpai_strbuf *body)
{
    for (size_t i = 0; i < body->len; i++)
        if ((unsigned char)body->data[i] < ' ' || body->data[i] == 0x7f)
            body->data[i] = ' ';
    while (body->len && body->data[body->len - 1] == ' ')
        body->len--;
    udpai_str text = udpai_utf8_cut(udpai_strbuf_view(body), UDPAI_SHOWN_MAX);
    return udpai_utf8_valid(text) ? text : UDPAI_STR("(no text)");
}

static udpa_error *
error_of_status(exchange *self, long status)
{
    udpai_str words = printable_of(&self->body);
    const char *hint = status == 404 ? "; is this where it serves xDS by REST?" : "";
    return udpa_error_new(status == 401 || status == 403 ? UDPA_ERR_DENIED : UDPA_ERR_UNAVAILABLE,
                          NULL, "%s%s is answered with %ld%s%.*s%s", self->client->address,
                          self->request->path, status, words.len ? ": " : "", (int)words.len,
                          words.data ? words.data : "", hint);
}

static udpa_error *
take_answer(exchange *self)
{
    const udpai_json_codec *codec = &self->client->codec;
    udpa_error *cause = NULL, *error = NULL;
    udpai_str json = self->body.data ? udpai_strbuf_view(&self->body) : (udpai_str){"", 0};
    udpa_err err = codec->to_bytes(codec->userdata, RESPONSE, json, &self->request->answer, &cause);
    if (err == UDPA_OK)
        return NULL;
    (void)udpai_fail_because(&error, err, cause, "%s%s: the answer cannot be used",
                             self->client->address, self->request->path);
    return error;
}

static udpa_error *
judge(exchange *self, CURLcode code)
{
    if (atomic_load(&self->request->is_cancelled))
        return udpa_error_new(UDPA_ERR_CANCELLED, NULL, "no caller waits for it");
    if (udpai_strbuf_failed(&self->body))
        return udpa_error_new(UDPA_ERR_NOMEM, NULL, "%s", udpa_err_text(UDPA_ERR_NOMEM));
    if (code == CURLE_ABORTED_BY_CALLBACK && self->odd_server)
        return udpa_error_ref(self->odd_server);
    if (code != CURLE_OK)
        return error_of_curl(self, code);
    if (!self->request->path)
        return udpa_error_ref(self->odd_server);
    long status = status_of(self);
    if (status == 304)
        return NULL;
    return status == 200 ? take_answer(self) : error_of_status(self, status);
}

/* ---- begin and end ---- */

static void
free_exchange(exchange *self)
{
    curl_slist_free_all(self->headers);
    curl_slist_free_all(self->connect_to);
    udpa_bytes_unref(self->json);
    udpai_chain_unref(self->chain);
    udpai_trust_store_unref(self->store);
    udpa_error_unref(self->odd_server);
    udpai_http_tls_unref(self->tls);
    udpai_strbuf_done(&self->body);
    udpai_free(self);
}

udpai_http_request *
udpai_curl_request_of(CURL *easy)
{
    char *request = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &request);
    return (udpai_http_request *)(void *)request;
}

void
udpai_curl_request_begin(udpai_curl_client *client, udpai_http_request *request)
{
    exchange *self = udpai_alloc(sizeof(*self));
    udpa_err err = self ? UDPA_OK : udpai_fail_code(&request->error, UDPA_ERR_NOMEM);
    if (self) {
        self->client = client;
        self->request = request;
        err = prepare(self, &request->error);
    }
    if (err == UDPA_OK) {
        request->state = self;
        udpai_list_append(&client->active, &request->node);
        return;
    }
    if (self)
        free_exchange(self);
    request->over(request);
}

void
udpai_curl_request_end(udpai_curl_client *client, udpai_http_request *request, CURLcode code)
{
    exchange *self = request->state;
    udpai_list_remove(&request->node);
    request->error = judge(self, code);
    curl_multi_remove_handle(client->multi, self->easy);
    curl_easy_cleanup(self->easy);
    free_exchange(self);
    request->over(request);
}
