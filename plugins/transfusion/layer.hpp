// A transformer layer as a workload, Einsum by Einsum, with what a mapper needs of each compute.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chains.hpp"
#include "pipelines.hpp"
#include "tessera/model/cost_model.hpp"

namespace tessera::transfusion {

/// One Einsum on one compute that may run it.
struct Place {
    std::string compute;
    bool array_2d = false;  ///< the compute with most dimensions, of these with most instances
    std::unique_ptr<arch::Path> path;
};

/// The Einsums of problem-shapes/blocks/transfusion-layer.yml by name, or those of any workload
/// without phases.
class Layer {
public:
    /// \throws UserError if no compute may run an Einsum.
    explicit Layer(const model::Problem& problem);

    const model::Problem& problem() const {
        return problem_;
    }
    /// It is a layer with the phases below.
    bool known() const {
        return known_;
    }
    /// Computes by number of dimensions and of instances, largest first.
    const std::vector<std::string>& units() const {
        return units_;
    }
    /// In execution order. Attention in one pass: from QK to AV.
    const std::vector<std::string>& keys_and_values() const {
        return keys_and_values_;
    }
    const std::vector<std::string>& attention() const {
        return attention_;
    }
    const std::vector<std::string>& norm() const {
        return norm_;
    }
    const std::vector<std::string>& feed_forward() const {
        return feed_forward_;
    }
    /// All of them, in execution order.
    const std::vector<std::string>& all() const {
        return all_;
    }
    /// Attention has running states (else softmax takes three passes over a row of scores).
    bool one_pass() const {
        return one_pass_;
    }

    /// Places of the Einsum, in the order of units().
    const std::vector<Place>& places(const std::string& einsum) const;
    /// On that unit, or on the only one that may run it.
    const Place& place(const std::string& einsum, const std::string& unit) const;
    std::int64_t bound(const std::string& variable) const;
    const workload::Workload& workload() const {
        return *problem_.workload;
    }

private:
    model::Problem problem_;
    std::vector<std::string> units_;
    std::vector<std::string> keys_and_values_, attention_, norm_, feed_forward_, all_;
    bool one_pass_ = true, known_ = true;
    std::map<std::string, std::vector<Place>> places_;
};

}  // namespace tessera::transfusion
