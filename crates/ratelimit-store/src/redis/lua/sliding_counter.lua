-- Sliding window counter: the count of this window, and the share of the previous one that the trailing window overlaps,
-- floor(prev * (W - elapsed) / W).
--
-- Parameters: the window (us); the limit (units); `most` (units), the largest count whose products with W and 1000 are
-- exact: no limit lies above it, and debt is cut off there.
-- Key: 24 bytes, big endian: `start` (us) of the current window, `cur` and `prev` (units), not both 0. An absent key has
-- nothing used. It must be a script: both counts roll with the time at which the cost is weighed.

-- The first elapsed time, in 0..W, at which at most `room` of the previous window's `prev` units count: just after
-- W - (room + 1) * W / prev.
local function first_with_room(window, prev, room)
  if prev <= room then
    return 0, 0
  end
  local product = (room + 1) * window
  local counted = floor(product / prev)
  local rest = product - counted * prev
  if rest == 0 then
    return window - counted + 1, 999
  end
  -- ceil(rest * 1000 / prev) - 1
  return window - counted, floor((rest * 1000 - 1) / prev)
end

-- Until neither count counts any more.
local function counted_until(start, cur, prev, window)
  local last = prev
  if cur > 0 then
    start, last = start + window, cur
  end
  local us, late = first_with_room(window, last, 0)
  us = us + (start - now)
  if us > 0 then
    return us, late
  end
  return 0, 0
end

--@ open
local window, limit, most = a, b, c
local raw = redis.call('GET', key)
local start, cur, prev = 0, 0, 0
if raw then
  start, cur, prev = struct.unpack('>I8I8I8', raw)
end
-- A clock before the recorded start still counts in the recorded window.
if not raw or now >= start + 2 * window then
  start, cur, prev = now - now % window, 0, 0
elseif now >= start + window then
  start, cur, prev = start + window, 0, cur
end
local elapsed = now > start and now - start or 0
local carried = floor(prev * (window - elapsed) / window)
local room = limit - carried - cur
if room < 0 then
  room = 0
end
s = { key = key, start = start, cur = cur, prev = prev, room = room, window = window, limit = limit, most = most }

--@ retry
-- In this window when enough of the previous one has faded, or else in the next one when enough of this one has.
local spare = s.limit - cost
if s.cur <= spare then
  us, late = first_with_room(s.window, s.prev, spare - s.cur)
  us = us + (s.start - now)
else
  us, late = first_with_room(s.window, s.cur, spare)
  us = us + (s.start + s.window - now)
end

--@ reset
us, late = counted_until(s.start, s.cur + cost, s.prev, s.window)

--@ charge
local cur = s.cur + cost
if cur > s.most then
  cur = s.most
end
raw = struct.pack('>I8I8I8', s.start, cur, s.prev)
us, late = counted_until(s.start, cur, s.prev, s.window)

--@ refund
-- The current count first, then the previous one.
local window = a
raw = redis.call('GET', key)
if raw then
  local start, cur, prev = struct.unpack('>I8I8I8', raw)
  if cost <= cur then
    cur = cur - cost
  else
    prev = prev - (cost - cur)
    cur = 0
    if prev < 0 then
      prev = 0
    end
  end
  raw = cur + prev > 0 and struct.pack('>I8I8I8', start, cur, prev) or ''
  us = counted_until(start, cur, prev, window)
end
