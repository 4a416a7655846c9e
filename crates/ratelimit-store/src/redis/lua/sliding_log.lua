-- Sliding log: an entry for each distinct admitted microsecond of the trailing window, whatever its cost.
--
-- Key: records of 16 bytes, big endian. Record 0: `dead`, how many of the records after it are forgotten; and the
-- cumulative units (modulo 2^52) before the first that is not. The others: `at` (us), strictly increasing; and the
-- cumulative units up to and including it. All entries together hold less than 2^52 units, so that a difference modulo
-- 2^52 is the true number of units between two of them. An absent key has nothing used.
--
-- Reading is a binary search. Forgotten records are cut off when they outnumber the live ones, so a log holds at most
-- twice the entries that count, and a charge moves each entry a constant number of times. A short log is read and
-- written whole. It must be a script: what counts depends on the time at which the cost is weighed.
local sliding_log = {}
local WRAP = 4503599627370496
local SHORT = 64

local function log_record(s, i)
  if s.short then
    return struct.unpack('>I8I8', s.raw, i * 16 + 1)
  end
  return struct.unpack('>I8I8', redis.call('GETRANGE', s.key, i * 16, i * 16 + 15))
end

-- Cumulative units before entry `i`, which is not forgotten.
local function log_before(s, i)
  if i == s.dead + 1 then
    return s.base
  end
  local _, cumulative = log_record(s, i - 1)
  return cumulative
end

-- The first i in low..high for which `holds` does; it holds at `high`.
local function log_search(low, high, holds)
  while low < high do
    local middle = floor((low + high) / 2)
    if holds(middle) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- The log as it was recorded, whatever the time; nil if there is none.
local function log_read(key)
  local raw = redis.call('GETRANGE', key, 0, SHORT * 16 - 1)
  if raw == '' then
    return nil
  end
  local s = { key = key, raw = raw, short = #raw < SHORT * 16 }
  local bytes = s.short and #raw or redis.call('STRLEN', key)
  s.last = bytes / 16 - 1
  s.dead, s.base = struct.unpack('>I8I8', raw)
  s.newest, s.total = log_record(s, s.last)
  return s
end

function sliding_log.open(key, window, limit)
  local s = log_read(key)
  if not s then
    return { key = key, at = now, used = 0, room = limit, window = window, limit = limit }
  end
  s.window, s.limit = window, limit
  s.at = s.newest > now and s.newest or now
  local expired_before = s.at - window
  if s.newest <= expired_before then
    s.first, s.first_base = s.last + 1, s.total
  else
    s.first = log_search(s.dead + 1, s.last, function(i)
      return log_record(s, i) > expired_before
    end)
    s.first_base = log_before(s, s.first)
  end
  s.used = (s.total - s.first_base) % WRAP
  s.room = limit > s.used and limit - s.used or 0
  return s
end

-- Until the entries have expired that make room for `cost`.
function sliding_log.retry(s, cost)
  local excess = s.used - (s.limit - cost)
  local freeing = log_search(s.first, s.last, function(i)
    local _, cumulative = log_record(s, i)
    return (cumulative - s.first_base) % WRAP >= excess
  end)
  return log_record(s, freeing) + s.window - now, 0
end

function sliding_log.reset(s, cost)
  if cost > 0 then
    return s.at + s.window - now, 0
  end
  return s.used > 0 and s.newest + s.window - now or 0, 0
end

function sliding_log.charge(s, cost)
  local reset = s.at + s.window - now
  if s.used == 0 then
    cost = cost < WRAP and cost or WRAP - 1
    keep(s.key, struct.pack('>I8I8I8I8', 0, 0, s.at, cost), reset)
    return reset, 0
  end
  cost = cost < WRAP - s.used and cost or WRAP - 1 - s.used
  if cost == 0 then
    -- It is full: nothing changes.
    return s.newest + s.window - now, 0
  end
  local entry = struct.pack('>I8I8', s.at, (s.total + cost) % WRAP)
  -- Units of the newest instant are one entry.
  local kept = s.newest == s.at and s.last - 1 or s.last
  local dead, live = s.first - 1, kept - s.first + 1
  if s.short or dead > live then
    local rest = ''
    if live > 0 then
      rest = s.short and string.sub(s.raw, s.first * 16 + 1, kept * 16 + 16)
        or redis.call('GETRANGE', s.key, s.first * 16, kept * 16 + 15)
    end
    keep(s.key, struct.pack('>I8I8', 0, s.first_base) .. rest .. entry, reset)
    return reset, 0
  end
  if dead ~= s.dead then
    redis.call('SETRANGE', s.key, 0, struct.pack('>I8I8', dead, s.first_base))
  end
  redis.call('SETRANGE', s.key, (kept + 1) * 16, entry)
  redis.call('PEXPIRE', s.key, expiry_ms(reset))
  return reset, 0
end

-- The newest entries first. Copies what is left.
function sliding_log.refund(key, cost, window)
  local s = log_read(key)
  if not s then
    return
  end
  local left = (s.total - s.base) % WRAP - cost
  if left <= 0 then
    redis.call('DEL', key)
    return
  end
  -- The entry that holds the last unit that is left, and is cut down to it.
  local cut = log_search(s.dead + 1, s.last, function(i)
    local _, cumulative = log_record(s, i)
    return (cumulative - s.base) % WRAP >= left
  end)
  local at = log_record(s, cut)
  local older = cut > s.dead + 1 and redis.call('GETRANGE', key, (s.dead + 1) * 16, cut * 16 - 1) or ''
  keep(key, struct.pack('>I8I8', 0, s.base) .. older .. struct.pack('>I8I8', at, (s.base + left) % WRAP), at + window - now)
end
