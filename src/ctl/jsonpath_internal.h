/* SPDX-License-Identifier: Apache-2.0 */
/* A compiled expression: between the file that makes it and the one that goes by it. Pure. */
#ifndef UDPAI_CTL_JSONPATH_INTERNAL_H
#define UDPAI_CTL_JSONPATH_INTERNAL_H

#include "base/vector.h"
#include "ctl/jsonpath.h"

typedef enum udpai_ctl_step_kind {
    UDPAI_CTL_STEP_FIELD,
    UDPAI_CTL_STEP_ITEM,
    UDPAI_CTL_STEP_SLICE,
    UDPAI_CTL_STEP_EACH, /* item of a list, or value of a map */
} udpai_ctl_step_kind;

typedef struct udpai_ctl_step {
    udpai_ctl_step_kind kind;
    size_t place;    /* in the expression, counted from 1 */
    char *name;      /* of a field; owned */
    long first, end; /* of an item the first alone; negative: from behind */
    bool has_end;
} udpai_ctl_step;

typedef enum udpai_ctl_part_kind {
    UDPAI_CTL_PART_TEXT,
    UDPAI_CTL_PART_PATH,
    UDPAI_CTL_PART_RANGE,
    UDPAI_CTL_PART_END,
} udpai_ctl_part_kind;

typedef struct udpai_ctl_part {
    udpai_ctl_part_kind kind;
    size_t place;
    char *text;      /* owned; NULL: it is none */
    bool is_of_root; /* a path: it begins with '$' */
    UDPAI_VECTOR(udpai_ctl_step) steps;
    size_t end; /* of a range: the index of its end */
} udpai_ctl_part;

struct udpai_ctl_jsonpath {
    UDPAI_VECTOR(udpai_ctl_part) parts;
};

#endif
