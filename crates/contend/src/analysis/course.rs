//! Use of processors, memory and files over the window, from `series.csv`, pooled over the rounds of a cell.

use crate::stats::drift::TRIAL_BINS;

const COLUMNS: [&str; 5] = ["offset_ns", "cpu_ns_client", "rss_bytes_client", "size_bytes_db", "size_bytes_wal"];

/// Columns that are empty without a write-ahead log of SQLite, and missing in older records.
const OF_LOG: [&str; 3] = ["frames_backlog", "frames_reader_behind", "reader_ns"];

/// Values of a stretch: [`COLUMNS`] without the first, then [`OF_LOG`].
const VALUES: usize = COLUMNS.len() - 1 + OF_LOG.len();

/// One stretch of the window: means over the rounds, `None` where nothing was sampled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// Middle of the stretch, from the start of the window.
    pub at_ns: f64,
    /// Processors in use by workers and tool.
    pub cpus: Option<f64>,
    pub rss_bytes: Option<f64>,
    pub size_bytes_db: Option<f64>,
    pub size_bytes_wal: Option<f64>,
    /// Frames of SQLite's logs not yet copied by a checkpoint.
    pub frames_backlog: Option<f64>,
    /// Frames written since the oldest snapshot in use.
    pub frames_reader_behind: Option<f64>,
    /// How long that snapshot has been in use.
    pub reader_ns: Option<f64>,
}

/// Adds up series.
#[derive(Debug, Default)]
pub struct CourseBuilder {
    /// Sum and count of each column's values, by stretch.
    sums: Vec<[(f64, u32); VALUES]>,
    stretch_ns: f64,
}

impl CourseBuilder {
    /// Adds one trial. Unreadable rows are skipped; columns are found by name.
    pub fn add(&mut self, series: &str, window_ns: u64) {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(series.as_bytes());
        let Ok(head) = reader.headers().cloned() else { return };
        let places: Option<Vec<usize>> =
            COLUMNS.iter().map(|name| head.iter().position(|column| column == *name)).collect();
        let (Some(places), true) = (places, window_ns > 0) else { return };
        let of_log = OF_LOG.map(|name| head.iter().position(|column| column == name));
        self.sums.resize(TRIAL_BINS, Default::default());
        self.stretch_ns = window_ns as f64 / TRIAL_BINS as f64;
        let mut before: Option<Vec<f64>> = None;
        for record in reader.records().flatten() {
            let row: Option<Vec<f64>> = places.iter().map(|at| record.get(*at)?.parse().ok()).collect();
            let Some(row) = row else { continue };
            if let Some(before) = &before {
                let spent_ns = row[0] - before[0];
                if spent_ns > 0.0 {
                    self.put((row[0] + before[0]) / 2.0, 0, (row[1] - before[1]) / spent_ns);
                }
            }
            (1..COLUMNS.len() - 1).for_each(|column| self.put(row[0], column, row[column + 1]));
            for (nth, place) in of_log.iter().enumerate() {
                if let Some(value) = place.and_then(|at| record.get(at)?.parse().ok()) {
                    self.put(row[0], COLUMNS.len() - 1 + nth, value);
                }
            }
            before = Some(row);
        }
    }

    fn put(&mut self, at_ns: f64, column: usize, value: f64) {
        let stretch = (at_ns / self.stretch_ns).floor();
        if at_ns >= 0.0
            && let Some(sums) = self.sums.get_mut(stretch as usize)
        {
            sums[column].0 += value;
            sums[column].1 += 1;
        }
    }

    /// Stretches in which anything was sampled.
    pub fn finish(&self) -> Vec<Course> {
        let mean = |(sum, n): (f64, u32)| (n > 0).then(|| sum / f64::from(n));
        let stretch = |(index, sums): (usize, &[(f64, u32); VALUES])| Course {
            at_ns: (index as f64 + 0.5) * self.stretch_ns,
            cpus: mean(sums[0]),
            rss_bytes: mean(sums[1]),
            size_bytes_db: mean(sums[2]),
            size_bytes_wal: mean(sums[3]),
            frames_backlog: mean(sums[4]),
            frames_reader_behind: mean(sums[5]),
            reader_ns: mean(sums[6]),
        };
        let stretches = self.sums.iter().enumerate().map(stretch);
        stretches.filter(|stretch| stretch.cpus.is_some() || stretch.rss_bytes.is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_is_the_mean_of_its_rounds_and_the_run_in_is_left_out() {
        let head = "offset_ns,cpu_ns_client,rss_bytes_client,size_bytes_db,size_bytes_wal,frames_backlog\n";
        let mut builder = CourseBuilder::default();
        builder.add(&format!("{head}-100,0,9,9,9,0\n100,400,10,20,30,7\n1900,4000,30,40,50,\n"), 2000);
        builder.add(&format!("{head}100,0,20,40,60,\nbroken\n"), 2000);
        let course = builder.finish();
        assert_eq!(course.len(), 4);
        assert_eq!((course[0].at_ns, course[0].cpus, course[0].rss_bytes), (50.0, Some(2.0), None));
        assert_eq!((course[1].rss_bytes, course[1].size_bytes_wal), (Some(15.0), Some(45.0)));
        assert_eq!((course[2].at_ns, course[2].cpus), (1050.0, Some(2.0)));
        assert_eq!((course[3].at_ns, course[3].size_bytes_db), (1950.0, Some(40.0)));
        let backlogs = [1, 3].map(|stretch| course[stretch].frames_backlog);
        assert_eq!((backlogs, course[1].frames_reader_behind), ([Some(7.0), None], None), "empty, and no column");
    }

    #[test]
    fn a_series_without_the_columns_says_nothing() {
        let mut builder = CourseBuilder::default();
        builder.add("offset_ns,cpu_ns_client\n0,0\n", 2000);
        builder.add("", 2000);
        assert_eq!(builder.finish(), []);
    }
}
