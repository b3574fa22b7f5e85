/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of protoc-gen-validate, which descriptors carry as options of fields, messages and
 * oneofs, made ready to be used. C++, like all that is done by reflection. */
#ifndef UDPAI_RULES_HH
#define UDPAI_RULES_HH

#include "codec/world.hh"

namespace udpai
{

/* Durations and times in nanoseconds, which 64 bits do not hold. */
using Nanos = __int128;

/* One value of a field that is no message, or a duration or time. Which member counts depends on
 * the field's type. */
struct Scalar {
    int64_t integer = 0;
    uint64_t natural = 0;
    double real = 0;
    Nanos nanos = 0;
    const std::string *text = nullptr; /* also of bytes, and the type URL of an Any */
    const pb::EnumDescriptor *enumeration = nullptr;
    int64_t now_us = 0;
};

/* What a value must be. */
class ValueRule
{
  public:
    virtual ~ValueRule() = default;
    /* Empty: it is. Else "must be …". */
    virtual std::string Check(const Scalar &value) const = 0;
};

/* The rules of one field, or of the items, keys or values of one. */
struct Rules {
    bool required = false; /* of a message */
    bool skip = false;     /* what is in the message is not looked at */
    std::unique_ptr<ValueRule> value;
    const pb::FieldDescriptor *wrapped = nullptr; /* of a wrapper: the field that has the value */

    /* Of a list or map. */
    uint64_t min = 0, max = UINT64_MAX;
    bool unique = false, ignore_empty = false;
    std::unique_ptr<Rules> items, keys, values;

    bool Any() const
    {
        return required || value || min || max != UINT64_MAX || unique || items || keys || values;
    }
};

/* A field that must be looked at: it has rules, or messages below it may have some. */
struct FieldRules {
    const pb::FieldDescriptor *field;
    Rules rules;
};

/* A field that is deprecated, or can have values that are. */
struct DeprecatedField {
    const pb::FieldDescriptor *field;
    bool is_deprecated;
    const pb::EnumDescriptor *values; /* NULL: none of its values is */
    bool has_default; /* and one that was left out has a value, which is deprecated */
};

struct TypeRules {
    bool is_disabled = false;       /* nothing in this message is looked at */
    std::vector<FieldRules> fields; /* outside of oneofs first, as Envoy does */
    std::vector<const pb::OneofDescriptor *> required_oneofs;
    std::vector<DeprecatedField> deprecated;
};

/* @p rules_type: validate.FieldRules as the schema has it; NULL: there are no rules. */
std::unique_ptr<TypeRules> compile_rules(pb::DynamicMessageFactory *factory,
                                         const pb::Descriptor *rules_type,
                                         const pb::Descriptor *type);

/* In deprecated.cc. */
std::vector<DeprecatedField> deprecated_fields(const pb::Descriptor *type);

/* In value_rule.cc: of the member of FieldRules that is set; NULL if it is none of values, or does
 * not fit the field. */
std::unique_ptr<ValueRule> new_value_rule(const pb::Message &rules,
                                          const pb::FieldDescriptor *kind,
                                          const pb::FieldDescriptor *field);

/* The rest is in rule_read.cc. Is this extension of options set, and not to false? */
bool option_flag(const pb::Message &options, int number);

/* Reading rules by the names of their fields; what is not set is empty, false, 0. */
bool rule_has(const pb::Message &rules, const char *name);
bool rule_flag(const pb::Message &rules, const char *name, bool otherwise = false);
uint64_t rule_number(const pb::Message &rules, const char *name, uint64_t otherwise);
const pb::Message *rule_message(const pb::Message &rules, const char *name);

Nanos nanos_of(const pb::Message &duration_or_time);

} /* namespace udpai */

#endif
