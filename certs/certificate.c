/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL keeps a queue of errors for each thread; every function here leaves it empty. */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#include "base/vector.h"
#include "certs/certificate_internal.h"

typedef UDPAI_VECTOR(struct udpai_certificate) certificate_vector;

static bool
contains(udpai_str text, const char *part)
{
    return text.len && memmem(text.data, text.len, part, strlen(part)) != NULL;
}

/* A file that is not what it should be most often is one of these. */
static udpa_err
fail_no_block(udpai_pem pem, const char *expected, const char *instead, udpa_error **ret_error)
{
    if (pem.bytes.len == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: the file is empty", pem.file);
    if (contains(pem.bytes, instead))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: holds no %s, but %s: are the two files exchanged?", pem.file,
                          expected, strstr(instead, "KEY") ? "a private key" : "a certificate");
    if (pem.bytes.len > 1 && pem.bytes.data[0] == 0x30 && (pem.bytes.data[1] & 0x80))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: is in DER form; convert it to PEM, such as with 'openssl x509 "
                          "-inform DER' or 'openssl pkey -inform DER'",
                          pem.file);
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: holds no %s in PEM form", pem.file, expected);
}

static udpa_err
fail_size(udpai_pem pem, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: %zu bytes are more than %d", pem.file,
                      pem.bytes.len, UDPAI_PEM_MAX);
}

/* The last error of OpenSSL, in words. */
static const char *
reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "no reason given";
}

/* ---- parsing ---- */

/* Counted from a 1st of March 400 years early, so that leap days come last and nothing is negative.
 */
static int64_t
days_since_1970(int year, int month, int day)
{
    int64_t years = year + 400 - (month <= 2);
    int months = month > 2 ? month - 3 : month + 9;
    return 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 -
           719468 - 146097;
}

bool
udpai_asn1_seconds(const ASN1_TIME *time, int64_t *ret_s)
{
    struct tm tm;
    if (ASN1_TIME_to_tm(time, &tm) != 1)
        return false;
    *ret_s = days_since_1970(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday) * 86400 +
             tm.tm_hour * 3600 + tm.tm_min * 60 + tm.tm_sec;
    return true;
}

/* Consumes the certificate. */
static udpa_err
add_certificate(certificate_vector *found, X509 *x509, const char *file, udpa_error **ret_error)
{
    struct udpai_certificate certificate = {.x509 = x509};
    udpa_err err = UDPA_OK;
    if (found->n == UDPAI_CHAIN_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: has more than %d certificates", file,
                         UDPAI_CHAIN_MAX);
    else if (!udpai_asn1_seconds(X509_get0_notBefore(x509), &certificate.not_before_s) ||
             !udpai_asn1_seconds(X509_get0_notAfter(x509), &certificate.not_after_s))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "%s: certificate %zu is valid from or until no time that exists", file,
                         found->n + 1);
    else if (!udpai_vector_push(found, certificate))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK)
        X509_free(x509);
    return err;
}

/* Without this OpenSSL would ask the terminal. */
static int
no_password(char *room, int size, int is_writing, void *asked)
{
    (void)room;
    (void)size;
    (void)is_writing;
    if (asked)
        *(bool *)asked = true;
    return -1;
}

/* After the last certificate: is it the end, or is there something broken? */
static udpa_err
check_end(udpai_pem pem, size_t n, udpa_error **ret_error)
{
    unsigned long code = ERR_peek_last_error();
    if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (ERR_GET_LIB(code) != ERR_LIB_PEM || ERR_GET_REASON(code) != PEM_R_NO_START_LINE)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: certificate %zu is malformed (%s): copy it again, whole", pem.file,
                          n + 1, reason());
    return n ? UDPA_OK : fail_no_block(pem, "certificate", "PRIVATE KEY-----", ret_error);
}

static udpa_err
read_certificates(certificate_vector *found, udpai_pem pem, udpa_error **ret_error)
{
    BIO *bio = BIO_new_mem_buf(pem.bytes.len ? pem.bytes.data : "", (int)pem.bytes.len);
    if (!bio)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = UDPA_OK;
    X509 *x509;
    while (err == UDPA_OK && (x509 = PEM_read_bio_X509(bio, NULL, no_password, NULL)))
        err = add_certificate(found, x509, pem.file, ret_error);
    if (err == UDPA_OK)
        err = check_end(pem, found->n, ret_error);
    BIO_free(bio);
    return err;
}

udpa_err
udpai_chain_new(udpai_chain **ret_chain, udpai_pem pem, udpa_error **ret_error)
{
    if (pem.bytes.len > UDPAI_PEM_MAX)
        return fail_size(pem, ret_error);
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = udpai_alloc(sizeof(*chain));
    if (!chain)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    atomic_init(&chain->refs, 1);
    certificate_vector found = {0};
    ERR_clear_error();
    udpa_err err = read_certificates(&found, pem, ret_error);
    ERR_clear_error();
    chain->certificates = found.items;
    chain->n = found.n;
    if (err == UDPA_OK && !(chain->file = udpai_strdup(pem.file)))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        *ret_chain = UDPAI_TAKE(chain);
    return err;
}

udpa_err
udpai_chain_of(udpai_chain **ret_chain,
               const char *label,
               struct x509_st *const *certificates,
               size_t n,
               udpa_error **ret_error)
{
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = udpai_alloc(sizeof(*chain));
    certificate_vector found = {0};
    udpa_err err = UDPA_OK;
    if (!chain)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    atomic_init(&chain->refs, 1);
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        X509_up_ref(certificates[i]);
        err = add_certificate(&found, certificates[i], label, ret_error);
    }
    ERR_clear_error();
    chain->certificates = found.items;
    chain->n = found.n;
    if (err == UDPA_OK && !(chain->file = udpai_strdup(label)))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK)
        *ret_chain = UDPAI_TAKE(chain);
    return err;
}

udpai_chain *
udpai_chain_ref(udpai_chain *chain)
{
    if (chain)
        atomic_fetch_add_explicit(&chain->refs, 1, memory_order_relaxed);
    return chain;
}

udpai_chain *
udpai_chain_unref(udpai_chain *chain)
{
    if (!chain || atomic_fetch_sub_explicit(&chain->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < chain->n; i++)
        X509_free(chain->certificates[i].x509);
    udpai_free(chain->certificates);
    udpai_free(chain->file);
    udpai_free(chain);
    return NULL;
}

size_t
udpai_chain_size(const udpai_chain *chain)
{
    return chain->n;
}

udpa_err
udpai_chain_digest(const udpai_chain *chain, uint8_t ret_digest[UDPAI_CHAIN_DIGEST_SIZE])
{
    uint8_t one[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    for (size_t i = 0; is_good && i < chain->n; i++)
        is_good = X509_digest(chain->certificates[i].x509, EVP_sha256(), one, &size) == 1 &&
                  EVP_DigestUpdate(context, one, size) == 1;
    is_good = is_good && EVP_DigestFinal_ex(context, ret_digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return is_good ? UDPA_OK : UDPA_ERR_NOMEM;
}

int64_t
udpai_chain_not_after_s(const udpai_chain *chain)
{
    int64_t first = chain->certificates[0].not_after_s;
    for (size_t i = 1; i < chain->n; i++)
        if (chain->certificates[i].not_after_s < first)
            first = chain->certificates[i].not_after_s;
    return first;
}

/* ---- the private key ---- */

static udpa_err
read_key(udpai_pem pem, EVP_PKEY **ret_key, udpa_error **ret_error)
{
    if (pem.bytes.len > UDPAI_PEM_MAX)
        return fail_size(pem, ret_error);
    BIO *bio = BIO_new_mem_buf(pem.bytes.len ? pem.bytes.data : "", (int)pem.bytes.len);
    if (!bio)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    bool encrypted = false;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_password, &encrypted);
    BIO_free(bio);
    if (key) {
        *ret_key = key;
        return UDPA_OK;
    }
    if (encrypted)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: the private key is encrypted, and there is no password for it; "
                          "decrypt it with 'openssl pkey' and protect the file instead",
                          pem.file);
    if (contains(pem.bytes, "PRIVATE KEY-----"))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: the private key is malformed, or of a kind that OpenSSL does not "
                          "know (%s)",
                          pem.file, reason());
    return fail_no_block(pem, "private key", "BEGIN CERTIFICATE-----", ret_error);
}

udpa_err
udpai_chain_check_key(const udpai_chain *chain, udpai_pem key, udpa_error **ret_error)
{
    EVP_PKEY *found = NULL;
    ERR_clear_error();
    udpa_err err = read_key(key, &found, ret_error);
    if (err == UDPA_OK && X509_check_private_key(chain->certificates[0].x509, found) != 1)
        err =
            udpai_fail(ret_error, UDPA_ERR_INVAL,
                       "%s: the private key %s does not belong to this certificate%s", chain->file,
                       key.file, chain->n > 1 ? ", which must be the first of its file" : "");
    EVP_PKEY_free(found);
    ERR_clear_error();
    return err;
}

/* ---- validity ---- */

const char *
udpai_x509_name_text(const X509_NAME *name, char room[UDPAI_SUBJECT_MAX])
{
    int len = 0;
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0)
        len = BIO_read(bio, room, UDPAI_SUBJECT_MAX - 1);
    room[len > 0 ? len : 0] = '\0';
    BIO_free(bio);
    ERR_clear_error();
    return room;
}

static const char *
subject_of(X509 *x509, char room[UDPAI_SUBJECT_MAX])
{
    return udpai_x509_name_text(X509_get_subject_name(x509), room);
}

const char *
udpai_asn1_time_text(const ASN1_TIME *time, char room[UDPAI_TIME_SIZE])
{
    struct tm tm;
    if (ASN1_TIME_to_tm(time, &tm) != 1)
        return "?";
    snprintf(room, UDPAI_TIME_SIZE, "%04d-%02d-%02d %02d:%02d:%02d UTC", tm.tm_year + 1900,
             tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return room;
}

udpa_err
udpai_chain_check_time(const udpai_chain *chain, int64_t now_s, udpa_error **ret_error)
{
    char subject[UDPAI_SUBJECT_MAX], time[UDPAI_TIME_SIZE];
    for (size_t i = 0; i < chain->n; i++) {
        const struct udpai_certificate *certificate = &chain->certificates[i];
        X509 *x509 = certificate->x509;
        if (now_s > certificate->not_after_s)
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "%s: certificate %zu (%s) expired on %s: put a new one in its place",
                              chain->file, i + 1, subject_of(x509, subject),
                              udpai_asn1_time_text(X509_get0_notAfter(x509), time));
        if (now_s < certificate->not_before_s)
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "%s: certificate %zu (%s) is not valid before %s: is the clock of "
                              "this machine right?",
                              chain->file, i + 1, subject_of(x509, subject),
                              udpai_asn1_time_text(X509_get0_notBefore(x509), time));
    }
    return UDPA_OK;
}

udpa_err
udpai_chain_check_authorities(const udpai_chain *chain, int64_t now_s, udpa_error **ret_error)
{
    size_t n_authorities = 0;
    for (size_t i = 0; i < chain->n; i++) {
        const struct udpai_certificate *certificate = &chain->certificates[i];
        if (X509_check_ca(certificate->x509) == 0)
            continue;
        if (now_s >= certificate->not_before_s && now_s <= certificate->not_after_s)
            return UDPA_OK;
        n_authorities++;
    }
    ERR_clear_error();
    if (n_authorities)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: none of its %zu certificate authorities is valid now: put a new one "
                          "in, and check the clock of this machine",
                          chain->file, n_authorities);
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "%s: holds no certificate of an authority (CA:TRUE), so no peer could be "
                      "trusted",
                      chain->file);
}
