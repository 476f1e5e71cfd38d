// Batches: what a strategy proposes, and what came of it. All fields are arrays.
#include <pybind11/stl.h>

#include <cmath>
#include <limits>

#include "space.hpp"
#include "tessera/search/rng.hpp"

namespace tessera::python {

namespace {

using How = search::Candidate::How;

Candidates made(std::size_t n, How how, std::uint64_t seed) {
    Candidates batch(n);
    for (std::size_t i = 0; i < n; ++i) {
        batch[i].how = how;
        batch[i].seed = search::stream_seed(seed, i);
    }
    return batch;
}

Candidates from_points(SpaceHandle& space, const Points& points, How how, std::uint64_t seed) {
    space.check(points);
    Candidates batch = made(points.size(), how, seed);
    for (std::size_t i = 0; i < points.size(); ++i) {
        batch[i].point = points[i];
    }
    return batch;
}

/// `moves`, `einsums`: one for each point.
Candidates moved(SpaceHandle& space, const Points& points, const Array<std::int64_t>& moves,
                 const Array<std::int64_t>& einsums, std::uint64_t seed) {
    const auto n = static_cast<py::ssize_t>(points.size());
    if (moves.size() != n || einsums.size() != n) {
        throw UserError("moves takes one move and one Einsum for each point");
    }
    Candidates batch = from_points(space, points, How::move, seed);
    for (py::ssize_t i = 0; i < n; ++i) {
        const std::int64_t move = moves.data()[i], einsum = einsums.data()[i];
        if (move < 0 || move >= static_cast<std::int64_t>(search::n_moves) || einsum < 0 ||
            einsum >= static_cast<std::int64_t>(space.space().n_einsums())) {
            throw UserError("there is no such move or Einsum");
        }
        search::Candidate& c = batch[static_cast<std::size_t>(i)];
        c.move = static_cast<search::Move>(move);
        c.einsum = static_cast<std::uint32_t>(einsum);
    }
    return batch;
}

/// Einsums [begin, end) of each mate.
Candidates crossed(SpaceHandle& space, const Points& points, const Points& mates,
                   const Array<std::int64_t>& begin, const Array<std::int64_t>& end,
                   std::uint64_t seed) {
    const auto n = static_cast<py::ssize_t>(points.size());
    if (mates.size() != points.size() || begin.size() != n || end.size() != n) {
        throw UserError("cross takes one mate and one range of Einsums for each point");
    }
    space.check(mates);
    Candidates batch = from_points(space, points, How::cross, seed);
    const auto last = static_cast<std::int64_t>(space.space().n_einsums());
    for (py::ssize_t i = 0; i < n; ++i) {
        if (begin.data()[i] < 0 || begin.data()[i] > end.data()[i] || end.data()[i] > last) {
            throw UserError("a range of Einsums is [begin, end) within those of the workload");
        }
        search::Candidate& c = batch[static_cast<std::size_t>(i)];
        c.mate = mates[static_cast<std::size_t>(i)];
        c.einsum = static_cast<std::uint32_t>(begin.data()[i]);
        c.end = static_cast<std::uint32_t>(end.data()[i]);
    }
    return batch;
}

/// One number of each candidate; NaN where it is not legal.
template <double search::Outcome::*Member>
Array<double> costs(const Candidates& batch) {
    Array<double> result(static_cast<py::ssize_t>(batch.size()));
    double* to = result.mutable_data();
    for (const search::Candidate& c : batch) {
        *to++ = c.outcome.legal() ? c.outcome.*Member : std::numeric_limits<double>::quiet_NaN();
    }
    return result;
}

Array<std::uint8_t> verdicts(const Candidates& batch) {
    Array<std::uint8_t> result(static_cast<py::ssize_t>(batch.size()));
    std::uint8_t* to = result.mutable_data();
    for (const search::Candidate& c : batch) {
        *to++ = static_cast<std::uint8_t>(c.outcome.verdict);
    }
    return result;
}

Points points_of(const Candidates& batch) {
    Points points;
    points.reserve(batch.size());
    for (const search::Candidate& c : batch) {
        points.push_back(c.point);
    }
    return points;
}

}  // namespace

void bind_batch(py::module_& module) {
    py::class_<Candidates>(module, "Batch")
        .def("__len__", [](const Candidates& batch) { return batch.size(); })
        .def("__add__",
             [](Candidates a, const Candidates& b) {
                 a.insert(a.end(), b.begin(), b.end());
                 return a;
             })
        .def("head",
             [](const Candidates& batch, std::size_t n) {
                 return Candidates(batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(
                                                                      std::min(n, batch.size())));
             })
        .def_property_readonly("value", &costs<&search::Outcome::value>)
        .def_property_readonly("energy", &costs<&search::Outcome::energy_j>)
        .def_property_readonly("latency", &costs<&search::Outcome::latency_s>)
        .def_property_readonly("verdict", &verdicts)
        .def_property_readonly("points", &points_of);
    module.def("batch_draw",
               [](std::size_t n, std::uint64_t seed) { return made(n, How::draw, seed); });
    module.def("batch_points", [](SpaceHandle& space, const Points& points) {
        return from_points(space, points, How::point, 0);
    });
    module.def("batch_repair", [](SpaceHandle& space, const Points& points, std::uint64_t seed) {
        return from_points(space, points, How::repair, seed);
    });
    module.def("batch_moves", &moved);
    module.def("batch_cross", &crossed);
}

}  // namespace tessera::python
