-- Fixed window: the units used in the window that holds the request; windows are aligned to multiples of W since the epoch.
--
-- Key: 16 bytes, big endian: `start` (us) of the window that is counted; `count` (units), at least 1. An absent key is
-- an empty window. It must be a script: whether the count still counts and whether the cost fits is one decision.
local fixed_window = {}

function fixed_window.open(key, window, limit)
  local raw = redis.call('GET', key)
  local start, count
  if raw then
    start, count = struct.unpack('>I8I8', raw)
  end
  -- A clock before the recorded start still counts in the recorded window.
  if not raw or now >= start + window then
    start, count = now - now % window, 0
  end
  local room = limit > count and limit - count or 0
  return { key = key, start = start, count = count, room = room, ends = start + window - now }
end

function fixed_window.retry(s)
  return s.ends, 0
end

function fixed_window.reset(s, cost)
  if s.count + cost == 0 then
    return 0, 0
  end
  return s.ends, 0
end

function fixed_window.charge(s, cost)
  local count = s.count + cost
  if count > MAX then
    count = MAX
  end
  keep(s.key, struct.pack('>I8I8', s.start, count), s.ends)
  return s.ends, 0
end

function fixed_window.refund(key, cost, window)
  local raw = redis.call('GET', key)
  if not raw then
    return
  end
  local start, count = struct.unpack('>I8I8', raw)
  if count > cost then
    keep(key, struct.pack('>I8I8', start, count - cost), start + window - now)
  else
    redis.call('DEL', key)
  end
end
