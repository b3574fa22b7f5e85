/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled expression: between the file that makes it and the one that goes by it. Pure. */
#ifndef UDPAI_CLI_JSONPATH_INTERNAL_H
#define UDPAI_CLI_JSONPATH_INTERNAL_H

#include "base/vector.h"
#include "cli/jsonpath.h"

typedef enum udpai_cli_step_kind {
    UDPAI_CLI_STEP_FIELD,
    UDPAI_CLI_STEP_ITEM,
    UDPAI_CLI_STEP_SLICE,
    UDPAI_CLI_STEP_EACH, /* item of a list, or value of a map */
} udpai_cli_step_kind;

typedef struct udpai_cli_step {
    udpai_cli_step_kind kind;
    size_t place;    /* in the expression, counted from 1 */
    char *name;      /* of a field; owned */
    long first, end; /* of an item the first alone; negative: from behind */
    bool has_end;
} udpai_cli_step;

typedef enum udpai_cli_part_kind {
    UDPAI_CLI_PART_TEXT,
    UDPAI_CLI_PART_PATH,
    UDPAI_CLI_PART_RANGE,
    UDPAI_CLI_PART_END,
} udpai_cli_part_kind;

typedef struct udpai_cli_part {
    udpai_cli_part_kind kind;
    size_t place;
    char *text;      /* owned; NULL: it is none */
    bool is_of_root; /* a path: it begins with '$' */
    UDPAI_VECTOR(udpai_cli_step) steps;
    size_t end; /* of a range: the index of its end */
} udpai_cli_part;

struct udpai_cli_jsonpath {
    UDPAI_VECTOR(udpai_cli_part) parts;
};

#endif
