-- Sliding log: an entry for each distinct admitted microsecond of the trailing window, whatever its cost.
--
-- Parameters: the window (us) and the limit (units).
-- Key: records of 16 bytes, big endian. Record 0: `dead`, how many of the records after it are forgotten; and the
-- cumulative units (modulo 2^52) before the first that is not. The others: `at` (us), strictly increasing; and the
-- cumulative units up to and including it. All entries together hold less than 2^52 units, so that a difference modulo
-- 2^52 is the true number of units between two of them. An absent key has nothing used.
--
-- Reading is a binary search. Forgotten records are cut off when they outnumber the live ones, so a log holds at most
-- twice the entries that count, and a charge moves each entry a constant number of times. A short log is read and
-- written whole. It must be a script: what counts depends on the time at which the cost is weighed.

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
  if bytes < 32 or bytes % 16 ~= 0 then
    error('the key holds no sliding log')
  end
  s.last = bytes / 16 - 1
  s.dead, s.base = struct.unpack('>I8I8', raw)
  s.newest, s.total = log_record(s, s.last)
  return s
end

--@ open
local window, limit = a, b
s = log_read(key)
if s then
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
else
  s = { key = key, at = now, used = 0, room = limit, window = window, limit = limit }
end

--@ retry
-- Until the entries have expired that make room.
local excess = s.used - (s.limit - cost)
local freeing = log_search(s.first, s.last, function(i)
  local _, cumulative = log_record(s, i)
  return (cumulative - s.first_base) % WRAP >= excess
end)
us, late = log_record(s, freeing) + s.window - now, 0

--@ reset
us, late = 0, 0
if cost > 0 then
  us = s.at + s.window - now
elseif s.used > 0 then
  us = s.newest + s.window - now
end

--@ charge
us, late = s.at + s.window - now, 0
-- All entries together stay below WRAP; a log that is full so far stays as it is.
local charged = cost < WRAP - s.used and cost or WRAP - 1 - s.used
if s.used == 0 then
  raw = struct.pack('>I8I8I8I8', 0, 0, s.at, charged)
elseif charged > 0 then
  local entry = struct.pack('>I8I8', s.at, (s.total + charged) % WRAP)
  -- Units of the newest instant are one entry.
  local kept = s.newest == s.at and s.last - 1 or s.last
  local dead, live = s.first - 1, kept - s.first + 1
  if s.short or dead > live then
    local rest = ''
    if live > 0 then
      rest = s.short and string.sub(s.raw, s.first * 16 + 1, kept * 16 + 16)
        or redis.call('GETRANGE', s.key, s.first * 16, kept * 16 + 15)
    end
    raw = struct.pack('>I8I8', 0, s.first_base) .. rest .. entry
  else
    if dead ~= s.dead then
      redis.call('SETRANGE', s.key, 0, struct.pack('>I8I8', dead, s.first_base))
    end
    redis.call('SETRANGE', s.key, (kept + 1) * 16, entry)
    redis.call('PEXPIRE', s.key, floor((us + slack) / 1000))
  end
end

--@ refund
-- The newest entries first. Copies what is left.
local window = a
local log = log_read(key)
if log then
  local left = (log.total - log.base) % WRAP - cost
  if left > 0 then
    -- The entry that holds the last unit that is left, and is cut down to it.
    local cut = log_search(log.dead + 1, log.last, function(i)
      local _, cumulative = log_record(log, i)
      return (cumulative - log.base) % WRAP >= left
    end)
    local at = log_record(log, cut)
    local older = cut > log.dead + 1 and redis.call('GETRANGE', key, (log.dead + 1) * 16, cut * 16 - 1) or ''
    raw = struct.pack('>I8I8', 0, log.base) .. older .. struct.pack('>I8I8', at, (log.base + left) % WRAP)
    us = at + window - now
  else
    raw = ''
  end
end
