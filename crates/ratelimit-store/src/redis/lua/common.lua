-- What all the algorithms share. Every number here is a whole number below 2^53, where Lua's doubles are exact:
-- `exact.rs` refuses the quotas for which that would not hold. Sums and products that can lie beyond (a charge far over
-- the limit) are only ever compared, or cut off at MAX.
local floor = math.floor
local MAX = 9007199254740991

-- ceil(a / b) for a >= 0, b >= 1. The quotient is exact: below 2^53 a / b never rounds up to the next whole number.
local function ceil_div(a, b)
  local quotient = floor(a / b)
  if quotient * b < a then
    return quotient + 1
  end
  return quotient
end

-- Durations are pairs: whole microseconds, rounded up, and by how many nanoseconds (0 to 999) that is late. The first is
-- what the server's clock can tell; both together are exact.

-- How long `parts` take to drain at `drain` parts a microsecond.
local function drained_in(parts, drain)
  local micros = floor(parts / drain)
  local rest = parts - micros * drain
  if rest == 0 then
    return micros, 0
  end
  return micros + 1, floor((drain - rest) * 1000 / drain)
end

-- The longer of two durations.
local function longer(us, late, other_us, other_late)
  if other_us > us or other_us == us and other_late < late then
    return other_us, other_late
  end
  return us, late
end

-- Milliseconds until the key may go, `reset` us from now: never before the state is fresh, and at least 1. The server
-- adds them to its own time in whole milliseconds, which is why the part of the present one counts too.
local function expiry_ms(reset)
  local ms = ceil_div(reset + now % 1000, 1000)
  if ms < 1 then
    ms = 1
  end
  return ms + grace_ms
end

-- Keeps the state, which `reset` us from now is fresh and gone (a refund may meet one that is fresh already).
local function keep(key, raw, reset)
  redis.call('SET', key, raw, 'PX', expiry_ms(reset))
end
