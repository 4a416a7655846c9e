-- For tests and replays only: the time is the caller's, in the last of ARGV, in whole microseconds.
local now = tonumber(ARGV[#ARGV])
-- Keys still expire by the server's clock, which tells nothing about the caller's: they live an hour (in us) longer.
local grace = 3600000000
