/* SPDX-License-Identifier: Apache-2.0 */
/* rules.hh of a program that was built without the rules of protoc-gen-validate: messages are still
 * looked into, for what is unknown or deprecated there. */
#include "codec/rules.hh"
#include "codec/validate.h"

using namespace udpai;

const char *
udpai_rules_absent(void)
{
    return "this program was built without the rules of protoc-gen-validate (meson "
           "-Dvalidation=false)";
}

std::unique_ptr<TypeRules>
udpai::compile_rules(pb::DynamicMessageFactory *factory,
                     const pb::Descriptor *rules_type,
                     const pb::Descriptor *type)
{
    (void)factory;
    (void)rules_type;
    auto compiled = std::make_unique<TypeRules>();
    for (int i = 0; i < type->field_count(); i++)
        if (type->field(i)->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE)
            compiled->fields.push_back({type->field(i), Rules()});
    compiled->deprecated = deprecated_fields(type);
    return compiled;
}
