/* SPDX-License-Identifier: Apache-2.0 */
/* Does a payload follow its type's descriptors? Whether it can be parsed, whether it has fields
 * that its type does not know, and whether it keeps the rules of protoc-gen-validate that the
 * descriptors carry as options (docs/guide/validation.md); and what it uses of that which
 * descriptors mark as deprecated. What is packed in an Any of a known type is looked into, too.
 * Nothing here is on unless it is configured: a node must not reject what its clients would have
 * taken.
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
#define UDPAI_CHECK_DEPRECATED 8u

/* What is reported to a configuration with UDPAI_CHECK_RULES if this program was built without
 * them, and then nothing is checked (UDPA_ERR_UNIMPLEMENTED); NULL: it has them. */
const char *udpai_rules_absent(void);

/* Of one payload at most so many errors are reported. */
#define UDPAI_VIOLATIONS_MAX 50

/* The rules of a schema, prepared as they are needed. Counted; any thread. */
typedef struct udpai_validator udpai_validator;

/* Takes a reference to the schema, to which nothing may be added any more. */
udpa_err
udpai_validator_new(udpai_validator **ret_validator, udpai_schema *schema, udpa_error **ret_error);
udpai_validator *udpai_validator_ref(udpai_validator *validator);
udpai_validator *udpai_validator_unref(udpai_validator *validator);
UDPA_DEFINE_CLEANUP(udpai_validator, udpai_validator_unref)

/* What a payload uses although its descriptor has "deprecated": a field that is there, or a value
 * of an enum, also one that a field has because it was left out. All borrowed. */
typedef struct udpai_deprecated {
    const char *name;   /* full name of the field, or the value; there as long as the schema is */
    const char *holder; /* of a value: full name of the field that has it; NULL: it is a field */
    bool is_default;    /* a value that was not written */
    bool is_disallowed; /* unless somebody allows it */
    const char *path;   /* of the first use */
    size_t n_uses;
} udpai_deprecated;

/* Of each such feature a payload is spoken of once. */
typedef struct udpai_deprecation {
    /* May it be used? At the first use. NULL: unless it is disallowed. */
    bool (*allows)(void *userdata, const udpai_deprecated *feature);
    /* It was used by a payload in which no error was found. NULL: it is not reported. */
    void (*used)(void *userdata, const udpai_deprecated *feature);
    void *userdata;
} udpai_deprecation;

/* The key of a runtime that allows a feature is this and its name. */
#define UDPAI_DEPRECATED_KEY "envoy.deprecated_features:"

typedef struct udpai_validation {
    unsigned checks; /* UDPAI_CHECK_…; 0: none */
    /* Reject a payload of a type that has no descriptors here. */
    bool refuse_unknown_types;
    bool refuse_unknown_packed; /* and one in which something of such a type is packed */
    int64_t now_us;             /* since 1970, for rules on times */
    udpai_deprecation deprecation;
} udpai_validation;

/* An error: the fields that lead there ("" for the payload itself), and what must be. Values of
 * fields are never quoted, they may be secret. Both borrowed. */
typedef void (*udpai_violation_fn)(void *userdata, const char *path, const char *reason);

/* UDPA_OK; UDPA_ERR_INVAL after @p report was called for each error; else why it could not be
 * looked at. */
udpa_err udpai_validate(const udpai_validator *validator,
                        udpai_str type_url,
                        udpai_str value,
                        const udpai_validation *validation,
                        udpai_violation_fn report,
                        void *userdata);

/* The same; the error is "path: reason", followed by how many more there are. */
udpa_err udpai_validate_first(const udpai_validator *validator,
                              udpai_str type_url,
                              udpai_str value,
                              const udpai_validation *validation,
                              udpa_error **ret_error);

UDPA_END_DECLS

#endif
