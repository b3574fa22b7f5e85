/* SPDX-License-Identifier: Apache-2.0 */
/* A file of records, each of which is there whole or not at all. It survives the process, however
 * that ends; what the machine had not written yet when it lost its power may be missing at the end.
 * Appending does not wait for a disk. Belongs to one thread. */
#ifndef UDPAI_JOURNAL_H
#define UDPAI_JOURNAL_H

#include "base/bytes.h"
#include "base/error.h"

#define UDPAI_JOURNAL_RECORD_MAX ((size_t)64 << 20)

typedef struct udpai_journal udpai_journal;

typedef udpa_err (*udpai_journal_read_fn)(void *userdata, udpai_str record);
typedef udpa_err (*udpai_journal_write_fn)(void *userdata, udpai_journal *journal);

/* Made if it is not there, of mode 0600; reads what it has, in order. What does not read to its end
 * as records is cut off. What it was written for is its owner, any text: the file of another, which
 * somebody has copied here, is as good as empty. An error of @p read ends it. */
udpa_err udpai_journal_open(udpai_journal **ret_journal,
                            const char *path,
                            udpai_str owner,
                            udpai_journal_read_fn read,
                            void *userdata,
                            udpa_error **ret_error);
udpai_journal *udpai_journal_close(udpai_journal *journal);
UDPA_DEFINE_CLEANUP(udpai_journal, udpai_journal_close)

/* On failure the file is as it was; if even that cannot be had, it is removed, so that nothing uses
 * what is old, and nothing is appended any more. */
udpa_err udpai_journal_append(udpai_journal *journal, udpai_str record, udpa_error **ret_error);

/* What is in it is not used: the file is removed, and nothing is appended until it is replaced. */
void udpai_journal_give_up(udpai_journal *journal);

/* It has grown to several times what it was when it was written last as a whole. */
bool udpai_journal_is_long(const udpai_journal *journal);
/* Replaces what is in it by what @p write appends. On failure it is as it was. */
udpa_err udpai_journal_rewrite(udpai_journal *journal,
                               udpai_journal_write_fn write,
                               void *userdata,
                               udpa_error **ret_error);

#endif
