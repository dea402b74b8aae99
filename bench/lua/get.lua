-- Reads one path, or each time an auction by chance.
local gids = {}
for line in io.lines(os.getenv("BENCH_GIDS")) do gids[#gids + 1] = line end
local path = os.getenv("BENCH_PATH")
local random = math.random
local tail
math.randomseed(os.time())

init = function() tail = " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port .. "\r\n\r\n" end

if path ~= "" then
  request = function() return "GET " .. path .. tail end
else
  request = function() return "GET /auctions/" .. gids[random(#gids)] .. tail end
end
