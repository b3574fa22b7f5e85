/* SPDX-License-Identifier: Apache-2.0 */
/* TLS with a client of OpenSSL's, in memory: however the bytes are cut; with and without a
 * certificate of the client; and what makes no sense. */
#include "transport/tls.h"
#include "transport/tls_crypto.h"
#include "transport/tls_identity.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/alloc.h"
#include "certificates.h"
#include "tests/unit/certs/made_certificate.h"

struct world {
    char *directory;
    udpai_tls_files ours, client, strange;
};

static int
begin(void **state)
{
    struct world *world = udpai_alloc(sizeof(*world));
    *state = world;
    world->directory = certificates_begin();
    if (!world->directory)
        return 0;
    certificates_issue(&world->ours, world->directory, "ca", "ours", (const char *const[]){NULL});
    certificates_issue(&world->client, world->directory, "ca", "client",
                       (const char *const[]){NULL});
    certificates_issue(&world->strange, world->directory, "other", "strange",
                       (const char *const[]){NULL});
    return 0;
}

static int
end(void **state)
{
    struct world *world = *state;
    if (world->directory) {
        certificates_end(world->directory);
        udpai_tls_files_done(&world->ours);
        udpai_tls_files_done(&world->client);
        udpai_tls_files_done(&world->strange);
    }
    udpai_free(world);
    return 0;
}

/* ---- two ends ---- */

typedef struct two_ends {
    SSL_CTX *context, *client_context;
    SSL *client;
    udpai_tls_session *tls;
    udpai_strbuf plain, out; /* ours */
    size_t step;
    bool is_done; /* ours has ended */
} two_ends;

/* A client's context is made as ours is, its rules apart. */
static SSL_CTX *
client_context(const udpai_tls_files *files)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    assert_non_null(context);
    if (!files)
        return context;
    BIO *bio = BIO_new_mem_buf(files->certificate, -1);
    X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO *key_bio = BIO_new_mem_buf(files->private_key, -1);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
    assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(bio);
    BIO_free(key_bio);
    return context;
}

static void
open_pair_with(two_ends *self,
               const udpai_tls_options *options,
               const udpai_tls_files *client,
               const char *alpn)
{
    *self = (two_ends){.step = 16384};
    assert_ok(udpai_tls_context(&self->context, options, NULL));
    self->tls = udpai_tls_session_new(self->context);
    self->client_context = client_context(client);
    self->client = SSL_new(self->client_context);
    assert_true(self->tls && self->client);
    SSL_set_bio(self->client, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(self->client);
    if (alpn)
        assert_ok(
            SSL_set_alpn_protos(self->client, (const unsigned char *)alpn, (unsigned)strlen(alpn)));
}

static void
open_pair(two_ends *self,
          const struct world *world,
          bool is_optional,
          const udpai_tls_files *client,
          const char *alpn)
{
    const udpai_tls_options options = {.files = &world->ours, .is_optional = is_optional};
    open_pair_with(self, &options, client, alpn);
}

static void
close_pair(two_ends *self)
{
    udpai_tls_session_free(self->tls);
    SSL_free(self->client);
    SSL_CTX_free(self->context);
    SSL_CTX_free(self->client_context);
    udpai_strbuf_done(&self->plain);
    udpai_strbuf_done(&self->out);
}

static void
take(two_ends *self, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size && !self->is_done; at += self->step) {
        udpai_str piece = {bytes + at, udpai_min_size(self->step, size - at)};
        self->is_done = !udpai_tls_session_take(self->tls, piece, &self->plain, &self->out);
    }
}

/* What each has said goes to the other; false: neither had anything. */
static bool
carry(two_ends *self)
{
    char bytes[65536];
    int n = BIO_read(SSL_get_wbio(self->client), bytes, sizeof(bytes));
    if (n > 0)
        take(self, bytes, (size_t)n);
    size_t ours = self->out.len;
    if (ours)
        assert_int_equal(BIO_write(SSL_get_rbio(self->client), self->out.data, (int)ours), ours);
    self->out.len = 0;
    return n > 0 || ours > 0;
}

static void
shake_hands(two_ends *self)
{
    do
        (void)SSL_do_handshake(self->client);
    while (carry(self));
}

static size_t
read_client(two_ends *self, char *room, size_t size)
{
    size_t got = 0;
    int n;
    while (got < size && (n = SSL_read(self->client, room + got, (int)(size - got))) > 0)
        got += (size_t)n;
    return got;
}

/* ---- tests ---- */

static struct world *
world_of(void **state)
{
    struct world *world = *state;
    if (!world->directory)
        skip();
    return world;
}

static void
both_hear_what_the_other_says(void **state)
{
    static char large[100000], room[sizeof(large)];
    const struct world *world = world_of(state);
    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = (char)(i * 7);
    for (size_t step = 1; step < 20000; step = step * 13 + 1) {
        two_ends ends;
        open_pair(&ends, world, false, &world->client, "\x02h2");
        ends.step = step;
        shake_hands(&ends);
        assert_true(udpai_tls_session_is_open(ends.tls) && udpai_tls_session_is_second(ends.tls));
        assert_int_equal(SSL_write(ends.client, large, sizeof(large)), sizeof(large));
        while (carry(&ends))
            continue;
        assert_false(ends.is_done);
        assert_int_equal(ends.plain.len, sizeof(large));
        assert_memory_equal(ends.plain.data, large, sizeof(large));
        assert_true(udpai_tls_session_give(ends.tls, (udpai_str){large, sizeof(large)}, &ends.out));
        carry(&ends);
        assert_int_equal(read_client(&ends, room, sizeof(room)), sizeof(large));
        assert_memory_equal(room, large, sizeof(large));
        close_pair(&ends);
    }
}

static void
check_alpn(const struct world *world, const char *offered, bool is_open, bool is_second)
{
    two_ends ends;
    open_pair(&ends, world, false, &world->client, offered);
    shake_hands(&ends);
    assert_int_equal(udpai_tls_session_is_open(ends.tls), is_open);
    assert_int_equal(ends.is_done, !is_open);
    assert_int_equal(udpai_tls_session_is_second(ends.tls), is_second);
    close_pair(&ends);
}

static void
http2_is_preferred(void **state)
{
    const struct world *world = world_of(state);
    check_alpn(world, "\x08http/1.1\x02h2", true, true);
    check_alpn(world, "\x08http/1.1", true, false);
    check_alpn(world, NULL, true, false);
    check_alpn(world, "\x02h3", false, false);
}

static void
check_client(const struct world *world,
             bool is_optional,
             const udpai_tls_files *client,
             bool is_let_in)
{
    two_ends ends;
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    open_pair(&ends, world, is_optional, client, "\x02h2");
    shake_hands(&ends);
    assert_int_equal(udpai_tls_session_is_open(ends.tls) && !ends.is_done, is_let_in);
    if (is_let_in)
        assert_ok(udpai_ssl_chain(udpai_tls_session_ssl(ends.tls), "the client's", &chain, NULL));
    assert_int_equal(chain != NULL, is_let_in && client != NULL);
    close_pair(&ends);
}

static void
clients_are_verified(void **state)
{
    const struct world *world = world_of(state);
    check_client(world, false, &world->client, true);
    check_client(world, false, NULL, false);
    check_client(world, false, &world->strange, false);
    check_client(world, true, &world->client, true);
    check_client(world, true, NULL, true);
    check_client(world, true, &world->strange, false);
}

static void
check_agreed(const struct world *world, const char *groups, int version, const char *group)
{
    two_ends ends;
    open_pair(&ends, world, true, NULL, "\x02h2");
    assert_int_equal(SSL_set1_groups_list(ends.client, groups), 1);
    assert_int_equal(SSL_set_max_proto_version(ends.client, version), 1);
    shake_hands(&ends);
    assert_true(udpai_tls_session_is_open(ends.tls));
    const udpai_tls_agreed agreed = udpai_tls_session_agreed(ends.tls);
    assert_string_equal(agreed.version, version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
    assert_string_equal(agreed.group, group);
    assert_string_equal(agreed.cipher, SSL_get_cipher_name(ends.client));
    close_pair(&ends);
}

static void
what_was_agreed_on_is_known(void **state)
{
    const struct world *world = world_of(state);
    check_agreed(world, "X25519:P-256", TLS1_3_VERSION, "X25519");
    check_agreed(world, "P-256:X25519", TLS1_3_VERSION, "P-256");
    check_agreed(world, "P-384", TLS1_3_VERSION, "P-384");
    check_agreed(world, "X25519:P-256", TLS1_2_VERSION, "X25519"); /* P-256: the certificate */
    check_agreed(world, "P-256", TLS1_2_VERSION, "P-256");
}

static void
an_end_is_noticed(void **state)
{
    const struct world *world = world_of(state);
    two_ends ends;
    char room[10];
    open_pair(&ends, world, false, &world->client, "\x02h2");
    shake_hands(&ends);
    udpai_tls_session_close(ends.tls, &ends.out);
    carry(&ends);
    assert_int_equal(SSL_read(ends.client, room, sizeof(room)), 0);
    assert_int_equal(SSL_get_error(ends.client, 0), SSL_ERROR_ZERO_RETURN);
    SSL_shutdown(ends.client);
    carry(&ends);
    assert_true(ends.is_done);
    close_pair(&ends);
}

static void
what_is_no_tls_ends_it(void **state)
{
    const struct world *world = world_of(state);
    static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff garbage",
                                        "PRI * HTTP/2.0\r\n\r\n"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        two_ends ends;
        open_pair(&ends, world, false, &world->client, NULL);
        take(&ends, texts[i], strlen(texts[i]));
        assert_true(ends.is_done);
        assert_int_equal(ends.plain.len, 0);
        assert_true(ends.out.len < 100);
        close_pair(&ends);
    }
}

static void
what_was_changed_on_the_way_ends_it(void **state)
{
    const struct world *world = world_of(state);
    two_ends ends;
    char bytes[1000];
    open_pair(&ends, world, false, &world->client, NULL);
    shake_hands(&ends);
    assert_int_equal(SSL_write(ends.client, "hello", 5), 5);
    int n = BIO_read(SSL_get_wbio(ends.client), bytes, sizeof(bytes));
    bytes[n - 1] ^= 1;
    take(&ends, bytes, (size_t)n);
    assert_true(ends.is_done);
    assert_int_equal(ends.plain.len, 0);
    assert_false(udpai_tls_session_give(ends.tls, UDPAI_STR("x"), &ends.out));
    close_pair(&ends);
}

static void
certificates_that_cannot_be_used_are_told(void **state)
{
    struct world *world = world_of(state);
    SSL_CTX *context = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL, *other = NULL;
    udpai_tls_files files = world->ours;
    const udpai_tls_options options = {.files = &files};
    files.private_key = world->client.private_key;
    assert_int_equal(udpai_tls_context(&context, &options, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "the private key cannot be used"));
    assert_non_null(strstr(udpa_error_message(error), "mismatch"));
    files.private_key = NULL;
    assert_int_equal(udpai_tls_context(&context, &options, &other), UDPA_ERR_INVAL);
    assert_null(context);
}

static void
append_certificate(udpai_strbuf *pem, const made_spec *like, const char *name, const char *issuer)
{
    const made_name cn = {V_ASN1_UTF8STRING, udpai_str_from(name)};
    made_spec spec = *like;
    spec.common_names = &cn;
    spec.n_common_names = 1;
    spec.issuer = issuer;
    make_certificate(pem, &spec);
    udpai_strbuf_append(pem, "", 1);
    pem->len--; /* as a string */
}

static void
check_sent(const udpai_strbuf *certificate,
           const udpai_strbuf *key,
           const udpai_strbuf *authorities,
           int n_expected)
{
    two_ends ends;
    const udpai_tls_files files = {.certificate = certificate->data,
                                   .private_key = key->data,
                                   .authorities = authorities->data};
    const udpai_tls_options options = {.files = &files, .is_optional = true};
    open_pair_with(&ends, &options, NULL, NULL);
    shake_hands(&ends);
    assert_true(SSL_is_init_finished(ends.client));
    assert_int_equal(sk_X509_num(SSL_get_peer_cert_chain(ends.client)), n_expected);
    close_pair(&ends);
}

/* Peers have the authority: it is not sent. One between it and ours is, wherever it was found. */
static void
the_way_to_the_authority_is_sent(void **state)
{
    EVP_PKEY *root_key = make_key(), *below_key = make_key(), *key = make_key();
    const made_spec root_spec = {.key = root_key, .is_authority = true};
    const made_spec below_spec = {.key = below_key, .signer = root_key, .is_authority = true};
    const made_spec spec = {.key = key, .signer = below_key};
    const made_spec simple_spec = {.key = key, .signer = root_key};
    udpai_strbuf root = {0}, both = {0}, deep = {0}, whole = {0}, simple = {0}, secret = {0};
    (void)state;
    append_certificate(&root, &root_spec, "root", NULL);
    udpai_strbuf_str(&both, udpai_strbuf_view(&root));
    append_certificate(&both, &below_spec, "below", "root");
    append_certificate(&deep, &spec, "server", "below");
    udpai_strbuf_str(&whole, udpai_strbuf_view(&deep));
    append_certificate(&whole, &below_spec, "below", "root");
    append_certificate(&simple, &simple_spec, "server", "root");
    append_key(&secret, key, NULL);
    udpai_strbuf_append(&secret, "", 1);
    check_sent(&simple, &secret, &root, 1);
    check_sent(&deep, &secret, &both, 2);
    check_sent(&whole, &secret, &root, 2);
    check_sent(&deep, &secret, &root, 1); /* nobody knows the way */
    udpai_strbuf *const all[] = {&root, &both, &deep, &whole, &simple, &secret};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        udpai_strbuf_done(all[i]);
    EVP_PKEY_free(root_key);
    EVP_PKEY_free(below_key);
    EVP_PKEY_free(key);
}

/* By what is trusted when the handshake is made, whatever the context was made of. */
static void
what_is_trusted_may_judge(void **state)
{
    const struct world *world = world_of(state);
    UDPA_AUTO(udpai_trust_unref) udpai_trust *trust = udpai_trust_new(world->strange.trust);
    const udpai_tls_options options = {
        .files = &world->ours, .is_second = true, .trust = trust, .crypto = udpai_tls_crypto()};
    two_ends ends;
    open_pair_with(&ends, &options, &world->client, "\x08http/1.1\x02h2");
    shake_hands(&ends);
    assert_true(ends.is_done);
    const udpa_error *why = udpai_tls_session_why(ends.tls);
    assert_non_null(why);
    assert_non_null(strstr(udpa_error_message(why), "the certificate of CN=client"));
    char none;
    assert_true(SSL_read(ends.client, &none, 1) <= 0); /* an alert has come */
    assert_int_equal(ERR_GET_REASON(ERR_peek_last_error()), SSL_R_TLSV1_ALERT_UNKNOWN_CA);
    ERR_clear_error();
    close_pair(&ends);
    udpai_trust_set(trust, world->ours.trust);
    open_pair_with(&ends, &options, &world->client, "\x08http/1.1\x02h2");
    shake_hands(&ends);
    assert_true(udpai_tls_session_is_open(ends.tls) && udpai_tls_session_is_second(ends.tls));
    assert_null(udpai_tls_session_why(ends.tls));
    close_pair(&ends);
    open_pair_with(&ends, &options, NULL, "\x02h2"); /* a certificate is required all the same */
    shake_hands(&ends);
    assert_true(ends.is_done);
    close_pair(&ends);
}

/* Where HTTP/2 alone is spoken, nothing else is agreed on. */
static void
http2_may_be_all_there_is(void **state)
{
    const struct world *world = world_of(state);
    const udpai_tls_options options = {.files = &world->ours, .is_second = true};
    two_ends ends;
    open_pair_with(&ends, &options, &world->client, "\x08http/1.1");
    shake_hands(&ends);
    assert_true(ends.is_done);
    close_pair(&ends);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_hear_what_the_other_says),
        cmocka_unit_test(http2_is_preferred),
        cmocka_unit_test(clients_are_verified),
        cmocka_unit_test(what_was_agreed_on_is_known),
        cmocka_unit_test(an_end_is_noticed),
        cmocka_unit_test(what_is_no_tls_ends_it),
        cmocka_unit_test(what_was_changed_on_the_way_ends_it),
        cmocka_unit_test(certificates_that_cannot_be_used_are_told),
        cmocka_unit_test(the_way_to_the_authority_is_sent),
        cmocka_unit_test(what_is_trusted_may_judge),
        cmocka_unit_test(http2_may_be_all_there_is),
    };
    certificates_script = argc > 1 ? argv[1] : "";
    return cmocka_run_group_tests_name("http_tls", tests, begin, end);
}
