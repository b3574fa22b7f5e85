/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a backup from any bytes: what is read of it can be written, and is the same then. */
#include "storage/backup_manifest.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char room[UDPAI_BACKUP_MANIFEST_BYTES] = {0}, again[UDPAI_BACKUP_MANIFEST_BYTES];
    udpai_backup_manifest manifest = {0}, same = {0};
    unsigned len = 0;
    memcpy(room, data, size < sizeof(room) ? size : sizeof(room));
    if (!udpai_backup_manifest_read(room, &manifest, &len))
        return 0;
    FUZZ_CHECK(len < sizeof(room));
    FUZZ_CHECK(strnlen(manifest.node, sizeof(manifest.node)) < sizeof(manifest.node));
    FUZZ_CHECK(strnlen(manifest.sha256, sizeof(manifest.sha256)) < sizeof(manifest.sha256));
    udpai_backup_manifest_end(&manifest, udpai_backup_manifest_put(&manifest, again), again);
    FUZZ_CHECK(udpai_backup_manifest_read(again, &same, &len));
    FUZZ_CHECK(same.size_bytes == manifest.size_bytes && same.n_resources == manifest.n_resources);
    FUZZ_CHECK(strcmp(same.sha256, manifest.sha256) == 0);
    return 0;
}
