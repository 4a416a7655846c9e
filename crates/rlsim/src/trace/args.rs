//! The options of every command that reads a trace, as typed.

use std::path::PathBuf;

use clap::Args;

use super::answers::Answers;
use super::between::{Between, TimeBound};
use super::options::{ClientAs, Column, Input, OnError, ReadOptions, TimeColumn, TimeIs, TimeUnit, Where};

/// Which files to read, and how.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Trace")]
pub struct TraceArgs {
    /// Access log, CSV, JSON lines or another trace; `-` is standard input. Several are merged by time
    #[arg(long = "trace", value_name = "FILE", required = true, num_args = 1..)]
    pub trace: Vec<PathBuf>,

    /// The format, where it is not found from the content
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,

    /// Column of the time, by name or 1-based number; DATE,TIME where it stands in two
    #[arg(long, value_name = "COLUMN")]
    pub time_column: Option<String>,

    /// Column that says who is limited, by name or number
    #[arg(long, value_name = "COLUMN")]
    pub client_column: Option<String>,

    /// Column of the units a request takes (whole numbers), by name or number [default: one unit each]
    #[arg(long, value_name = "COLUMN")]
    pub cost_column: Option<String>,

    /// Column that says how many requests a record stands for, by name or number
    #[arg(long, value_name = "COLUMN")]
    pub count_column: Option<String>,

    /// Column of how long a request took, by name or number, for --time-is end
    #[arg(long, value_name = "COLUMN")]
    pub duration_column: Option<String>,

    /// Unit of the duration [default: as the format says, or ms]
    #[arg(long, value_name = "UNIT", value_parser = parse_unit)]
    pub duration_unit: Option<TimeUnit>,

    /// Keep only records with this value (or, with !=, without it); may be repeated
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = parse_where)]
    pub filters: Vec<Where>,

    /// Keep only events from this time on: written as in a trace, or a day alone such as 2024-05-12; a number counts in the
    /// unit of the trace's own numbers
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub from: Option<TimeBound>,

    /// Keep only events before this time
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    pub until: Option<TimeBound>,

    /// Unit of times given as numbers: s, ms, us or ns [default: guessed over the column, and said]
    #[arg(long, value_name = "UNIT", value_parser = parse_unit)]
    pub time_unit: Option<TimeUnit>,

    /// Zone of times that name none, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub timezone: Option<String>,

    /// Whether a time marks the start or the end of a request; from an end the duration is taken off
    #[arg(long, value_name = "start|end", value_parser = parse_time_is, default_value = "start")]
    pub time_is: TimeIs,

    /// Compare clients as they are written, or as addresses: port off, mapped IPv4 unmapped, IPv6 by prefix
    #[arg(long, value_name = "raw|ip", value_parser = parse_client_as, default_value = "raw")]
    pub client_as: ClientAs,

    /// Bits of an IPv6 address that make one client, with --client-as ip
    #[arg(long, value_name = "BITS", default_value_t = 64, value_parser = clap::value_parser!(u8).range(0..=128))]
    pub ipv6_prefix: u8,

    /// The text of an nginx `log_format`, with its variables such as `$remote_addr` and `[$time_local]`
    #[arg(long, value_name = "TEXT")]
    pub log_format: Option<String>,

    /// Count records that cannot be read and go on, or stop at the first
    #[arg(long, value_name = "skip|fail", value_parser = parse_on_error, default_value = "skip")]
    pub on_error: OnError,

    /// Stop with an error after this many records
    #[arg(long, value_name = "N")]
    pub max_rows: Option<u64>,

    /// Stop with an error after this many bytes, counted after decompression
    #[arg(long, value_name = "N")]
    pub max_bytes: Option<u64>,
}

impl TraceArgs {
    /// What was typed, as what it means.
    pub fn into_parts(self) -> (Vec<Input>, ReadOptions) {
        let column = |text: Option<String>| text.map(|t| Column::from_arg(&t));
        let options = ReadOptions {
            format: self.format,
            time_column: self.time_column.map(|text| time_column(&text)),
            client_column: column(self.client_column),
            cost_column: column(self.cost_column),
            count_column: column(self.count_column),
            duration_column: column(self.duration_column),
            duration_unit: self.duration_unit,
            filters: self.filters,
            between: Between { from: self.from, until: self.until },
            time_unit: self.time_unit,
            timezone: self.timezone,
            time_is: self.time_is,
            client_as: self.client_as,
            ipv6_prefix: self.ipv6_prefix,
            log_format: self.log_format,
            on_error: self.on_error,
            max_rows: self.max_rows,
            max_bytes: self.max_bytes,
            answers: Answers::Ignored,
            threads: None,
            progress: None,
        };
        (self.trace.into_iter().map(Input::from_arg).collect(), options)
    }
}

fn time_column(text: &str) -> TimeColumn {
    match text.split_once(',') {
        Some((date, time)) if !date.is_empty() && !time.is_empty() => {
            TimeColumn::DateAndTime(Column::from_arg(date), Column::from_arg(time))
        }
        _ => TimeColumn::One(Column::from_arg(text)),
    }
}

fn parse_unit(text: &str) -> Result<TimeUnit, String> {
    TimeUnit::from_symbol(text).ok_or_else(|| "expected s, ms, us or ns".to_owned())
}

fn parse_where(text: &str) -> Result<Where, String> {
    let example = || "expected COLUMN=VALUE or COLUMN!=VALUE, such as metric_name=http_reqs".to_owned();
    let (column, value) = text.split_once('=').ok_or_else(example)?;
    let (column, keep_equal) = column.strip_suffix('!').map_or((column, true), |c| (c, false));
    if column.is_empty() {
        return Err(example());
    }
    Ok(Where { column: Column::from_arg(column), value: value.into(), keep_equal })
}

fn parse_time_is(text: &str) -> Result<TimeIs, String> {
    match text {
        "start" => Ok(TimeIs::Start),
        "end" => Ok(TimeIs::End),
        _ => Err("expected start or end".to_owned()),
    }
}

fn parse_client_as(text: &str) -> Result<ClientAs, String> {
    match text {
        "raw" => Ok(ClientAs::Raw),
        "ip" => Ok(ClientAs::Ip),
        _ => Err("expected raw or ip".to_owned()),
    }
}

fn parse_on_error(text: &str) -> Result<OnError, String> {
    match text {
        "skip" => Ok(OnError::Skip),
        "fail" => Ok(OnError::Fail),
        _ => Err("expected skip or fail".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn typed(args: &[&str]) -> Result<(Vec<Input>, ReadOptions), clap::Error> {
        let command = TraceArgs::augment_args(Command::new("rlsim"));
        let matches = command.try_get_matches_from([&["rlsim"], args].concat())?;
        Ok(TraceArgs::from_arg_matches(&matches)?.into_parts())
    }

    #[test]
    fn what_is_typed_becomes_what_it_means() {
        let (inputs, options) = typed(&["--trace", "a.log", "-", "--trace", "b.log"]).unwrap();
        assert_eq!(inputs, [Input::File("a.log".into()), Input::Stdin, Input::File("b.log".into())]);
        assert_eq!(format!("{options:?}"), format!("{:?}", ReadOptions::default()));

        let (_, options) = typed(&[
            "--trace",
            "a",
            "--time-column",
            "1,time",
            "--client-column",
            "2",
            "--where",
            "status!=200",
            "--where",
            "kind=a=b",
            "--time-unit",
            "us",
            "--time-is",
            "end",
            "--client-as",
            "ip",
            "--on-error",
            "fail",
        ])
        .unwrap();
        assert_eq!(options.time_column, Some(TimeColumn::DateAndTime(Column::Number(1), Column::Name("time".into()))));
        assert_eq!(options.client_column, Some(Column::Number(2)));
        assert_eq!(
            options.filters,
            [
                Where { column: Column::Name("status".into()), value: b"200".to_vec(), keep_equal: false },
                Where { column: Column::Name("kind".into()), value: b"a=b".to_vec(), keep_equal: true },
            ]
        );
        assert_eq!(options.time_unit, Some(TimeUnit::Micros));
        assert_eq!((options.time_is, options.client_as), (TimeIs::End, ClientAs::Ip));
        assert_eq!(options.on_error, OnError::Fail);
    }

    #[test]
    fn mistakes_name_what_was_expected() {
        for (args, expect) in [
            (&["--time-unit", "h"][..], "expected s, ms, us or ns"),
            (&["--where", "status"], "expected COLUMN=VALUE"),
            (&["--where", "=1"], "expected COLUMN=VALUE"),
            (&["--time-is", "noon"], "expected start or end"),
            (&["--client-as", "name"], "expected raw or ip"),
            (&["--on-error", "stop"], "expected skip or fail"),
            (&["--from", "noon"], "not a time: expected one such as"),
            (&["--until", "-1"], "negative time"),
            (&["--ipv6-prefix", "129"], "129"),
        ] {
            let error = typed(&[&["--trace", "a"], args].concat()).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        }
        assert!(typed(&[]).is_err(), "--trace is required");
    }
}
