// Cost model `traffic`: words moved between the outermost memory and what is below it, beside the
// energy and latency of model looptree. In which of two ways outputs count is a knob.
#include "model/looptree.hpp"
#include "tessera/plugin/cost_model.hpp"

namespace tessera::model {

class Traffic : public LoopTree {
public:
    static std::vector<plugin::Knob> knobs() {
        return {plugin::Knob::choice(
            "outputs", "once", {"once", "rmw"},
            "an output of n passes counts n times (once per pass, as FuseCU counts), or 2n - 1 "
            "times (rmw: each pass but the first reads it)")};
    }
    explicit Traffic(const plugin::KnobValues& knobs)
        : LoopTree(knobs.text("outputs") == "rmw" ? OutputTraffic::read_modify_write
                                                  : OutputTraffic::once_per_pass) {}

    std::string name() const override {
        return "traffic";
    }
};

TESSERA_PLUGIN(CostModel, Traffic, "traffic", "words moved at the outermost memory",
               "FuseCU, Eq. 1");

}  // namespace tessera::model
