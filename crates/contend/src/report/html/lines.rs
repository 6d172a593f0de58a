//! Lines over an axis, drawn as SVG.

use super::markup::{DATA, colour, escaped, for_condition};
use crate::report::document::{Axis, Lines, Point, Series};

/// A drawing and the room around the plot, in its own units.
struct Frame {
    width: f64,
    height: f64,
}

const LEFT: f64 = 74.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 38.0;

impl Frame {
    fn x(&self, axis: &Axis, value: f64) -> f64 {
        LEFT + axis.place(value) * (self.width - LEFT - RIGHT)
    }

    fn y(&self, axis: &Axis, value: f64) -> f64 {
        self.height - BOTTOM - axis.place(value) * (self.height - TOP - BOTTOM)
    }
}

/// The chart with its legend.
pub fn lines(chart: &Lines) -> String {
    let frame = if chart.small { Frame { width: 440.0, height: 270.0 } } else { Frame { width: 560.0, height: 360.0 } };
    let series: String = chart.series.iter().map(|s| drawn(&frame, chart, s)).collect();
    format!(
        "<figure class=\"lines{}\"{}>\n<figcaption>{}</figcaption>\n<div class=\"legend\">{}</div>\n\
         <svg viewBox=\"0 0 {} {}\" data-width=\"{}\" role=\"img\" tabindex=\"0\" aria-label=\"{}. Arrow keys read the values.\">\n\
         {}{series}</svg>\n{DATA}</figure>\n",
        if chart.in_text { " marked" } else { "" },
        for_condition(chart.condition),
        escaped(&chart.title),
        legend(chart),
        frame.width,
        frame.height,
        frame.width,
        escaped(&chart.title),
        axes(&frame, chart)
    )
}

fn legend(chart: &Lines) -> String {
    let button = |s: &Series| {
        format!(
            "<button type=\"button\" aria-pressed=\"true\" data-s=\"{0}\"><i class=\"swatch {1}\"></i>{2}</button>",
            s.series,
            colour(s.series),
            escaped(&s.label)
        )
    };
    chart.series.iter().map(button).collect()
}

fn axes(frame: &Frame, chart: &Lines) -> String {
    let mut out = String::from("<g class=\"axes\">\n");
    for tick in &chart.y.ticks {
        let y = frame.y(&chart.y, tick.at);
        let minor = if tick.minor { " class=\"minor\"" } else { "" };
        out += &format!(
            "<path{minor} d=\"M{LEFT} {y:.1}H{:.1}\"/><text{minor} x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            frame.width - RIGHT,
            LEFT - 8.0,
            y + 4.0,
            escaped(&tick.label)
        );
    }
    let floor = frame.height - BOTTOM;
    for tick in &chart.x.ticks {
        let x = frame.x(&chart.x, tick.at);
        let minor = if tick.minor { " class=\"minor\"" } else { "" };
        out += &format!(
            "<path{minor} d=\"M{x:.1} {floor}V{:.1}\"/><text{minor} x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            floor + 5.0,
            floor + 22.0,
            escaped(&tick.label)
        );
    }
    out + "</g>\n"
}

fn drawn(frame: &Frame, chart: &Lines, series: &Series) -> String {
    let at = |point: &Point| point.y.map(|y| (frame.x(&chart.x, point.x), frame.y(&chart.y, y)));
    let (sure, weak) = paths(&series.points, &at);
    let dot = |point: &Point| {
        let (x, y) = at(point)?;
        Some(format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" data-tip=\"{}\"/>", escaped(&point.tip)))
    };
    let dots: String = series.points.iter().filter_map(dot).collect();
    let weak = if weak.is_empty() { weak } else { format!("<path class=\"weak\" d=\"{weak}\"/>") };
    format!(
        "<g class=\"{}\" data-s=\"{}\"><path d=\"{sure}\"/>{weak}{dots}</g>\n",
        colour(series.series),
        series.series
    )
}

/// Paths of the line and of its dotted parts; gaps where there is no value.
fn paths(points: &[Point], at: &dyn Fn(&Point) -> Option<(f64, f64)>) -> (String, String) {
    let (mut sure, mut weak) = (String::new(), String::new());
    let mut pen: Option<bool> = None;
    for pair in points.windows(2) {
        let (Some((x0, y0)), Some((x1, y1))) = (at(&pair[0]), at(&pair[1])) else {
            pen = None;
            continue;
        };
        let path = if pair[1].weak { &mut weak } else { &mut sure };
        if pen != Some(pair[1].weak) {
            *path += &format!("M{x0:.1} {y0:.1}");
        }
        *path += &format!("L{x1:.1} {y1:.1}");
        pen = Some(pair[1].weak);
    }
    (sure, weak)
}
