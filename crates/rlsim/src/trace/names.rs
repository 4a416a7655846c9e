//! Common names of columns, and the units that names carry.

use super::options::TimeUnit;

/// Names of the time column, the most telling first; compared without case, spaces, `_`, `-`, `.`, `@` and unit suffix.
const TIME: &[&str] = &[
    "time",
    "timestamp",
    "ts",
    "at",
    "datetime",
    "date",
    "eventtime",
    "starttime",
    "start",
    "arrival",
    "arrivaltime",
    "arrivedat",
    "createdat",
    "created",
    "receivedat",
    "timelocal",
    "timeiso8601",
    "submittime",
    "submittedat",
    "epoch",
    "unixtime",
    "when",
    "t",
    "msec",
    // With nginx this is how long a request took, so any other comes first.
    "requesttime",
];

/// Names of the client column, the most telling first.
const CLIENT: &[&str] = &[
    "client",
    "clientid",
    "clientip",
    "clientaddr",
    "clientaddress",
    "clienthost",
    "cip",
    "remoteaddr",
    "remoteip",
    "remotehost",
    "remoteaddress",
    "sourceip",
    "sourceipaddress",
    "srcip",
    "ip",
    "ipaddress",
    "apikey",
    "key",
    "token",
    "userid",
    "user",
    "username",
    "account",
    "accountid",
    "tenant",
    "tenantid",
    "customer",
    "customerid",
    "sender",
    "host",
];

/// Names of the cost column.
const COST: &[&str] = &["cost", "units", "weight", "tokens", "totaltokens", "credits", "points"];

/// Names of the column that says how many requests a record stands for.
const COUNT: &[&str] = &["count", "requests", "hits"];

/// A name without what people spell differently, and the unit it ends in (`at_ns`, `timestamp (ms)`).
fn plain(name: &str) -> (String, Option<TimeUnit>) {
    let lower = name.trim().to_ascii_lowercase();
    let mut unit = None;
    let mut stem = lower.as_str();
    let suffixes = [
        ("nanoseconds", TimeUnit::Nanos),
        ("microseconds", TimeUnit::Micros),
        ("milliseconds", TimeUnit::Millis),
        ("seconds", TimeUnit::Seconds),
        ("nanos", TimeUnit::Nanos),
        ("micros", TimeUnit::Micros),
        ("millis", TimeUnit::Millis),
        ("secs", TimeUnit::Seconds),
        ("ns", TimeUnit::Nanos),
        ("us", TimeUnit::Micros),
        ("ms", TimeUnit::Millis),
        ("sec", TimeUnit::Seconds),
        ("s", TimeUnit::Seconds),
    ];
    for (suffix, suffix_unit) in suffixes {
        // The suffix stands apart, so that `hits` and `status` keep their ends.
        let before = lower.trim_end_matches([')', ']']).strip_suffix(suffix);
        if let Some(before) = before.and_then(|b| b.strip_suffix(['_', '-', ' ', '(', '[', '.'])) {
            (stem, unit) = (before, Some(suffix_unit));
            break;
        }
    }
    (stem.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.' | '@' | '(' | ')' | '[' | ']')).collect(), unit)
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Found {
    pub(crate) time: Option<usize>,
    /// The unit that the name of the time column carries.
    pub(crate) time_unit: Option<TimeUnit>,
    pub(crate) client: Option<usize>,
    pub(crate) cost: Option<usize>,
    pub(crate) count: Option<usize>,
}

/// Looks for common names. Of several columns that fit, the most telling name wins, then the first column.
pub(crate) fn common(header: &[String]) -> Found {
    let plain: Vec<(String, Option<TimeUnit>)> = header.iter().map(|name| plain(name)).collect();
    let search = |known: &[&str]| known.iter().find_map(|k| plain.iter().position(|(name, _)| name == k));
    let time = search(TIME);
    Found {
        time,
        time_unit: time.and_then(|i| plain[i].1),
        client: search(CLIENT),
        cost: search(COST),
        count: search(COUNT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(header: &str) -> Found {
        common(&header.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn headers_as_people_write_them() {
        let nasa = found("host,logname,time,method,url,response,bytes,referer,useragent");
        assert_eq!((nasa.time, nasa.client, nasa.cost), (Some(2), Some(0), None));
        let azure = found("TIMESTAMP,ContextTokens,GeneratedTokens");
        assert_eq!((azure.time, azure.client, azure.cost), (Some(0), None, None));
        let own = found("at_ns,client,cost");
        assert_eq!((own.time, own.time_unit, own.client, own.cost), (Some(0), Some(TimeUnit::Nanos), Some(1), Some(2)));
        let jtl = found("timeStamp,elapsed,label,responseCode");
        assert_eq!((jtl.time, jtl.time_unit), (Some(0), None));
        assert_eq!(found("Client IP,Time (ms)").time_unit, Some(TimeUnit::Millis));
        for nginx in ["ip,request_time,time_iso8601", "request_time,remote_addr,time_local", "request_time,x,msec"] {
            assert_eq!(found(nginx).time, Some(2), "{nginx}");
        }
        assert_eq!(found("requestTime,ip").time, Some(0));
        assert_eq!(found("a,b").time, None);
        // The more telling name wins over the earlier column.
        assert_eq!(found("host,client,time").client, Some(1));
    }

    #[test]
    fn words_that_end_like_a_unit_are_words() {
        assert_eq!(plain("status"), ("status".to_owned(), None));
        assert_eq!(plain("hits").1, None);
        assert_eq!(plain("start_us").1, Some(TimeUnit::Micros));
    }
}
