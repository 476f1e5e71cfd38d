// Values that hold until the next one, over logarithmic time.
#pragma once

#include <vector>

#include "dashboard/frame.hpp"
#include "telemetry/snapshot.hpp"

namespace tessera::dashboard {

struct Curve {
    std::vector<telemetry::Step> steps;
    Style style;
    bool dotted = false;
    char32_t ascii = U'*';
    char32_t label = 0;  ///< drawn where its last step begins; 0: none
};

struct Curves {
    std::vector<Curve> series;  ///< later ones are drawn over earlier ones
    double end_s = 0;           ///< where the time axis ends
    double most_times = 0;      ///< values above so many times the least lie at the top; 0: none do
};

/// Axis texts need 8 columns and one line; they are left out of a canvas smaller than 24 x 4.
void draw_steps(Canvas canvas, const Curves& curves);

}  // namespace tessera::dashboard
