// A long cascade cut into parts where little data pass from one Einsum to a later one. Parts that
// are equal up to names have equal mappings, and mappings of all parts, one after the other, are a
// mapping of the whole: what passes between parts lies in the outermost memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/mapping/mapping.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::ffm {

/// Einsums [first, last) of the workload, in its order.
struct Part {
    int first = 0, last = 0;
    /// An earlier part that is equal up to names, or this one's own index.
    std::size_t same = 0;
};

/// Parts of at most `most` Einsums, so that the tensors that pass between parts have as few bits
/// as can be.
std::vector<Part> parts_of(const workload::Workload& workload, int most);

/// Names of the Einsums of a part.
std::vector<std::string> einsums_of(const workload::Workload& workload, const Part& part);

/// One after the other. `mappings`: by part; of those whose `same` is another part it is not
/// looked at. Whether the result is legal the caller finds out.
mapping::Mapping in_sequence(const workload::Workload& workload, const std::vector<Part>& parts,
                             const std::vector<mapping::Mapping>& mappings);

}  // namespace tessera::ffm
