/* SPDX-License-Identifier: Apache-2.0 */
/* The chain is built and checked by OpenSSL, as in a handshake; what is revoked is looked up here.
 * OpenSSL's own check of revocation lists requires one of every authority, in time, or refuses
 * every peer: a list that was not fetched would take down a whole fleet. Here a certificate is
 * revoked if a list of its issuer has it, and not otherwise. */
#include "certs/trust_store.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/vector.h"
#include "certs/certificate_internal.h"

typedef struct revocation_list {
    X509_CRL *crl;
    X509 *issuer;          /* one of the authorities */
    int64_t next_update_s; /* INT64_MAX: it does not state one */
} revocation_list;

struct udpai_trust_store {
    atomic_uint refs;
    udpai_chain *authorities;
    X509_STORE *x509;
    char *file; /* of the lists, for messages; NULL: there are none */
    UDPAI_VECTOR(revocation_list) lists;
};

/* ---- the lists ---- */

static bool
is_by(X509_CRL *crl, X509 *issuer)
{
    if (X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_subject_name(issuer)) != 0)
        return false;
    EVP_PKEY *key = X509_get0_pubkey(issuer);
    bool is = key && X509_CRL_verify(crl, key) == 1;
    ERR_clear_error();
    return is;
}

/* NULL: none of them. */
static X509 *
find_issuer(X509_CRL *crl, const udpai_chain *authorities)
{
    for (size_t i = 0; i < authorities->n; i++)
        if (is_by(crl, authorities->certificates[i].x509))
            return authorities->certificates[i].x509;
    return NULL;
}

/* Lists that only contain changes, or certificates of other authorities, mean something else than
 * they seem to if they are read alone. */
static const char *
oddity_of(X509_CRL *crl)
{
    int found = 0;
    if (X509_CRL_get_ext_by_NID(crl, NID_delta_crl, -1) >= 0)
        return "contains only what has changed (a delta CRL); the whole list is needed";
    ISSUING_DIST_POINT *point =
        X509_CRL_get_ext_d2i(crl, NID_issuing_distribution_point, &found, NULL);
    bool is_indirect = point && point->indirectCRL;
    ISSUING_DIST_POINT_free(point);
    if (is_indirect)
        return "is about the certificates of other authorities (an indirect CRL); one list of "
               "each authority is needed";
    return NULL;
}

static udpa_err
check_list(const udpai_trust_store *store,
           revocation_list *list,
           size_t number,
           udpa_error **ret_error)
{
    char issuer[UDPAI_SUBJECT_MAX];
    const char *oddity = oddity_of(list->crl);
    (void)udpai_x509_name_text(X509_CRL_get_issuer(list->crl), issuer);
    if (oddity)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: list %zu, of %s, %s", store->file, number,
                          issuer, oddity);
    list->issuer = find_issuer(list->crl, store->authorities);
    if (!list->issuer)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: list %zu, of %s, was issued by none of the authorities in %s: put "
                          "the certificate of the one that issues it there, too",
                          store->file, number, issuer, store->authorities->file);
    return UDPA_OK;
}

/* OpenSSL sorts a list when something is first looked up in it. That is not to be when all
 * connections wait for it. */
static void
sort(X509_CRL *crl)
{
    X509_REVOKED *entry = NULL;
    ASN1_INTEGER *none = ASN1_INTEGER_new();
    if (none)
        (void)X509_CRL_get0_by_serial(crl, &entry, none);
    ASN1_INTEGER_free(none);
}

/* Consumes it. */
static udpa_err
add_list(udpai_trust_store *store, X509_CRL *crl, udpa_error **ret_error)
{
    revocation_list list = {crl, NULL, INT64_MAX};
    const ASN1_TIME *next = X509_CRL_get0_nextUpdate(crl);
    udpa_err err = UDPA_OK;
    if (store->lists.n == UDPAI_CRLS_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: has more than %d revocation lists",
                         store->file, UDPAI_CRLS_MAX);
    else if (next && !udpai_asn1_seconds(next, &list.next_update_s))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "%s: list %zu is to be followed at no time that exists", store->file,
                         store->lists.n + 1);
    else
        err = check_list(store, &list, store->lists.n + 1, ret_error);
    if (err == UDPA_OK)
        sort(crl);
    if (err == UDPA_OK && !udpai_vector_push(&store->lists, list))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK)
        X509_CRL_free(crl);
    return err;
}

static udpa_err
check_end(const udpai_trust_store *store, udpa_error **ret_error)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (ERR_GET_LIB(code) != ERR_LIB_PEM || ERR_GET_REASON(code) != PEM_R_NO_START_LINE)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: list %zu is malformed (%s): copy it again, whole", store->file,
                          store->lists.n + 1, reason ? reason : "no reason given");
    if (store->lists.n)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "%s: holds no revocation list in PEM form ('BEGIN X509 CRL'); one in DER "
                      "form can be converted with 'openssl crl -inform DER'",
                      store->file);
}

static udpa_err
read_lists(udpai_trust_store *store, udpai_pem pem, udpa_error **ret_error)
{
    if (pem.bytes.len > UDPAI_CRL_PEM_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: %zu bytes are more than %d", pem.file,
                          pem.bytes.len, UDPAI_CRL_PEM_MAX);
    store->file = udpai_strdup(pem.file);
    BIO *bio = store->file
                   ? BIO_new_mem_buf(pem.bytes.len ? pem.bytes.data : "", (int)pem.bytes.len)
                   : NULL;
    if (!bio)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK) {
        X509_CRL *crl = PEM_read_bio_X509_CRL(bio, NULL, NULL, NULL);
        if (!crl)
            break;
        err = add_list(store, crl, ret_error);
    }
    if (err == UDPA_OK)
        err = check_end(store, ret_error);
    BIO_free(bio);
    return err;
}

/* ---- making it ---- */

static udpa_err
fill_x509(udpai_trust_store *store)
{
    store->x509 = X509_STORE_new();
    /* As gRPC and libcurl have it: an authority of the file is trusted though it is no root. */
    bool is_good = store->x509 && X509_STORE_set_flags(store->x509, X509_V_FLAG_PARTIAL_CHAIN |
                                                                        X509_V_FLAG_TRUSTED_FIRST);
    for (size_t i = 0; i < store->authorities->n && is_good; i++)
        is_good = X509_STORE_add_cert(store->x509, store->authorities->certificates[i].x509) == 1;
    return is_good ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_trust_store_new(udpai_trust_store **ret_store,
                      udpai_pem authorities,
                      const udpai_pem *revocations,
                      udpa_error **ret_error)
{
    UDPA_AUTO(udpai_trust_store_unref) udpai_trust_store *store = udpai_alloc(sizeof(*store));
    if (!store)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    atomic_init(&store->refs, 1);
    udpa_err err = udpai_chain_new(&store->authorities, authorities, ret_error);
    if (err != UDPA_OK)
        return err;
    ERR_clear_error();
    err = udpai_fail_code(ret_error, fill_x509(store));
    if (err == UDPA_OK && revocations)
        err = read_lists(store, *revocations, ret_error);
    ERR_clear_error();
    if (err == UDPA_OK)
        *ret_store = UDPAI_TAKE(store);
    return err;
}

udpai_trust_store *
udpai_trust_store_ref(udpai_trust_store *store)
{
    if (store)
        atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
    return store;
}

udpai_trust_store *
udpai_trust_store_unref(udpai_trust_store *store)
{
    if (!store || atomic_fetch_sub_explicit(&store->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    for (size_t i = 0; i < store->lists.n; i++)
        X509_CRL_free(store->lists.items[i].crl);
    udpai_vector_done(&store->lists);
    X509_STORE_free(store->x509);
    udpai_chain_unref(store->authorities);
    udpai_free(store->file);
    udpai_free(store);
    return NULL;
}

udpa_err
udpai_trust_store_check_time(const udpai_trust_store *store, int64_t now_s, udpa_error **ret_error)
{
    char issuer[UDPAI_SUBJECT_MAX], time[UDPAI_TIME_SIZE];
    for (size_t i = 0; i < store->lists.n; i++) {
        const revocation_list *list = &store->lists.items[i];
        if (now_s > list->next_update_s)
            return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                              "%s: list %zu, of %s, was to be followed by another on %s: fetch it; "
                              "until then what this one has revoked stays so, and nothing else is",
                              store->file, i + 1,
                              udpai_x509_name_text(X509_CRL_get_issuer(list->crl), issuer),
                              udpai_asn1_time_text(X509_CRL_get0_nextUpdate(list->crl), time));
    }
    return UDPA_OK;
}

/* ---- what is revoked ---- */

static long
reason_of(const X509_REVOKED *entry)
{
    int found = 0;
    ASN1_ENUMERATED *reason = X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, &found, NULL);
    long code = reason ? ASN1_ENUMERATED_get(reason) : CRL_REASON_UNSPECIFIED;
    ASN1_ENUMERATED_free(reason);
    return code;
}

static const char *
reason_text(long code)
{
    static const char *const texts[] = {
        [CRL_REASON_KEY_COMPROMISE] = " (its key may be known to others)",
        [CRL_REASON_CA_COMPROMISE] = " (the authority's key may be known to others)",
        [CRL_REASON_AFFILIATION_CHANGED] = " (its holder has another role)",
        [CRL_REASON_SUPERSEDED] = " (its holder has another one)",
        [CRL_REASON_CESSATION_OF_OPERATION] = " (it is not needed any more)",
        [CRL_REASON_CERTIFICATE_HOLD] = " (on hold)",
        [CRL_REASON_PRIVILEGE_WITHDRAWN] = " (what it allowed was withdrawn)",
    };
    bool is_known = code >= 0 && (size_t)code < UDPAI_ARRAY_LEN(texts) && texts[code];
    return is_known ? texts[code] : "";
}

/* Another one of this name may have another key, and numbers of its own. */
static bool
is_of_same_issuer(const revocation_list *list, X509 *x509)
{
    EVP_PKEY *key = X509_get0_pubkey(list->issuer);
    return key && X509_verify(x509, key) == 1;
}

static udpa_err
check_certificate(const udpai_trust_store *store,
                  X509 *x509,
                  udpai_trust_verdict *ret_verdict,
                  udpa_error **ret_error)
{
    char subject[UDPAI_SUBJECT_MAX], time[UDPAI_TIME_SIZE];
    for (size_t i = 0; i < store->lists.n; i++) {
        const revocation_list *list = &store->lists.items[i];
        X509_CRL *crl = list->crl;
        X509_REVOKED *entry = NULL;
        if (X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_issuer_name(x509)) != 0 ||
            X509_CRL_get0_by_serial(crl, &entry, X509_get0_serialNumber(x509)) != 1 ||
            !is_of_same_issuer(list, x509))
            continue;
        long reason = reason_of(entry);
        *ret_verdict =
            reason == CRL_REASON_SUPERSEDED ? UDPAI_TRUST_SUPERSEDED : UDPAI_TRUST_REVOKED;
        return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED,
                          "the certificate of %s was revoked on %s%s",
                          udpai_x509_name_text(X509_get_subject_name(x509), subject),
                          udpai_asn1_time_text(X509_REVOKED_get0_revocationDate(entry), time),
                          reason_text(reason));
    }
    return UDPA_OK;
}

static udpa_err
check_revoked(const udpai_trust_store *store,
              const STACK_OF(X509) * path,
              udpai_trust_verdict *ret_verdict,
              udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (int i = 0; i < sk_X509_num(path) && err == UDPA_OK; i++)
        err = check_certificate(store, sk_X509_value(path, i), ret_verdict, ret_error);
    return err;
}

/* ---- the chain ---- */

static udpa_err
fail_expired(int code, X509 *x509, const char *subject, udpa_error **ret_error)
{
    char time[UDPAI_TIME_SIZE];
    if (code == X509_V_ERR_CERT_HAS_EXPIRED)
        return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED,
                          "the certificate of %s has expired on %s", subject,
                          udpai_asn1_time_text(X509_get0_notAfter(x509), time));
    return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED,
                      "the certificate of %s is not valid before %s", subject,
                      udpai_asn1_time_text(X509_get0_notBefore(x509), time));
}

static udpa_err
fail_chain(X509_STORE_CTX *context, udpai_trust_verdict *ret_verdict, udpa_error **ret_error)
{
    char subject[UDPAI_SUBJECT_MAX] = "?", issuer[UDPAI_SUBJECT_MAX] = "?";
    int code = X509_STORE_CTX_get_error(context);
    X509 *x509 = X509_STORE_CTX_get_current_cert(context);
    if (x509) {
        udpai_x509_name_text(X509_get_subject_name(x509), subject);
        udpai_x509_name_text(X509_get_issuer_name(x509), issuer);
    }
    switch (code) {
    case X509_V_ERR_OUT_OF_MEM:
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
        *ret_verdict = UDPAI_TRUST_EXPIRED;
        return fail_expired(code, x509, subject, ret_error);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        *ret_verdict = UDPAI_TRUST_UNKNOWN;
        return udpai_fail(
            ret_error, UDPA_ERR_UNAUTHENTICATED,
            "the certificate of %s leads to %s, which is none of the authorities that are trusted "
            "here, or not the one of that name",
            udpai_x509_name_text(X509_get_subject_name(X509_STORE_CTX_get0_cert(context)), subject),
            issuer);
    default:
        *ret_verdict = UDPAI_TRUST_UNFIT;
        return udpai_fail(ret_error, UDPA_ERR_UNAUTHENTICATED,
                          "the certificate of %s cannot be relied on: %s", subject,
                          X509_verify_cert_error_string(code));
    }
}

static int64_t
first_end(const STACK_OF(X509) * path)
{
    int64_t first = INT64_MAX, end;
    for (int i = 0; i < sk_X509_num(path); i++)
        if (udpai_asn1_seconds(X509_get0_notAfter(sk_X509_value(path, i)), &end) && end < first)
            first = end;
    return first;
}

static udpa_err
verify(const udpai_trust_store *store,
       X509_STORE_CTX *context,
       udpai_trust_answer *answer,
       udpa_error **ret_error)
{
    if (X509_verify_cert(context) != 1)
        return fail_chain(context, &answer->verdict, ret_error);
    const STACK_OF(X509) *path = X509_STORE_CTX_get0_chain(context);
    answer->verdict = UDPAI_TRUST_GOOD;
    answer->until_s = first_end(path);
    return check_revoked(store, path, &answer->verdict, ret_error);
}

/* ---- what lies between ---- */

void
udpai_intermediates_done(udpai_intermediates *intermediates)
{
    for (size_t i = 0; i < intermediates->n; i++)
        X509_free(intermediates->items[i]);
    *intermediates = (udpai_intermediates){.n = 0};
}

static bool
is_known(const udpai_intermediates *intermediates, X509 *x509)
{
    for (size_t i = 0; i < intermediates->n; i++)
        if (X509_cmp(intermediates->items[i], x509) == 0)
            return true;
    return false;
}

static void
learn(udpai_intermediates *intermediates, const STACK_OF(X509) * path)
{
    for (int i = 1; i + 1 < sk_X509_num(path); i++) {
        X509 *x509 = sk_X509_value(path, i);
        if (is_known(intermediates, x509) || X509_up_ref(x509) != 1)
            continue;
        size_t at = intermediates->next++ % UDPAI_INTERMEDIATES_MAX;
        if (at < intermediates->n)
            X509_free(intermediates->items[at]);
        else
            intermediates->n = at + 1;
        intermediates->items[at] = x509;
    }
}

static bool
list_others(const udpai_trust_question *question, STACK_OF(X509) * others)
{
    const udpai_chain *chain = question->chain;
    bool is_good = true;
    for (size_t i = 1; i < chain->n && is_good; i++)
        is_good = sk_X509_push(others, chain->certificates[i].x509) > 0;
    for (size_t i = 0; question->known && i < question->known->n && is_good; i++)
        is_good = sk_X509_push(others, question->known->items[i]) > 0;
    return is_good;
}

static bool
set_up(const udpai_trust_store *store,
       X509_STORE_CTX *context,
       const udpai_trust_question *question,
       STACK_OF(X509) * others)
{
    if (!list_others(question, others) ||
        X509_STORE_CTX_init(context, store->x509, question->chain->certificates[0].x509, others) !=
            1 ||
        X509_STORE_CTX_set_default(context, question->is_server ? "ssl_server" : "ssl_client") != 1)
        return false;
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context), (time_t)question->now_s);
    return true;
}

udpa_err
udpai_trust_store_verify(const udpai_trust_store *store,
                         const udpai_trust_question *question,
                         udpai_trust_answer *ret_answer,
                         udpa_error **ret_error)
{
    udpai_trust_answer answer = {UDPAI_TRUST_UNFIT, 0};
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    STACK_OF(X509) *others = sk_X509_new_null();
    udpa_err err = UDPA_ERR_NOMEM;
    if (context && others && set_up(store, context, question, others))
        err = verify(store, context, &answer, ret_error);
    else
        (void)udpai_fail_code(ret_error, err);
    if (err == UDPA_OK && question->known)
        learn(question->known, X509_STORE_CTX_get0_chain(context));
    X509_STORE_CTX_free(context);
    sk_X509_free(others);
    ERR_clear_error();
    if (err != UDPA_ERR_NOMEM)
        *ret_answer = answer;
    return err;
}
