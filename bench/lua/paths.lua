-- Reads each time one of the paths of a file, by chance.
local paths = {}
for line in io.lines(os.getenv("BENCH_GIDS")) do paths[#paths + 1] = line end
local random = math.random
local tail
math.randomseed(os.time())

init = function() tail = " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port .. "\r\n\r\n" end

request = function() return "GET " .. paths[random(#paths)] .. tail end
