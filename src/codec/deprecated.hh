/* SPDX-License-Identifier: Apache-2.0 */
/* What one payload uses of that which is deprecated, collected while validate.cc walks through it.
 * There is at most one record for each field and value that the schema marks, however often a
 * payload uses them. */
#ifndef UDPAI_DEPRECATED_HH
#define UDPAI_DEPRECATED_HH

#include <functional>
#include <unordered_map>

#include "codec/rules.hh"
#include "codec/validate.h"

namespace udpai
{

class DeprecatedUses
{
  public:
    /* Is called for a field that is used although it, or its value, may not be. */
    using Refuse = std::function<void(const pb::FieldDescriptor *, const std::string &reason)>;

    explicit DeprecatedUses(const udpai_deprecation &asked) : asked_(asked)
    {
    }

    /* What this message itself has of these fields; @p path leads to the message. */
    void Look(const pb::Message &message,
              const std::vector<DeprecatedField> &fields,
              const std::string &path,
              const Refuse &refuse);

    /* The payload was found good. */
    void ReportAll() const;

  private:
    struct Use {
        const pb::FieldDescriptor *field;
        const pb::EnumValueDescriptor *value; /* NULL: the field is it */
        bool is_default;
        std::string path;
        size_t n = 0;
        bool is_allowed = false;
    };

    Use Begin(const pb::FieldDescriptor *field,
              const pb::EnumValueDescriptor *value,
              bool is_default,
              const std::string &path) const;
    udpai_deprecated Shown(const Use &use) const;
    std::string Reason(const Use &use) const;

    const udpai_deprecation &asked_;
    std::unordered_map<const void *, size_t> found_; /* field or value to its place in uses_ */
    std::vector<Use> uses_;
};

} /* namespace udpai */

#endif
