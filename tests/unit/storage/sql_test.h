/* SPDX-License-Identifier: Apache-2.0 */
/* For tests that go behind the engine's back, as an operator with the sqlite3 shell does. */
#ifndef UDPAI_TESTS_SQL_TEST_H
#define UDPAI_TESTS_SQL_TEST_H

#include <sqlite3.h>

#include "tests/unit/storage/storage_test.h"

/* Runs SQL on the database file; returns the first integer of the last row, or -1. */
static inline int64_t
run_sql(const struct fixture *fixture, const char *sql)
{
    char path[128];
    sqlite3 *handle = NULL;
    int64_t number = -1;
    assert_int_equal(sqlite3_open(path_in(fixture, "udpa.db", path), &handle), SQLITE_OK);
    while (sql && *sql) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(handle, sql, -1, &statement, &sql) != SQLITE_OK)
            fail_msg("%s", sqlite3_errmsg(handle));
        while (sqlite3_step(statement) == SQLITE_ROW)
            number = sqlite3_column_int64(statement, 0);
        if (sqlite3_finalize(statement) != SQLITE_OK)
            fail_msg("%s", sqlite3_errmsg(handle));
    }
    sqlite3_close(handle);
    return number;
}

#endif
