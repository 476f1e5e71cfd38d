// Temperatures from probes of the landscape, as the library simanneal finds them: the first one
// from the first move that changes the value; up or down by 1.5 until 98 % of the moves are taken,
// which is the highest; down by 1.5 until no move of a probe improves, which is the lowest.
#pragma once

#include <cmath>
#include <cstdint>
#include <istream>
#include <ostream>

namespace tessera::search {

class Tuning {
public:
    explicit Tuning(std::uint64_t moves) : moves_(moves) {}

    bool over() const {
        return phase_ == Phase::over;
    }

    /// One move: by how much the value would rise, and whether it was taken.
    void tell(double rise, bool taken) {
        if (phase_ == Phase::first) {
            if (rise != 0) {
                high_ = low_ = now_ = std::abs(rise);
                phase_ = Phase::up;
            }
            return;
        }
        ++told_;
        taken_ += taken ? 1 : 0;
        improved_ += rise < 0 ? 1 : 0;
        if (told_ < moves_) {
            return;
        }
        const double share = static_cast<double>(taken_) / static_cast<double>(told_);
        const bool none_improved = improved_ == 0;
        told_ = taken_ = improved_ = 0;
        ++probes_;
        if (phase_ == Phase::up && share > wanted) {
            phase_ = Phase::down;  // it was high enough at once: the highest is below
        } else if (phase_ == Phase::up) {
            now_ *= factor;
            phase_ = Phase::rising;
            return;
        }
        if (phase_ == Phase::rising) {
            if (share < wanted && probes_ < most_probes) {
                now_ *= factor;
                return;
            }
            high_ = now_;
            phase_ = Phase::cooling;
        } else if (phase_ == Phase::down) {
            if (share > wanted && probes_ < most_probes) {
                now_ /= factor;
                return;
            }
            high_ = now_;
            phase_ = Phase::cooling;
        } else if (none_improved || probes_ >= 2 * most_probes) {
            low_ = now_;
            phase_ = Phase::over;
            return;
        }
        now_ /= factor;
    }

    /// At the fraction `x` of what is left once it is over; before, that of the probe.
    double temperature(double x) const {
        return over() ? high_ * std::exp(-std::log(high_ / low_) * x) : now_;
    }
    double highest() const {
        return high_;
    }
    double lowest() const {
        return low_;
    }

    void save(std::ostream& out) const {
        out << static_cast<int>(phase_) << ' ' << told_ << ' ' << taken_ << ' ' << improved_ << ' '
            << probes_ << ' ' << now_ << ' ' << high_ << ' ' << low_;
    }
    bool restore(std::istream& in) {
        int phase = 0;
        if (!(in >> phase >> told_ >> taken_ >> improved_ >> probes_ >> now_ >> high_ >> low_) ||
            phase < 0 || phase > static_cast<int>(Phase::over) || !(now_ > 0) || !(high_ > 0) ||
            !(low_ > 0)) {
            return false;
        }
        phase_ = static_cast<Phase>(phase);
        return true;
    }

private:
    static constexpr double factor = 1.5, wanted = 0.98;
    static constexpr std::uint64_t most_probes = 60;  // a landscape may have no such temperature

    enum class Phase : std::uint8_t { first, up, rising, down, cooling, over };
    std::uint64_t moves_;
    Phase phase_ = Phase::first;
    std::uint64_t told_ = 0, taken_ = 0, improved_ = 0, probes_ = 0;
    double now_ = 1, high_ = 1, low_ = 1;
};

}  // namespace tessera::search
