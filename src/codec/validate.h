/* SPDX-License-Identifier: Apache-2.0 */
/* Is a payload what its type's descriptors say it should be? Whether it can be parsed, whether it
 * has fields that its type does not know, and whether it keeps the rules of protoc-gen-validate
 * that the descriptors carry as options (docs/guide/validation.md). What is packed in an Any of a
 * known type is looked into, too. Nothing here is on unless somebody asks for it: a node must not
 * refuse what its clients would have taken.
 *
 * Pure computation: any thread. The work is bounded by the size of the payload. */
#ifndef UDPAI_VALIDATE_H
#define UDPAI_VALIDATE_H

#include "codec/schema.h"

UDPA_BEGIN_DECLS

/* Each includes that the payload can be parsed. */
#define UDPAI_CHECK_PARSE 1u
#define UDPAI_CHECK_UNKNOWN_FIELDS 2u
#define UDPAI_CHECK_RULES 4u

/* Of one payload at most so many mistakes are told. */
#define UDPAI_VIOLATIONS_MAX 50

/* The rules of a schema, prepared as they are needed. Counted; any thread. */
typedef struct udpai_validator udpai_validator;

/* Takes a reference to the schema, to which nothing may be added any more. */
udpa_err
udpai_validator_new(udpai_validator **ret_validator, udpai_schema *schema, udpa_error **ret_error);
udpai_validator *udpai_validator_ref(udpai_validator *validator);
udpai_validator *udpai_validator_unref(udpai_validator *validator);
UDPA_DEFINE_CLEANUP(udpai_validator, udpai_validator_unref)

typedef struct udpai_validation {
    unsigned checks; /* UDPAI_CHECK_…; 0: none */
    /* Refuse a payload whose type has no descriptors here. */
    bool refuse_unknown_types;
    bool refuse_unknown_packed; /* and one in which something of such a type is packed */
    int64_t now_us;             /* since 1970, for rules on times */
} udpai_validation;

/* A mistake: the fields that lead there ("" for the payload itself), and what must be. Values of
 * fields are never quoted, they may be secret. Both borrowed. */
typedef void (*udpai_violation_fn)(void *userdata, const char *path, const char *reason);

/* UDPA_OK; UDPA_ERR_INVAL after @p tell was called for each mistake; else why it could not be
 * looked at. */
udpa_err udpai_validate(const udpai_validator *validator,
                        udpai_str type_url,
                        udpai_str value,
                        const udpai_validation *validation,
                        udpai_violation_fn tell,
                        void *userdata);

/* The same; the error is "path: reason", followed by how many more there are. */
udpa_err udpai_validate_first(const udpai_validator *validator,
                              udpai_str type_url,
                              udpai_str value,
                              const udpai_validation *validation,
                              udpa_error **ret_error);

UDPA_END_DECLS

#endif
