#include "space.hpp"

#include <pybind11/stl.h>

#include <thread>

#include "options.hpp"
#include "tessera/base/parallel.hpp"
#include "tessera/session.hpp"

namespace tessera::python {

const search::Space& SpaceHandle::space() const {
    if (space_ == nullptr) {
        throw UserError("the search that this space belongs to is over");
    }
    return *space_;
}

search::VectorEncoding& SpaceHandle::encoding() {
    if (!encoding_) {
        encoding_ = std::make_unique<search::VectorEncoding>(space());
    }
    return *encoding_;
}

search::VectorBlocks& SpaceHandle::blocks() {
    if (!blocks_) {
        blocks_ = std::make_unique<search::VectorBlocks>(space());
    }
    return *blocks_;
}

void SpaceHandle::close() {
    encoding_.reset();
    blocks_.reset();
    space_ = nullptr;
}

Array<float> SpaceHandle::encode(const Points& points) {
    check(points);
    const search::VectorEncoding& own = encoding();
    Array<float> result({points.size(), own.size()});
    float* to = result.mutable_data();
    for (const search::Point& point : points) {
        own.encode(point, {to, own.size()});
        to += own.size();
    }
    return result;
}

Points SpaceHandle::decode(const Array<float>& vectors) {
    const search::VectorEncoding& own = encoding();
    if (vectors.ndim() != 2 || static_cast<std::size_t>(vectors.shape(1)) != own.size()) {
        throw UserError("vectors are an array of shape (n, " + std::to_string(own.size()) + ")");
    }
    Points points(static_cast<std::size_t>(vectors.shape(0)));
    const float* from = vectors.data();
    for (search::Point& point : points) {
        own.decode({from, own.size()}, point);
        from += own.size();
    }
    return points;
}

void SpaceHandle::check(const Points& points) const {
    const search::Space& own = space();
    for (const search::Point& point : points) {
        std::size_t tiles = 0;
        bool good = point.choices.size() == own.n_einsums() && point.order < own.n_orders();
        for (std::uint32_t e = 0; good && e < own.n_einsums(); ++e) {
            good = point.choices[e].tmpl < own.n_templates(e);
            tiles += good ? own.tmpl(e, point.choices[e].tmpl).symbols.size() : 0;
        }
        if (!good || tiles != point.tiles.size()) {
            throw UserError(
                "a point is none of this space: the wrong number of Einsums or tile "
                "shapes, or no such template");
        }
    }
}

OpenedSpace::OpenedSpace(const Problem& problem, const mapspace::MapSpaceOptions& mapspace,
                         const std::string& model, int threads)
    : problem_(problem), model_(Components{model, "", "", {}}.make_model()) {
    search::OpenOptions options;
    options.mapspace = mapspace;
    options.threads =
        threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    open_ = std::make_unique<search::OpenSpace>(problem_.view(), *model_, options);
    for (int i = 0; i < options.threads; ++i) {
        workers_.push_back(std::make_unique<search::Worker>(*open_));
    }
    handle_ = std::make_shared<SpaceHandle>(*open_);
}

void OpenedSpace::run(Candidates& candidates) {
    constexpr std::size_t chunk = 256;
    const std::size_t n_chunks = (candidates.size() + chunk - 1) / chunk;
    base::Threads threads(static_cast<int>(std::min(workers_.size(), n_chunks)));
    threads.for_each(n_chunks, [&](std::size_t index, int thread) {
        const std::size_t end = std::min(candidates.size(), (index + 1) * chunk);
        for (std::size_t i = index * chunk; i < end; ++i) {
            workers_[static_cast<std::size_t>(thread)]->run(candidates[i]);
        }
    });
}

mapping::Mapping OpenedSpace::mapping(const search::Point& point) {
    handle_->check({point});
    return workers_.front()->mapping(point);
}

namespace {

/// (n, Einsums, 2): template and way to join of each Einsum.
Array<std::uint32_t> choices_of(const Points& points) {
    const std::size_t n_einsums = points.empty() ? 0 : points.front().choices.size();
    Array<std::uint32_t> result({points.size(), n_einsums, std::size_t{2}});
    std::uint32_t* to = result.mutable_data();
    for (const search::Point& point : points) {
        for (const search::Choice& choice : point.choices) {
            *to++ = choice.tmpl;
            *to++ = choice.join;
        }
    }
    return result;
}

std::vector<std::vector<std::int64_t>> tiles_of(const Points& points) {
    std::vector<std::vector<std::int64_t>> result;
    for (const search::Point& point : points) {
        result.push_back(point.tiles);
    }
    return result;
}

std::vector<std::uint32_t> orders_of(const Points& points) {
    std::vector<std::uint32_t> result;
    for (const search::Point& point : points) {
        result.push_back(point.order);
    }
    return result;
}

Points made(const Array<std::uint32_t>& choices,
            const std::vector<std::vector<std::int64_t>>& tiles,
            const std::vector<std::uint32_t>& orders) {
    if (choices.ndim() != 3 || choices.shape(2) != 2 ||
        static_cast<std::size_t>(choices.shape(0)) != tiles.size() ||
        tiles.size() != orders.size()) {
        throw UserError("points are choices (n, Einsums, 2), n lists of tile shapes, n orders");
    }
    Points points(tiles.size());
    const std::uint32_t* from = choices.data();
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (py::ssize_t e = 0; e < choices.shape(1); ++e, from += 2) {
            points[i].choices.push_back({from[0], from[1]});
        }
        points[i].tiles = tiles[i];
        points[i].order = orders[i];
    }
    return points;
}

Points taken(const Points& points, const Array<std::int64_t>& places) {
    Points result;
    for (py::ssize_t i = 0; i < places.size(); ++i) {
        const std::int64_t at = places.data()[i];
        const auto n = static_cast<std::int64_t>(points.size());
        if (at < -n || at >= n) {
            throw py::index_error("no such point");
        }
        result.push_back(points[static_cast<std::size_t>(at < 0 ? at + n : at)]);
    }
    return result;
}

void bind_points(py::module_& module) {
    py::class_<Points, std::shared_ptr<Points>>(module, "Points")
        .def(py::init(&made))
        .def("__len__", [](const Points& points) { return points.size(); })
        .def("__eq__", [](const Points& a, const Points& b) { return a == b; })
        .def("take", &taken)
        .def("__add__",
             [](Points a, const Points& b) {
                 a.insert(a.end(), b.begin(), b.end());
                 return a;
             })
        .def_property_readonly("choices", &choices_of)
        .def_property_readonly("tiles", &tiles_of)
        .def_property_readonly("orders", &orders_of)
        .def(py::pickle(
            [](const Points& p) {
                return py::make_tuple(choices_of(p), tiles_of(p), orders_of(p));
            },
            [](const py::tuple& state) {
                return made(state[0].cast<Array<std::uint32_t>>(),
                            state[1].cast<std::vector<std::vector<std::int64_t>>>(),
                            state[2].cast<std::vector<std::uint32_t>>());
            }));
}

Points unit_points(SpaceHandle& handle, const Points& base, std::size_t block,
                   const Array<double>& unit) {
    handle.check(base);
    search::VectorBlocks& blocks = handle.blocks();
    if (base.size() != 1 || block > blocks.n_einsums() || unit.ndim() != 2 ||
        static_cast<std::size_t>(unit.shape(1)) != blocks.size(block)) {
        throw UserError(
            "unit_decode takes one base point, a block from 0 to the number of "
            "Einsums, and an array (n, unit_size(block))");
    }
    blocks.stand_on(base.front());
    Points points(static_cast<std::size_t>(unit.shape(0)));
    const double* from = unit.data();
    for (search::Point& point : points) {
        blocks.decode(block, {from, blocks.size(block)}, point);
        from += blocks.size(block);
    }
    return points;
}

Array<double> unit_vectors(SpaceHandle& handle, const Points& points, std::size_t block) {
    handle.check(points);
    search::VectorBlocks& blocks = handle.blocks();
    if (block > blocks.n_einsums()) {
        throw UserError("a block is a number from 0 to the number of Einsums");
    }
    Array<double> result({points.size(), blocks.size(block)});
    double* to = result.mutable_data();
    for (const search::Point& point : points) {
        blocks.stand_on(point);
        blocks.read(block, {to, blocks.size(block)});
        to += blocks.size(block);
    }
    return result;
}

/// The next points of the space, at most `n`; an empty batch: none are left.
class Enumeration {
public:
    explicit Enumeration(std::shared_ptr<SpaceHandle> handle)
        : handle_(std::move(handle)), points_(handle_->space().enumerate()) {}

    Points next(std::size_t n) {
        handle_->space();  // it is still there
        Points points;
        search::Point point;
        while (points.size() < n && points_->next(point)) {
            points.push_back(point);
        }
        return points;
    }

private:
    std::shared_ptr<SpaceHandle> handle_;
    std::unique_ptr<search::Enumerator> points_;
};

}  // namespace

void bind_space(py::module_& module) {
    bind_points(module);
    py::class_<Enumeration>(module, "Enumeration").def("next", &Enumeration::next);
    py::class_<SpaceHandle, std::shared_ptr<SpaceHandle>>(module, "Space")
        .def_property_readonly("n_einsums", [](SpaceHandle& s) { return s.space().n_einsums(); })
        .def_property_readonly("n_orders", [](SpaceHandle& s) { return s.space().n_orders(); })
        .def_property_readonly("bounds", [](SpaceHandle& s) { return s.space().bounds(); })
        .def("n_templates",
             [](SpaceHandle& s, std::uint32_t einsum) {
                 if (einsum >= s.space().n_einsums()) {
                     throw py::index_error("no such Einsum");
                 }
                 return s.space().n_templates(einsum);
             })
        .def_property_readonly("layout", [](SpaceHandle& s) { return s.encoding().layout(); })
        .def("encode", &SpaceHandle::encode)
        .def("decode", &SpaceHandle::decode)
        .def("unit_size", [](SpaceHandle& s, std::size_t block) { return s.blocks().size(block); })
        .def("unit_encode", &unit_vectors)
        .def("unit_decode", &unit_points)
        .def("enumerate", [](const std::shared_ptr<SpaceHandle>& s) { return Enumeration(s); });
    py::class_<OpenedSpace>(module, "OpenedSpace")
        .def(py::init([](const Problem& problem, const py::dict& mapspace, const std::string& model,
                         int threads) {
            const mapspace::MapSpaceOptions options = mapspace_of(mapspace);
            const py::gil_scoped_release released;
            return std::make_unique<OpenedSpace>(problem, options, model, threads);
        }))
        .def_property_readonly("space", &OpenedSpace::handle)
        .def("run", &OpenedSpace::run, py::call_guard<py::gil_scoped_release>())
        .def("mapping", [](OpenedSpace& space, const Points& points, std::size_t at) {
            return space.mapping(points.at(at));
        });
}

}  // namespace tessera::python
