/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <memory>
#include <new>

#include <re2/re2.h>

extern "C" {
#include "base/error.h"
#include "base/util.h"
}

#include "codec/regex.h"

namespace
{

/* What a program and its states may take; the largest expressions that people write need a tenth.
 */
constexpr int64_t kMemory = 1 << 20;

udpa_err
compile(udpai_regex **ret_regex, udpai_str pattern, udpa_error **ret_error)
{
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kMemory);
    try {
        auto regex =
            std::make_unique<re2::RE2>(re2::StringPiece(pattern.data, pattern.len), options);
        if (!regex->ok())
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "'%.*s' is no regular expression of RE2: %s", UDPAI_SHOWN(pattern),
                              regex->error().c_str());
        *ret_regex = reinterpret_cast<udpai_regex *>(regex.release());
        return UDPA_OK;
    } catch (const std::bad_alloc &) {
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
}

bool
matches(const udpai_regex *regex, udpai_str text)
{
    return re2::RE2::FullMatch(re2::StringPiece(text.data, text.len),
                               *reinterpret_cast<const re2::RE2 *>(regex));
}

void
release(udpai_regex *regex)
{
    delete reinterpret_cast<re2::RE2 *>(regex);
}

} /* namespace */

const udpai_regex_ops udpai_re2 = {compile, matches, release};
