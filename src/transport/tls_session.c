/* SPDX-License-Identifier: Apache-2.0 */
/* One connection's TLS. OpenSSL reads and writes by a BIO of ours, which takes from what has just
 * come, and puts into what is to be sent: so an idle connection keeps no buffers. */
#include <openssl/err.h>
#include <pthread.h>
#include <strings.h>

#include "base/alloc.h"
#include "transport/tls.h"

#define PIECE_BYTES 16384 /* a record's */

struct udpai_tls_session {
    SSL *ssl;
    udpai_str in;      /* what has come, while it is taken */
    udpai_strbuf *out; /* while something is done */
    udpa_error *why;   /* the peer's certificate was not accepted */
};

static BIO_METHOD *bio_method;
static pthread_once_t bio_method_once = PTHREAD_ONCE_INIT;

static int
read_bio(BIO *bio, char *room, int size)
{
    udpai_tls_session *self = BIO_get_data(bio);
    size_t n = udpai_min_size(self->in.len, size > 0 ? (size_t)size : 0);
    BIO_clear_retry_flags(bio);
    if (n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(room, self->in.data, n);
    self->in = (udpai_str){self->in.data + n, self->in.len - n};
    return (int)n;
}

static int
write_bio(BIO *bio, const char *bytes, int size)
{
    udpai_tls_session *self = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!self->out || size < 0)
        return -1;
    udpai_strbuf_append(self->out, bytes, (size_t)size);
    return udpai_strbuf_failed(self->out) ? -1 : size;
}

static long
control_bio(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static void
make_bio_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "udpa");
    if (method && BIO_meth_set_read(method, read_bio) && BIO_meth_set_write(method, write_bio) &&
        BIO_meth_set_ctrl(method, control_bio))
        bio_method = method;
    else
        BIO_meth_free(method);
}

static BIO *
new_bio(udpai_tls_session *self)
{
    (void)pthread_once(&bio_method_once, make_bio_method);
    BIO *bio = bio_method ? BIO_new(bio_method) : NULL;
    if (!bio)
        return NULL;
    BIO_set_data(bio, self);
    BIO_set_init(bio, 1);
    return bio;
}

udpai_tls_session *
udpai_tls_session_new(SSL_CTX *context)
{
    udpai_tls_session *self = udpai_alloc(sizeof(*self));
    BIO *bio = self ? new_bio(self) : NULL;
    if (self)
        self->ssl = bio ? SSL_new(context) : NULL;
    if (!self || !self->ssl) {
        BIO_free(bio);
        return udpai_tls_session_free(self);
    }
    SSL_set_bio(self->ssl, bio, bio); /* takes it */
    SSL_set_accept_state(self->ssl);
    SSL_set_app_data(self->ssl, self);
    return self;
}

udpai_tls_session *
udpai_tls_session_free(udpai_tls_session *self)
{
    if (!self)
        return NULL;
    SSL_free(self->ssl);
    udpa_error_unref(self->why);
    udpai_free(self);
    return NULL;
}

/* 0: no more for now; below: for ever. */
static int
read_piece(udpai_tls_session *self, udpai_strbuf *plain)
{
    void *room = udpai_strbuf_extend(plain, PIECE_BYTES);
    if (!room)
        return -1;
    plain->len -= PIECE_BYTES;
    int n = SSL_read(self->ssl, room, PIECE_BYTES);
    if (n > 0) {
        plain->len += (size_t)n;
        return n;
    }
    return SSL_get_error(self->ssl, n) == SSL_ERROR_WANT_READ ? 0 : -1;
}

bool
udpai_tls_session_take(udpai_tls_session *self,
                       udpai_str bytes,
                       udpai_strbuf *plain,
                       udpai_strbuf *out)
{
    int n;
    self->in = bytes;
    self->out = out;
    ERR_clear_error();
    do
        n = read_piece(self, plain);
    while (n > 0);
    ERR_clear_error();
    self->in = (udpai_str){0};
    self->out = NULL;
    return n == 0;
}

bool
udpai_tls_session_give(udpai_tls_session *self, udpai_str plain, udpai_strbuf *out)
{
    bool is_good = true;
    self->out = out;
    ERR_clear_error();
    while (is_good && plain.len) {
        int n = SSL_write(self->ssl, plain.data, (int)udpai_min_size(plain.len, PIECE_BYTES));
        is_good = n > 0;
        if (is_good)
            plain = (udpai_str){plain.data + n, plain.len - (size_t)n};
    }
    ERR_clear_error();
    self->out = NULL;
    return is_good;
}

void
udpai_tls_session_close(udpai_tls_session *self, udpai_strbuf *out)
{
    self->out = out;
    ERR_clear_error();
    if (SSL_is_init_finished(self->ssl))
        (void)SSL_shutdown(self->ssl);
    ERR_clear_error();
    self->out = NULL;
}

void
udpai_tls_session_set_why(SSL *ssl, udpa_error *why)
{
    udpai_tls_session *self = SSL_get_app_data(ssl);
    udpa_error_unref(self->why);
    self->why = why;
}

const udpa_error *
udpai_tls_session_why(const udpai_tls_session *self)
{
    return self->why;
}

bool
udpai_tls_session_is_open(const udpai_tls_session *self)
{
    return SSL_is_init_finished(self->ssl);
}

static udpai_str
protocol_of(const udpai_tls_session *self)
{
    const unsigned char *name;
    unsigned len;
    SSL_get0_alpn_selected(self->ssl, &name, &len);
    return (udpai_str){(const char *)name, len};
}

bool
udpai_tls_session_is_second(const udpai_tls_session *self)
{
    return udpai_str_eq(protocol_of(self), UDPAI_STR("h2"));
}

bool
udpai_tls_session_is_first(const udpai_tls_session *self)
{
    return udpai_str_eq(protocol_of(self), UDPAI_STR("http/1.1"));
}

/* Those that are offered (tls.c), as OpenSSL calls them, and as standards do. */
static const char *
group_of(SSL *ssl)
{
    static const char *const names[][2] = {
        {"x25519", "X25519"},
        {"secp256r1", "P-256"},
        {"secp384r1", "P-384"},
        {"X25519MLKEM768", "X25519MLKEM768"},
    };
    const char *name = SSL_group_to_name(ssl, (int)SSL_get_negotiated_group(ssl));
    for (size_t i = 0; name && i < UDPAI_ARRAY_LEN(names); i++)
        if (strcasecmp(name, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

udpai_tls_agreed
udpai_tls_session_agreed(const udpai_tls_session *self)
{
    return (udpai_tls_agreed){
        .version = SSL_get_version(self->ssl),
        .group = group_of(self->ssl),
        .cipher = SSL_CIPHER_get_name(SSL_get_current_cipher(self->ssl)),
    };
}

SSL *
udpai_tls_session_ssl(const udpai_tls_session *self)
{
    return self->ssl;
}
