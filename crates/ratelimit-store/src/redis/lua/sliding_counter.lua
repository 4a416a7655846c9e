-- Sliding window counter: the count of this window, and the share of the previous one that the trailing window overlaps,
-- floor(prev * (W - elapsed) / W).
--
-- Key: 24 bytes, big endian: `start` (us) of the current window, `cur` and `prev` (units), not both 0. An absent key has
-- nothing used. `most` (units) is the largest count whose products with W and 1000 are exact; no limit lies above it, and debt
-- is cut off there. It must be a script: both counts roll with the time at which the cost is weighed.
local sliding_counter = {}

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
  return window - counted, ceil_div(rest * 1000, prev) - 1
end

function sliding_counter.open(key, window, limit, most)
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
  return { key = key, start = start, cur = cur, prev = prev, room = room, window = window, limit = limit, most = most }
end

-- Until `cost`, which is more than the room, fits: in this window when enough of the previous one has faded, or else in
-- the next one when enough of this one has.
function sliding_counter.retry(s, cost)
  local spare = s.limit - cost
  if s.cur <= spare then
    local us, late = first_with_room(s.window, s.prev, spare - s.cur)
    return s.start + us - now, late
  end
  local us, late = first_with_room(s.window, s.cur, spare)
  return s.start + s.window + us - now, late
end

-- Until nothing counts any more if `cost` is charged now.
function sliding_counter.reset(s, cost)
  local start, last = s.start, s.prev
  if s.cur + cost > 0 then
    start, last = start + s.window, s.cur + cost
  end
  local us, late = first_with_room(s.window, last, 0)
  local reset = start + us - now
  if reset > 0 then
    return reset, late
  end
  return 0, 0
end

function sliding_counter.charge(s, cost)
  if s.cur + cost > s.most then
    cost = s.most - s.cur
  end
  local us, late = sliding_counter.reset(s, cost)
  keep(s.key, struct.pack('>I8I8I8', s.start, s.cur + cost, s.prev), us)
  return us, late
end

-- The current count first, then the previous one.
function sliding_counter.refund(key, cost, window)
  local raw = redis.call('GET', key)
  if not raw then
    return
  end
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
  if cur + prev > 0 then
    local s = { start = start, cur = cur, prev = prev, window = window }
    local us = sliding_counter.reset(s, 0)
    keep(key, struct.pack('>I8I8I8', start, cur, prev), us)
  else
    redis.call('DEL', key)
  end
end
