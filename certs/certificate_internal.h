/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef UDPAI_CERTIFICATE_INTERNAL_H
#define UDPAI_CERTIFICATE_INTERNAL_H

#include <openssl/x509.h>
#include <stdatomic.h>

#include "certs/certificate.h"

#define UDPAI_SUBJECT_MAX 160
#define UDPAI_TIME_SIZE 64

struct udpai_certificate {
    X509 *x509;
    int64_t not_before_s, not_after_s;
};

struct udpai_chain {
    atomic_uint refs;
    char *file; /* for messages */
    size_t n;
    struct udpai_certificate *certificates;
};

/* certificate.c */

/* False: it is no time that exists. */
bool udpai_asn1_seconds(const ASN1_TIME *time, int64_t *ret_s);
/* For people; both return the room. A name in a form that cannot disturb a line of text. */
const char *udpai_x509_name_text(const X509_NAME *name, char room[UDPAI_SUBJECT_MAX]);
const char *udpai_asn1_time_text(const ASN1_TIME *time, char room[UDPAI_TIME_SIZE]);

#endif
