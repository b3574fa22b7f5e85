/* SPDX-License-Identifier: Apache-2.0 */
/* What a replica set keeps in etcd for one contribution: a key, which identifies it, and a value,
 * which is its resource and what else all replicas must know of it.
 *
 * Keys and values are read as a peer's are: whatever is in etcd, reading it ends with an op or with
 * an error. All functions are pure, and a reader belongs to one thread. */
#ifndef UDPAI_RECORD_H
#define UDPAI_RECORD_H

#include "base/strbuf.h"
#include "store/durable.h"
#include "wire/message.h"

/* A key, below a prefix that the caller has, is
 *
 *   c/<namespace>/<type>/<id>/<origin>   a contribution
 *   f/<namespace>/<type>/<id>/<origin>   a floor: a removal that is remembered, by its origin's key
 *
 * in which the name is divided at its first slash, and the type is what follows
 * "type.googleapis.com/". So all of a namespace, or of a type in it, is one range of keys. Each
 * part is percent-escaped as a segment (base/percent.h). An asterisk is always escaped there;
 * without an escape it marks what the usual form cannot express:
 *
 *   *       as the id: the name has no slash; an id that is empty is an empty part
 *   *<URL>  as the type: another type URL, as a whole
 *
 * One contribution has one key: one that would be written in another way is no key of it.
 *
 * A value is a message of protobuf. Unknown fields are skipped, so that replicas of two versions
 * can be in one set:
 *
 *   1  bytes   the resource, as udpai_entry_encode() makes it, or that sealed
 *   2  varint  1: it is sealed
 *   3  varint  when it expires, in microseconds since 1970; 0: never
 *   4  string  the replica that wrote it; for people */

/* Without the prefix. Enough for a name of which each byte is escaped, with a usual type and a
 * usual origin, or for the longest of all if few bytes are. */
#define UDPAI_RECORD_KEY_MAX 8192
/* Of the whole value. A transaction of etcd may have 1.5 MiB. */
#define UDPAI_RECORD_VALUE_MAX ((size_t)1 << 20)

/* Which contribution. Views; any bytes. */
typedef struct udpai_record_place {
    udpai_str origin, type_url, name;
} udpai_record_place;

/* With its NUL. */
#define UDPAI_RECORD_KEY_ID_MAX 33

/* Which key a value is sealed with. */
typedef enum udpai_record_sealed {
    UDPAI_RECORD_PLAIN,
    UDPAI_RECORD_CURRENT, /* the one that seals now */
    UDPAI_RECORD_OLD,     /* another one that is there */
    UDPAI_RECORD_LOCKED,  /* one that is missing */
    UDPAI_RECORD_DAMAGED, /* that cannot be seen */
} udpai_record_sealed;

/* How secrets are sealed, by the caller; a sealed value is bound to its place. Values are secret by
 * their type; removals, which have no payload, are not. */
typedef struct udpai_record_seals {
    bool (*is_secret)(void *userdata, udpai_str type_url);
    udpa_err (*seal)(void *userdata,
                     const udpai_record_place *place,
                     udpai_str plain,
                     udpa_bytes **ret_sealed,
                     udpa_error **ret_error); /* NULL: there is no key */
    udpa_err (*unseal)(void *userdata,
                       const udpai_record_place *place,
                       udpai_str sealed,
                       udpa_bytes **ret_plain,
                       udpa_error **ret_error); /* NULL: there is no key */
    /* The key of a sealed value; never PLAIN. @p ret_id: its id, but for DAMAGED. NULL: there is no
     * key. */
    udpai_record_sealed (*find_key)(void *userdata,
                                    udpai_str sealed,
                                    char ret_id[UDPAI_RECORD_KEY_ID_MAX]);
    void *userdata;
} udpai_record_seals;

/* ---- writing ---- */

/* Of a PUT or DELETE; views into the op. */
udpai_record_place udpai_record_place_of(const udpai_durable_op *op);

/* Appends the key to what is in the buffer, which is the prefix. UDPA_ERR_LIMIT: it would be longer
 * than UDPAI_RECORD_KEY_MAX; the buffer is as it was. UDPA_ERR_NOMEM: the buffer has failed. */
udpa_err
udpai_record_put_key(udpai_strbuf *key, const udpai_record_place *place, udpa_error **ret_error);

/* The value of a PUT, whose expires_us is filled in. @p writer: may be empty. @p seals: NULL:
 * nothing is secret. UDPA_ERR_LIMIT: it would be larger than UDPAI_RECORD_VALUE_MAX.
 * UDPA_ERR_PRECONDITION: it is secret, and there is no key. */
udpa_err udpai_record_value(const udpai_durable_op *op,
                            udpai_str writer,
                            const udpai_record_seals *seals,
                            udpa_bytes **ret_value,
                            udpa_error **ret_error);

/* ---- reading ---- */

/* Is this, behind the prefix, the key of a record? It may be malformed all the same; what else a
 * replica set has in etcd begins in another way. */
bool udpai_record_is_key(udpai_str key);

typedef struct udpai_record_reader {
    const udpai_record_seals *seals; /* NULL: what is sealed cannot be read */
    udpai_str writer;                /* of the value that was read last, as long as that is there */
    /* The rest is the reader's own. Resources share types and paths, ops share origins and
     * identities. */
    udpai_decoder decoder;
    udpai_strbuf texts, canonical;
    udpa_bytes *origin, *publisher;
    udpai_identity *identity;
} udpai_record_reader;

void udpai_record_reader_init(udpai_record_reader *reader, const udpai_record_seals *seals);
void udpai_record_reader_done(udpai_record_reader *reader);

/* Makes the op that leads to this: a PUT, which has an origin, a resource, expires_us, and the
 * identity if it is known, or, if
 * @p value is NULL, a DELETE, which has an origin, a type and a name. Its references are the
 * caller's, to be released by udpai_durable_op_done(). A value that is plain is read also if its
 * type is secret here: it may have become so later.
 *
 * UDPA_ERR_MALFORMED: no replica writes such a key or value. UDPA_ERR_PRECONDITION: it is sealed,
 * and there is no key, or another one. What the decoder or `unseal` refuses has their code. The
 * error has the key, and what is wrong. */
udpa_err udpai_record_read(udpai_record_reader *reader,
                           udpai_str key,
                           const udpai_str *value,
                           udpai_durable_op *ret_op,
                           udpa_error **ret_error);

/* Which key seals the value. @p ret_id: its id, or empty. A value that is no message is DAMAGED. */
udpai_record_sealed udpai_record_find_key(const udpai_record_seals *seals,
                                          udpai_str value,
                                          char ret_id[UDPAI_RECORD_KEY_ID_MAX]);

/* Is it a contribution of a type that is secret? */
bool udpai_record_is_secret(udpai_record_reader *reader, udpai_str key);

/* The same record, sealed with the key that seals now, also if it is plain; all else of it is as it
 * was, also fields that this version does not know. Errors as of udpai_record_read(), and of
 * sealing. */
udpa_err udpai_record_reseal(udpai_record_reader *reader,
                             udpai_str key,
                             udpai_str value,
                             udpa_bytes **ret_value,
                             udpa_error **ret_error);

#endif
