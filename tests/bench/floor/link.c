/* SPDX-License-Identifier: Apache-2.0 */
#include "floor/link.h"

#include <errno.h>
#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#define PLAIN_MOST (1024 * 1024)
#define TLS_MOST (64 * 1024)

/* ---- TLS ---- */

static int
choose_h2(SSL *ssl,
          const unsigned char **ret_name,
          unsigned char *ret_len,
          const unsigned char *offered,
          unsigned n_offered,
          void *userdata)
{
    static const unsigned char h2[] = "\x02h2";
    unsigned char *name;
    if (SSL_select_next_proto(&name, ret_len, h2, sizeof(h2) - 1, offered, n_offered) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret_name = name;
    return SSL_TLSEXT_ERR_OK;
}

static void
read_files(SSL_CTX *tls, const peer_options *options)
{
    const char *reason = "";
    if (SSL_CTX_use_certificate_chain_file(tls, options->certificate) != 1)
        reason = options->certificate;
    else if (SSL_CTX_use_PrivateKey_file(tls, options->private_key, SSL_FILETYPE_PEM) != 1)
        reason = options->private_key;
    else if (SSL_CTX_load_verify_locations(tls, options->authorities, NULL) != 1)
        reason = options->authorities;
    else
        return;
    peer_fail("%s: cannot be used for TLS: %s", reason, ERR_reason_error_string(ERR_get_error()));
}

SSL_CTX *
floor_tls_new(const peer_options *options)
{
    if (!options->certificate)
        return NULL;
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    if (!tls)
        peer_fail("no memory for TLS");
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(tls, 1);
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(tls, choose_h2, NULL);
    read_files(tls, options);
    return tls;
}

/* true: it is only blocked. */
static bool
take_tls_result(floor_link *link, int result)
{
    int error = SSL_get_error(link->ssl, result);
    ERR_clear_error();
    link->wants_out = error == SSL_ERROR_WANT_WRITE;
    link->is_broken = error != SSL_ERROR_WANT_WRITE && error != SSL_ERROR_WANT_READ;
    return !link->is_broken;
}

/* ---- the link ---- */

void
floor_link_open(floor_link *link, int fd, SSL_CTX *tls)
{
    *link = (floor_link){.fd = fd};
    if (!tls)
        return;
    link->ssl = SSL_new(tls);
    if (!link->ssl || SSL_set_fd(link->ssl, fd) != 1)
        peer_fail("no memory for a connection with TLS");
    SSL_set_accept_state(link->ssl);
}

void
floor_link_close(floor_link *link)
{
    SSL_free(link->ssl);
    udpai_strbuf_done(&link->rest);
    close(link->fd);
}

/* ---- reading ---- */

static size_t
read_tls(floor_link *link, uint8_t *room, size_t size)
{
    int n = SSL_read(link->ssl, room, (int)size);
    if (n > 0)
        return (size_t)n;
    take_tls_result(link, n);
    return 0;
}

size_t
floor_link_read(floor_link *link, uint8_t *room, size_t size)
{
    if (link->ssl)
        return read_tls(link, room, size);
    ssize_t n = recv(link->fd, room, size, 0);
    if (n > 0)
        return (size_t)n;
    link->is_broken = n == 0 || (errno != EAGAIN && errno != EINTR);
    return 0;
}

bool
floor_link_has_more(const floor_link *link)
{
    return link->ssl && SSL_has_pending(link->ssl);
}

/* ---- writing ---- */

size_t
floor_link_most(const floor_link *link)
{
    return link->ssl ? TLS_MOST : PLAIN_MOST;
}

static size_t
write_plain(floor_link *link, const struct iovec *parts, size_t n_parts)
{
    ssize_t n = writev(link->fd, parts, (int)n_parts);
    if (n >= 0)
        return (size_t)n;
    link->is_broken = errno != EAGAIN && errno != EINTR;
    return 0;
}

/* How much TLS has written of it. */
static size_t
write_bytes(floor_link *link, const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        int n = SSL_write(link->ssl, bytes + at, (int)(size - at));
        if (n <= 0) {
            take_tls_result(link, n);
            break;
        }
        at += (size_t)n;
    }
    return at;
}

/* TLS wants to see the same bytes again, so what it was shown is taken. */
static size_t
write_tls(floor_link *link, const struct iovec *parts, size_t n_parts)
{
    static udpai_strbuf joined;
    joined.len = 0;
    for (size_t i = 0; i < n_parts; i++)
        udpai_strbuf_append(&joined, parts[i].iov_base, parts[i].iov_len);
    if (udpai_strbuf_failed(&joined))
        peer_fail("no memory to write");
    size_t n = write_bytes(link, joined.data, joined.len);
    udpai_strbuf_append(&link->rest, joined.data + n, joined.len - n);
    return joined.len;
}

bool
floor_link_flush(floor_link *link)
{
    udpai_strbuf *rest = &link->rest;
    if (rest->len == 0)
        return !link->is_broken;
    size_t n = write_bytes(link, rest->data, rest->len);
    memmove(rest->data, rest->data + n, rest->len - n);
    rest->len -= n;
    if (rest->len > 0)
        return false;
    udpai_strbuf_done(rest);
    return true;
}

size_t
floor_link_write(floor_link *link, const struct iovec *parts, size_t n_parts)
{
    if (!link->ssl)
        return write_plain(link, parts, n_parts);
    return floor_link_flush(link) ? write_tls(link, parts, n_parts) : 0;
}
