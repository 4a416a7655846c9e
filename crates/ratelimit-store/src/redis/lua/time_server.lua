-- The time of the server, in whole microseconds since the Unix epoch. One clock decides for all the servers that ask.
local server_time = redis.call('TIME')
local now = server_time[1] * 1000000 + server_time[2]
-- Keys expire by the same clock, so no longer than they are needed.
local grace = 0
