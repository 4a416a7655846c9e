-- Fixed window: the units used in the window that holds the request; windows are aligned to multiples of W since the epoch.
--
-- Parameters: the window (us) and the limit (units).
-- Key: 16 bytes, big endian: `start` (us) of the window that is counted; `count` (units), at least 1. An absent key is
-- an empty window. It must be a script: whether the count still counts and whether the cost fits is one decision.

--@ open
local window, limit = a, b
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
s = { key = key, start = start, count = count, room = room, ends = start + window - now }

--@ retry
us, late = s.ends, 0

--@ reset
us, late = s.count + cost > 0 and s.ends or 0, 0

--@ charge
local count = s.count + cost
if count > MAX then
  count = MAX
end
raw = struct.pack('>I8I8', s.start, count)
us, late = s.ends, 0

--@ refund
local window = a
raw = redis.call('GET', key)
if raw then
  local start, count = struct.unpack('>I8I8', raw)
  raw = count > cost and struct.pack('>I8I8', start, count - cost) or ''
  us = start + window - now
end
