/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap file as tables: one for each message, with a row for each field, which has all that
 * is to be decided of the field: what it may be, whether it names a file, where its value goes.
 * What no column has is a function of the section, named in the row. */
#ifndef UDPAI_DAEMON_FIELDS_H
#define UDPAI_DAEMON_FIELDS_H

#include "daemon/diagnostics.h"
#include "daemon/option_rules.h"
#include "daemon/plan.h"

/* A value that the file has. */
typedef struct udpai_value {
    const Udpa__Config__V1__Bootstrap *bootstrap; /* the whole file */
    udpai_diagnostics *diagnostics;
    const udpai_options *options; /* NULL but where files are looked at */
    const char *path;             /* of the value: "sinks[2].file" */
    const void *in;               /* the message that has the field; NULL for the whole file */
    const void *message;          /* what it is: a message, */
    const char *text;             /* or a text, */
    uint64_t number;              /* or a number, true, or an enum's */
    size_t index;                 /* in its list */
} udpai_value;

typedef void (*udpai_value_fn)(const udpai_value *value);

typedef struct udpai_section udpai_section;

/* Does the page /config have its value, of a text, or of what is free in form? (Others it always
 * has.) Nobody outside may learn a secret by it: docs/design/admin.md. */
typedef enum udpai_disclosure {
    UDPAI_DISCLOSURE_UNDECIDED, /* it has not, and a test fails */
    UDPAI_DISCLOSURE_SHOWN,
    UDPAI_DISCLOSURE_REDACTED,
} udpai_disclosure;

/* What is not given is not looked at. */
typedef struct udpai_field {
    const char *name;
    const udpai_section *of; /* of messages of this package */
    udpai_disclosure disclosure;

    /* What it may be. */
    const char *none;  /* reported if it is not there */
    const char *empty; /* reported of an item that is an empty text, in place of the word's error */
    udpa_err (*word)(const char *text, udpa_error **ret_error);
    /* Of a number that is not 0, of a time in ms, and the second one of how many items there are;
     * 0: no bound. */
    uint64_t min, max;
    const char *bounds; /* of the report: "1 h", "are too many" */
    bool is_namespace;  /* others may be slips of it */
    /* Of each value or item that is there; of numbers and times in place of the bounds. */
    udpai_value_fn check;
    udpai_value_fn check_files;

    /* Where a number, a time, or true goes: a place in the plan; and what it is if it is not given.
     * 0: what the plan has there. */
    size_t to, to_size;
    uint64_t otherwise;

    /* Does an option take its place? Then its files are not looked at. */
    bool (*is_replaced)(const udpai_options *options);
    /* Of the file's own fields: makes the plan of it, also where the file does not have it. */
    udpa_err (*use)(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error);
    bool is_taken_over; /* when the file is read again; others take a restart */
} udpai_field;

#define UDPAI_TO(member)                                                                           \
    .to = offsetof(udpai_plan, member), .to_size = sizeof(((udpai_plan *)0)->member)
/* A name, an address, the path of a file. */
#define UDPAI_PUBLIC .disclosure = UDPAI_DISCLOSURE_SHOWN
/* Anything that an operator may write there. */
#define UDPAI_MAY_BE_SECRET .disclosure = UDPAI_DISCLOSURE_REDACTED
#define UDPAI_REQUIRED .none = "is required"
#define UDPAI_EACH_REQUIRED .empty = "is required"
#define UDPAI_NOT_EMPTY .empty = "is empty"
/* A list of prefixes, which are all if there are none. */
#define UDPAI_PREFIXES                                                                             \
    .empty = "is empty: leave 'namespaces' out if all are meant", .word = udpai_prefix_check_word

/* A message of the file. */
struct udpai_section {
    const ProtobufCMessageDescriptor *descriptor;
    const udpai_field *fields; /* in the order in which they are looked at, and used */
    size_t n_fields;
    udpai_value_fn check; /* of a message as a whole; behind its fields */
    udpai_value_fn check_files;
};

#define UDPAI_SECTION(prefix, table)                                                               \
    .descriptor = &udpa__config__v1__##prefix##__descriptor, .fields = table,                      \
    .n_fields = UDPAI_ARRAY_LEN(table)

/* Checks a message, by its values alone. */
void udpai_section_check(const udpai_section *section,
                         const Udpa__Config__V1__Bootstrap *message,
                         udpai_diagnostics *diagnostics);
/* At the files that it names. */
void udpai_section_check_files(const udpai_section *section,
                               const Udpa__Config__V1__Bootstrap *message,
                               const udpai_options *options,
                               udpai_diagnostics *diagnostics);
/* Puts into the plan what rows have a place for, but for times that are too short; false: there is
 * one. Not of items of lists. @p message: NULL for one that is not there. */
bool udpai_section_apply(const udpai_section *section, const void *message, udpai_plan *plan);

typedef void (*udpai_namespace_fn)(void *userdata, const char *name_space);
/* All texts of rows with is_namespace, as often as they are there. */
void udpai_section_namespaces(const udpai_section *section,
                              const Udpa__Config__V1__Bootstrap *message,
                              udpai_namespace_fn found,
                              void *userdata);

/* ---- for the functions of rows ---- */

/* Of a field beside the value, or of one of a value that is a message. */
void udpai_value_error(const udpai_value *value, const char *field, const char *format, ...)
    UDPA_PRINTF(3, 4);
void udpai_value_warn(const udpai_value *value, const char *field, const char *format, ...)
    UDPA_PRINTF(3, 4);

/* 0 for NULL. */
uint64_t udpai_duration_ms(const Google__Protobuf__Duration *duration);

#endif
