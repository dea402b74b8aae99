-- Bids that rise by a thousandth each, so that nearly all are accepted; bidder and auction by chance.
-- The request is put together by hand, as wrk.format costs more than a bid should wait for.
local function lines(name)
  local found = {}
  for line in io.lines(os.getenv(name)) do found[#found + 1] = line end
  return found
end

local tokens, gids = lines("BENCH_TOKENS"), lines("BENCH_GIDS")
local amount = tonumber(os.getenv("BENCH_FIRST"))
local pause = tonumber(os.getenv("BENCH_PAUSE_MS"))
local random, floor, format = math.random, math.floor, string.format
local middle
math.randomseed(os.time())

init = function()
  middle = "/bids HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port ..
    "\r\nX-Requested-With: wrk\r\nContent-Type: application/json\r\nAuthorization: Bearer "
end

request = function()
  amount = amount + 1
  local body = format('{"amount":"%d.%03d"}', floor(amount / 1000), amount % 1000)
  return "POST /auctions/" .. gids[random(#gids)] .. middle .. tokens[random(#tokens)] ..
    "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
end

if pause then
  -- Pauses by chance, twice the mean at most: the requests arrive evenly, not in step.
  delay = function() return random(0, floor(2 * pause)) end
end
