//! Lanes over a common time. Names and ticks are text, which keeps its size; the spans of a lane are drawn as SVG, as wide as
//! there is room. The title element of each span describes it. The script adds a zoom: it moves the spans and writes the ticks
//! again; without it the whole is shown.

use super::markup::{colour, escaped};
use crate::report::document::{Lane, Lanes, Span, Tick};

/// Width of a drawing in its own units, and height of a lane.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 14.0;
/// Width of a span that ends where it begins: its outline shows it.
const SPAN_MIN: f64 = 0.01;

/// The figure.
pub fn lanes(chart: &Lanes) -> String {
    let part = |at: f64| (at - chart.low) / (chart.high - chart.low).max(f64::MIN_POSITIVE);
    let lanes: String = chart.lanes.iter().map(|lane| drawn(lane, chart, &|at| WIDTH * part(at))).collect();
    // Each is shifted to the left by the part of its own width that it lies to the right: nothing is cut at the ends.
    let tick =
        |tick: &Tick| format!("<span style=\"--at: {:.2}%\">{}</span>", 100.0 * part(tick.at), escaped(&tick.label));
    let ticks: String = chart.ticks.iter().map(tick).collect();
    format!(
        "<figure class=\"lanes\" data-width=\"{WIDTH}\" data-low=\"{1}\" data-high=\"{2}\">\n<figcaption>{0}</figcaption>\n\
         <div class=\"zoom\" role=\"group\" aria-label=\"Zoom: {0}\" hidden></div>\n{lanes}\
         <div class=\"lane\"><span></span><div class=\"ticks\">{ticks}</div></div>\n</figure>\n",
        escaped(&chart.title),
        chart.low,
        chart.high
    )
}

fn drawn(lane: &Lane, chart: &Lanes, x: &dyn Fn(f64) -> f64) -> String {
    let span = |span: &Span| {
        let (from, to) = (x(span.from), x(span.to));
        let high = HEIGHT * span.height.clamp(0.04, 1.0);
        let hollow = if span.hollow { " class=\"hollow\"" } else { "" };
        format!(
            "<rect{hollow} x=\"{from:.3}\" y=\"{:.1}\" width=\"{:.3}\" height=\"{high:.1}\"><title>{}</title></rect>\n",
            HEIGHT - high,
            (to - from).max(SPAN_MIN),
            escaped(&span.tip)
        )
    };
    let ticks: String = chart.ticks.iter().map(|tick| format!("<path d=\"M{:.1} 0V{HEIGHT}\"/>", x(tick.at))).collect();
    let spans: String = lane.spans.iter().map(span).collect();
    let label = escaped(&lane.label);
    format!(
        "<div class=\"lane {}\"><span>{label}</span><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" \
         role=\"img\" aria-label=\"{}: {label}\">{ticks}\n{spans}</svg></div>\n",
        colour(lane.series),
        escaped(&chart.title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_lie_at_their_times_names_and_ticks_are_text_and_nothing_becomes_markup() {
        let span = Span { from: 5.0, to: 10.0, height: 1.0, hollow: true, tip: "<b>".into() };
        let lane = Lane { series: 1, label: "a & b".into(), spans: vec![span] };
        let ticks = [(0.0, "0"), (5.0, "5 s"), (10.0, "10 s")];
        let ticks = ticks.map(|(at, label)| Tick { at, label: label.to_string(), minor: false }).into();
        let figure = lanes(&Lanes { title: "t".into(), low: 0.0, high: 10.0, ticks, lanes: vec![lane] });
        assert!(
            figure.contains("<rect class=\"hollow\" x=\"500.000\" y=\"0.0\" width=\"500.000\" height=\"14.0\">"),
            "{figure}"
        );
        assert!(figure.contains("<span>a &amp; b</span><svg") && figure.contains("&lt;b&gt;"), "{figure}");
        let ticks = "<span style=\"--at: 0.00%\">0</span><span style=\"--at: 50.00%\">5 s</span>";
        assert!(figure.contains(ticks) && !figure.contains("<text"), "{figure}");
    }
}
