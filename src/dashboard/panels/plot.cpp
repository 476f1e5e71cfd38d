#include "plot.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::dashboard {

namespace {

// Bit of the dot in column x (0, 1) and row y from the top (0 to 3) of a braille cell.
constexpr std::uint8_t braille_bits[4][2] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

// Quadrants by bits: 1 upper left, 2 upper right, 4 lower left, 8 lower right.
constexpr char32_t quadrants[16] = {U' ', U'▘', U'▝', U'▀', U'▖', U'▌', U'▞', U'▛',
                                    U'▗', U'▚', U'▐', U'▜', U'▄', U'▙', U'▟', U'█'};

}  // namespace

Plot::Plot(Canvas canvas)
    : canvas_(canvas),
      across_(canvas.symbols().set == SymbolSet::ascii ? 1 : 2),
      up_(canvas.symbols().set == SymbolSet::braille ? 4
          : canvas.symbols().set == SymbolSet::block ? 2
                                                     : 1),
      cells_(static_cast<std::size_t>(canvas.width()) * static_cast<std::size_t>(canvas.height())) {
}

void Plot::dot(int x, int y, Style style, char32_t ascii) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) {
        return;
    }
    const int row = height() - 1 - y;
    Dots& cell =
        cells_[static_cast<std::size_t>(row / up_) * static_cast<std::size_t>(canvas_.width()) +
               static_cast<std::size_t>(x / across_)];
    const int dx = x % across_, dy = row % up_;
    cell.bits |= up_ == 4   ? braille_bits[dy][dx]
                 : up_ == 2 ? static_cast<std::uint8_t>(1U << static_cast<unsigned>(dy * 2 + dx))
                            : std::uint8_t{1};
    cell.style = style;
    cell.ascii = ascii;
}

void Plot::horizontal(int from, int to, int y, Style style, char32_t ascii) {
    for (int x = std::max(0, std::min(from, to)); x <= std::min(std::max(from, to), width()); ++x) {
        dot(x, y, style, ascii);
    }
}

void Plot::vertical(int x, int from, int to, Style style, char32_t ascii) {
    for (int y = std::max(0, std::min(from, to)); y <= std::min(std::max(from, to), height());
         ++y) {
        dot(x, y, style, ascii);
    }
}

void Plot::mark(int x, int y, char32_t glyph, Style style) {
    canvas_.put(x / across_, (height() - 1 - y) / up_, glyph, style);
}

void Plot::draw() {
    for (int y = 0; y < canvas_.height(); ++y) {
        for (int x = 0; x < canvas_.width(); ++x) {
            const Dots& cell = cells_[static_cast<std::size_t>(y * canvas_.width() + x)];
            if (cell.bits != 0) {
                canvas_.put(x, y,
                            up_ == 4   ? char32_t{0x2800} + cell.bits
                            : up_ == 2 ? quadrants[cell.bits]
                                       : cell.ascii,
                            cell.style);
            }
        }
    }
}

Scale::Scale(double low, double high, int dots, bool logarithmic)
    : low_(low), high_(high), dots_(dots), logarithmic_(logarithmic && low > 0) {
    if (!(high_ > low_)) {
        const double room = low_ != 0 ? std::fabs(low_) * 0.05 : 1;
        high_ = low_ + room;
        low_ = logarithmic_ ? low_ / 1.05 : low_ - room;
    }
}

int Scale::operator()(double value) const {
    if (!std::isfinite(value)) {
        return 0;
    }
    const double fraction = logarithmic_
                                ? (value > 0 ? std::log(value / low_) / std::log(high_ / low_) : 0)
                                : (value - low_) / (high_ - low_);
    return static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * (dots_ - 1)));
}

}  // namespace tessera::dashboard
