/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded engine: contributions in an SQLite database, written by a thread of its own.
 *
 * Everything queued when the writer wakes is committed as one transaction and reported afterwards,
 * ticket by ticket in the order of commit(); what was reported as UDPA_OK survives the process and
 * the machine (WAL, synchronous=FULL). A batch that cannot be committed is reported as failed and
 * changes nothing; later ones are tried all the same, so a full disk costs durability, never the
 * node.
 *
 * commit() never waits. The queue has no limit of its own: while the disk is slower than the node
 * it holds references to resources that the store mostly holds too. A caller that must bound it
 * looks at udpai_sqlite_stats_of() and holds back publishers.
 *
 * The database can be read with the sqlite3 shell while the node runs; table contribution has a row
 * for each contribution, with a `data` that is a udpa.service.discovery.v1.Resource message.
 * Payloads of secret types are encrypted there, or, without a key, not there at all. */
#ifndef UDPAI_SQLITE_H
#define UDPAI_SQLITE_H

#include "storage/seal.h"
#include "store/durable.h"

/* In the directory. */
#define UDPAI_SQLITE_FILE "udpa.db"
#define UDPAI_SQLITE_OPS_PER_COMMIT 16384
#define UDPAI_SQLITE_BUSY_MS 5000
/* Of the audit (storage/audit_table.h). */
#define UDPAI_SQLITE_AUDIT_BYTES ((uint64_t)64 << 20)
#define UDPAI_SQLITE_AUDIT_AGE_US ((uint64_t)90 * 86400 * 1000000)

/* All copied, except @p userdata. */
typedef struct udpai_sqlite_options {
    const char *directory;           /* made, with mode 0700, if its parent exists */
    const udpai_sealer *sealer;      /* NULL, or without a key: secrets are not kept */
    const char *const *secret_types; /* besides Envoy's: type URLs, or message names */
    size_t n_secret_types;
    size_t max_ops_per_commit; /* of batches joined in one transaction; 0: the default above. A
                                  single batch may be larger */
    const char *release;       /* of the program, for those of another; NULL: it is not noted */
    bool keeps_format;         /* a database of another format is an error, and stays as it is */
    bool takes_loss;           /* a database that seems lost is begun anew, instead of an error */
    /* Of records of the audit: the oldest are deleted with the next ones; 0: the defaults above. */
    uint64_t audit_max_bytes, audit_max_age_us;
    unsigned busy_ms; /* how long to wait for another program that writes; 0: the default above */
    udpai_durable_done_fn done;
    void *userdata;
} udpai_sqlite_options;

typedef struct udpai_sqlite_stats {
    size_t n_queued;         /* batches not reported yet */
    uint64_t n_committed;    /* batches */
    uint64_t n_failed;       /* batches */
    uint64_t n_transactions; /* that were committed */
    uint64_t n_damaged;      /* rows that could not be loaded */
    uint64_t n_unreadable;   /* secrets that could not be loaded for lack of their key */
    uint64_t size_bytes; /* of the database, and of its write-ahead log; 0: none, or not known */
    uint64_t log_bytes;
    uint64_t audit_bytes; /* of records, and how many were written by this process */
    uint64_t n_audit;
} udpai_sqlite_stats;

/* Opens or makes the database and begins the writer thread.
 *
 * UDPA_ERR_PRECONDITION: another process has the directory, or the database is of a newer version
 * or not ours, or what it kept is lost. UDPA_ERR_IO: it cannot be opened, or is damaged. The error
 * has what to do.
 *
 * Of the engine's functions, load() is called before the first commit(), from the thread that
 * opened it; commit() from one thread at a time; close() after the last commit(). `done` is called
 * on the writer thread, and the last ones before close() returns; only where there is no memory to
 * queue an empty batch, it is called within commit(). A new owner of the engine may set
 * engine->done and userdata before the first commit(). */
udpa_err udpai_sqlite_open(udpai_durable_engine **ret_engine,
                           const udpai_sqlite_options *options,
                           udpa_error **ret_error);

/* Other keys, copied, from the next commit on. Secrets that another key than the first one of them
 * has sealed are sealed anew: with those keys, or the ones before. Once it was loaded. */
void udpai_sqlite_set_sealer(udpai_durable_engine *engine, const udpai_sealer *sealer);
/* Records of the audit go beyond other bounds from now on; 0: the defaults. */
void udpai_sqlite_set_audit_bounds(udpai_durable_engine *engine,
                                   uint64_t max_bytes,
                                   uint64_t max_age_us);

/* What was lost when it was opened, with takes_loss; NULL: nothing. Valid as long as the engine. */
const udpa_error *udpai_sqlite_loss(udpai_durable_engine *engine);

/* Was it a backup, until it was opened? Then this is another store than that of which it was made.
 */
bool udpai_sqlite_was_backup(udpai_durable_engine *engine);

/* ---- for a process that takes the place of this one (docs/design/restart.md) ---- */

typedef enum udpai_sqlite_hold {
    UDPAI_SQLITE_WRITES, /* as it began */
    /* What is committed waits; the database stays open, and its directory locked. */
    UDPAI_SQLITE_WAITS,
    /* What was committed before is written, the rest waits; then the database is closed, and its
     * directory is another process's. */
    UDPAI_SQLITE_AWAY,
    /* The same for ever: what waits, and what is committed from now on, fails. */
    UDPAI_SQLITE_GONE,
} udpai_sqlite_hold;

/* From now on; any thread. Back from AWAY nobody else may have changed the database: if it cannot
 * be opened, that is tried again and logged. From GONE there is no way back. */
void udpai_sqlite_set_hold(udpai_durable_engine *engine, udpai_sqlite_hold hold);
/* Has another process the directory, for all that this one has of it? Any thread. */
bool udpai_sqlite_is_away(udpai_durable_engine *engine);

/* Any thread. */
udpai_sqlite_stats udpai_sqlite_stats_of(udpai_durable_engine *engine);

#endif
