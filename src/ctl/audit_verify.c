/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/audit_verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "cli/output.h"
#include "storage/audit_line.h"

/* A node that was killed writes so many lines again at most. */
#define REMEMBERED 8192
#define ROOM ((size_t)64 << 10)

typedef struct seen {
    int64_t seq;
    udpai_audit_hash hash;
} seen;

/* What files contain together, in the order in which they were written. */
typedef struct chain {
    const char *file;
    uint64_t line; /* of the file */
    uint64_t n, n_repeated;
    int64_t first, last;
    bool begins_inside;    /* the first line follows one that is in none of the files */
    seen *remembered;      /* of which line's hash it is, by number */
    udpai_audit_hash hash; /* of the last line */
} chain;

static seen *
place_of(chain *self, int64_t seq)
{
    return &self->remembered[(uint64_t)seq % REMEMBERED];
}

static bool
complain(const chain *self, const char *what)
{
    udpai_cli_complain("%s:%" PRIu64 ": %s", self->file, self->line, what);
    return false;
}

static bool
begin(chain *self, const udpai_audit_place *place)
{
    self->first = place->seq;
    self->begins_inside = strcmp(place->before, UDPAI_AUDIT_FIRST_HASH) != 0;
    return true;
}

/* The line is one of before, once more: it follows what it followed then. */
static bool
is_repeated(chain *self, const udpai_audit_place *place, const udpai_audit_hash hash)
{
    const seen *same = place_of(self, place->seq);
    return same->seq == place->seq && strcmp(same->hash, hash) == 0;
}

static bool
take_line(chain *self, udpai_str line)
{
    udpai_audit_place place;
    udpai_audit_hash hash;
    if (!udpai_audit_line_read(line, &place))
        return complain(self, "this is no line of an audit, or it is not whole");
    if (!udpai_audit_line_hash(line, hash))
        return complain(self, "out of memory");
    bool is_first = self->n == 0;
    bool follows = !is_first && strcmp(place.before, self->hash) == 0;
    bool is_again = !is_first && is_repeated(self, &place, hash);
    if (is_first)
        (void)begin(self, &place);
    else if (!follows && !is_again)
        return complain(self, "this record does not follow the one before it: a line was "
                              "changed, put in, or taken out between them, or files are missing "
                              "or in another order");
    self->n++;
    self->n_repeated += is_again;
    self->last = place.seq;
    seen *at = place_of(self, place.seq);
    at->seq = place.seq;
    memcpy(at->hash, hash, sizeof(hash));
    memcpy(self->hash, hash, sizeof(hash));
    return true;
}

static bool
take_lines(chain *self, FILE *file, char *room)
{
    bool is_good = true;
    while (is_good && fgets(room, (int)ROOM, file)) {
        size_t len = strlen(room);
        self->line++;
        bool is_whole = len && room[len - 1] == '\n';
        is_good = is_whole ? take_line(self, (udpai_str){room, len - 1})
                           : complain(self, "this is no line of an audit, or it is not whole");
    }
    return is_good;
}

static udpai_cli_exit
take_file(chain *self, const char *path)
{
    UDPAI_AUTO_FREE char *room = udpai_alloc(ROOM);
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!file || !room) {
        udpai_cli_complain("%s: cannot be read: %s", path,
                           room ? strerror(errno) : "out of memory");
        return UDPAI_CLI_MISTAKE;
    }
    self->file = path;
    self->line = 0;
    bool is_good = take_lines(self, file, room);
    if (file != stdin)
        fclose(file);
    return is_good ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
print(const chain *self)
{
    udpai_strbuf out = {0};
    if (self->n == 0)
        udpai_strbuf_puts(&out, "no records\n");
    else
        udpai_strbuf_printf(
            &out,
            "%" PRIu64 " records, number %" PRId64 " to %" PRId64
            ": each follows the one before it%s\n",
            self->n - self->n_repeated, self->first, self->last,
            self->begins_inside ? "; what came before the first one is in another file" : "");
    if (self->n_repeated)
        udpai_strbuf_printf(&out, "%" PRIu64 " were written twice, as after a crash\n",
                            self->n_repeated);
    return udpai_cli_print(&out);
}

udpai_cli_exit
udpai_ctl_audit_verify(const char *const *files, size_t n)
{
    chain all = {.remembered = udpai_alloc_array(REMEMBERED, sizeof(seen))};
    udpai_cli_exit result = all.remembered ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
    for (size_t i = 0; i < n && result == UDPAI_CLI_GOOD; i++)
        result = take_file(&all, files[i]);
    if (result == UDPAI_CLI_GOOD)
        result = print(&all);
    udpai_free(all.remembered);
    return result;
}
