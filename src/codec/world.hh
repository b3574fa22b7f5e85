/* SPDX-License-Identifier: Apache-2.0 */
/* What the C++ files of the codec share (all that use libprotobuf by reflection): the schema from
 * the inside. Nothing else is C++, and nothing else may include this. */
#ifndef UDPAI_WORLD_HH
#define UDPAI_WORLD_HH

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/type_resolver.h>

extern "C" {
#include "base/alloc.h"
#include "base/error.h"
}

#include "codec/descriptor.h"
#include "codec/message.h"

namespace udpai
{

namespace pb = google::protobuf;

/* Where a file of the schema comes from. */
enum class Origin {
    kLoaded,
    kOwn,   /* udpa/…: ours must be what the program was built with */
    kSpare, /* part of a public package; gives way to a loaded one */
};

struct File {
    std::shared_ptr<const pb::FileDescriptorProto> proto; /* shares the set that it came in */
    std::string source;
    Origin origin;
};

using Files = std::map<std::string, File>;

/* Everything that is made of one set of files. */
struct World {
    World();

    pb::DescriptorPool pool;
    pb::DynamicMessageFactory factory;
    /* For json_util: see message.cc. */
    std::unique_ptr<pb::util::TypeResolver> read_resolver, write_resolver;
    std::vector<std::string> type_names; /* sorted */
};

/* In message.cc. */
std::unique_ptr<pb::util::TypeResolver> new_read_resolver(const pb::DescriptorPool *pool);
std::unique_ptr<pb::util::TypeResolver> new_write_resolver(const pb::DescriptorPool *pool);

inline const pb::Descriptor *
descriptor_of(const udpai_type *type)
{
    return reinterpret_cast<const pb::Descriptor *>(type);
}

inline const udpai_type *
type_of(const pb::Descriptor *descriptor)
{
    return reinterpret_cast<const udpai_type *>(descriptor);
}

/* Runs @p body and turns what it throws into an error code. */
template <typename Body>
udpa_err
guarded(udpa_error **ret_error, Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return udpai_fail(ret_error, UDPA_ERR_NOMEM, "out of memory");
    } catch (const std::exception &problem) {
        return udpai_fail(ret_error, UDPA_ERR_INTERNAL, "protobuf: %s", problem.what());
    }
}

} /* namespace udpai */

struct udpai_schema {
    std::atomic<unsigned> refs{1};
    udpai::Files files;
    std::unique_ptr<udpai::World> world;
};

#endif
