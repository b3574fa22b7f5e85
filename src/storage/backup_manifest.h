/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind the database of a backup: lines "name: value", filled up with zero bytes. */
#ifndef UDPAI_BACKUP_MANIFEST_H
#define UDPAI_BACKUP_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#define UDPAI_BACKUP_MANIFEST_BYTES 4096
#define UDPAI_BACKUP_SHA256_LEN 64 /* hexadecimal digits */

/* Texts that are longer are cut. */
typedef struct udpai_backup_manifest {
    char release[32]; /* of the udpad that has made it */
    char node[256];   /* its id … */
    char instance[40];
    char epoch[72]; /* of its store, which a restored one does not have any more */
    char made[24];  /* when: 2026-12-01T12:00:00Z */
    uint64_t format;
    uint64_t commit; /* the last one that it has */
    uint64_t n_resources, n_audit;
    uint64_t size_bytes;                      /* of the database */
    char sha256[UDPAI_BACKUP_SHA256_LEN + 1]; /* of the database and the lines before */
} udpai_backup_manifest;

/* Writes all lines but that of the SHA-256; returns the number of bytes. */
unsigned udpai_backup_manifest_put(const udpai_backup_manifest *manifest,
                                   char room[UDPAI_BACKUP_MANIFEST_BYTES]);
/* Adds that line behind so many bytes, and fills the room. */
void udpai_backup_manifest_end(const udpai_backup_manifest *manifest,
                               unsigned len,
                               char room[UDPAI_BACKUP_MANIFEST_BYTES]);
/* Any bytes. *ret_len: those before the line of the SHA-256. False: it is no manifest. */
bool udpai_backup_manifest_read(const char room[UDPAI_BACKUP_MANIFEST_BYTES],
                                udpai_backup_manifest *ret_manifest,
                                unsigned *ret_len);

#endif
