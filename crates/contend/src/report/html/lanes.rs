//! Lanes over a common time, drawn as SVG. The title element of each span describes it. The script adds a zoom: it moves
//! the spans and writes the ticks again; without it the whole is shown.

use super::markup::{colour, escaped};
use crate::report::document::{Lane, Lanes, Span};

/// Width of the drawing, and of the names on its left.
const WIDTH: f64 = 600.0;
const LEFT: f64 = 170.0;
/// Height of a lane, and the room between two: on the screen of a phone, labels are as high as both.
const HEIGHT: f64 = 14.0;
const GAP: f64 = 12.0;
const FOOT: f64 = 34.0;
/// Narrowest span that can be seen.
const SPAN_MIN: f64 = 0.8;

/// The figure.
pub fn lanes(chart: &Lanes) -> String {
    let height = chart.lanes.len() as f64 * (HEIGHT + GAP);
    let x = |at: f64| LEFT + (at - chart.low) / (chart.high - chart.low).max(f64::MIN_POSITIVE) * (WIDTH - LEFT);
    let tick = |(at, label): (f64, &str)| {
        let (x, is_first, is_last) = (x(at), at <= chart.low, at >= chart.high);
        // Nothing is cut on the right, nor lies below the names of lanes.
        let anchor = if is_first {
            "start"
        } else if is_last {
            "end"
        } else {
            "middle"
        };
        format!(
            "<path d=\"M{x:.1} 0V{height:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            height + 24.0,
            escaped(label)
        )
    };
    let ticks: String = chart.ticks.iter().map(|t| tick((t.at, &t.label))).collect();
    let lanes: String = chart.lanes.iter().enumerate().map(|(nth, lane)| drawn(nth, lane, &x)).collect();
    format!(
        "<figure class=\"lines lanes\">\n<figcaption>{0}</figcaption>\n<div class=\"zoom\" role=\"group\" \
         aria-label=\"Zoom: {0}\" hidden></div>\n<svg viewBox=\"0 0 {WIDTH} {1}\" role=\"img\" aria-label=\"{0}\" \
         data-left=\"{LEFT}\" data-width=\"{WIDTH}\" data-low=\"{2}\" data-high=\"{3}\">\n\
         <g class=\"axes\">\n{ticks}</g>\n{lanes}</svg>\n</figure>\n",
        escaped(&chart.title),
        height + FOOT,
        chart.low,
        chart.high
    )
}

fn drawn(nth: usize, lane: &Lane, x: &dyn Fn(f64) -> f64) -> String {
    let top = nth as f64 * (HEIGHT + GAP);
    let span = |span: &Span| {
        let (from, to) = (x(span.from), x(span.to));
        let high = HEIGHT * span.height.clamp(0.04, 1.0);
        let hollow = if span.hollow { " class=\"hollow\"" } else { "" };
        format!(
            "<rect{hollow} x=\"{from:.3}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\" data-w=\"{:.3}\"><title>{}\
             </title></rect>\n",
            top + HEIGHT - high,
            (to - from).max(SPAN_MIN),
            to - from,
            escaped(&span.tip)
        )
    };
    let spans: String = lane.spans.iter().map(span).collect();
    format!(
        "<g class=\"{}\"><text x=\"0\" y=\"{:.1}\">{}</text>\n{spans}</g>\n",
        colour(lane.series),
        top + HEIGHT - 2.0,
        escaped(&lane.label)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_lie_at_their_times_and_nothing_becomes_markup() {
        let span = Span { from: 5.0, to: 10.0, height: 1.0, hollow: true, tip: "<b>".into() };
        let lane = Lane { series: 1, label: "a & b".into(), spans: vec![span] };
        let figure = lanes(&Lanes { title: "t".into(), low: 0.0, high: 10.0, ticks: vec![], lanes: vec![lane] });
        assert!(
            figure.contains(
                "<rect class=\"hollow\" x=\"385.000\" y=\"0.0\" width=\"215.0\" height=\"14.0\" data-w=\"215.000\">"
            ),
            "{figure}"
        );
        assert!(figure.contains("a &amp; b") && figure.contains("&lt;b&gt;"), "{figure}");
    }
}
