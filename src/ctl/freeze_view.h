/* SPDX-License-Identifier: Apache-2.0 */
/* The page /freezes, read, and as tables. Pure. */
#ifndef UDPAI_CTL_FREEZE_VIEW_H
#define UDPAI_CTL_FREEZE_VIEW_H

#include "cli/table.h"
#include "codec/tree.h"

/* Zeroes: nothing is frozen. */
typedef struct udpai_ctl_freezes {
    struct udpai_documents *documents; /* owned: what the others are parts of */
    const udpai_tree *freezes, *changes;
    size_t n_changes; /* also those that are not listed */
} udpai_ctl_freezes;

/* False: it is no such page, or there is no memory. To be followed by done() in any case. */
bool udpai_ctl_freezes_read(udpai_ctl_freezes *freezes, udpai_str text);
void udpai_ctl_freezes_done(udpai_ctl_freezes *freezes);

/* Is there a freeze of just this prefix (empty: of everything)? */
bool udpai_ctl_freezes_has(const udpai_ctl_freezes *freezes, udpai_str prefix);
/* A line for each change that waits, below a head. */
void udpai_ctl_freezes_put(const udpai_ctl_freezes *freezes,
                           udpai_cli_layout *layout,
                           udpai_strbuf *out);

#endif
