// The mapspace for methods in Python: points, and what is done with many of them at a time, so that
// Python has work for each batch and none for each mapping.
#pragma once

#include <pybind11/numpy.h>

#include <memory>
#include <optional>
#include <vector>

#include "bindings.hpp"
#include "tessera/plugin/registry.hpp"
#include "tessera/search/open_space.hpp"
#include "tessera/search/strategy.hpp"
#include "tessera/search/vector.hpp"
#include "tessera/search/vector_blocks.hpp"
#include "tessera/tessera.hpp"

// Not copied to lists and back.
PYBIND11_MAKE_OPAQUE(std::vector<tessera::search::Candidate>)
PYBIND11_MAKE_OPAQUE(std::vector<tessera::search::Point>)

namespace tessera::python {

using Points = std::vector<search::Point>;
using Candidates = std::vector<search::Candidate>;
template <class T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

/// A space and its views as numbers. One that a host opened ends with the search; who still holds
/// it gets an error. Used with the GIL.
class SpaceHandle {
public:
    explicit SpaceHandle(const search::Space& space) : space_(&space) {}

    /// \throws UserError if the search is over
    const search::Space& space() const;
    search::VectorEncoding& encoding();
    search::VectorBlocks& blocks();
    void close();

    Array<float> encode(const Points& points);
    Points decode(const Array<float>& vectors);
    /// \throws UserError if one of them is no point of the space, as far as its form tells
    void check(const Points& points) const;

private:
    const search::Space* space_;
    std::unique_ptr<search::VectorEncoding> encoding_;
    std::unique_ptr<search::VectorBlocks> blocks_;
};

/// A problem's own space, opened by Python: evaluates by itself.
class OpenedSpace {
public:
    OpenedSpace(const Problem& problem, const mapspace::MapSpaceOptions& mapspace,
                const std::string& model, int threads);

    const std::shared_ptr<SpaceHandle>& handle() const {
        return handle_;
    }
    /// Makes and evaluates all of them on all threads.
    void run(Candidates& candidates);
    mapping::Mapping mapping(const search::Point& point);

private:
    const Problem problem_;
    plugin::Owned<model::CostModel> model_;
    std::unique_ptr<search::OpenSpace> open_;
    std::vector<std::unique_ptr<search::Worker>> workers_;
    std::shared_ptr<SpaceHandle> handle_;
};

}  // namespace tessera::python
