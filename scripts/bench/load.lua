-- What wrk sends, in one thread, and its result as a line of JSON. The body comes by standard
-- input. With the argument "chain" each 303 is followed, and a chain counts once; with a number, calls
-- go by turns to so many webhooks, of which the first is the one of the URL, echo0.
local sender
local locations = {}

-- Globals of the thread, which `done` reads from outside it.
chains, wrong = nil, 0

function setup(thread) sender = thread end

function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = io.read("*a")
  if args[1] == "chain" then follow() elseif args[1] then takeTurns(tonumber(args[1])) end
end

function takeTurns(count)
  local calls, at = {}, 0
  for number = 1, count do
    calls[number] = wrk.format(nil, (wrk.path:gsub("echo0", "echo" .. number - 1)))
  end
  function request()
    at = at % count + 1
    return calls[at]
  end
end

-- The second leg is the same path with a query of its own.
function follow()
  local first = wrk.format()
  chains = 0
  function request()
    local location = table.remove(locations)
    return location and wrk.format("GET", wrk.path .. location:match("%?.*"), {}, "") or first
  end
  function response(status, headers)
    if status == 303 then table.insert(locations, headers["location"])
    elseif status == 200 then chains = chains + 1
    else wrong = wrong + 1 end
  end
end

function done(summary, latency)
  local errors = summary.errors
  local lost = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('\n{"answers":%d,"wrong":%d,"seconds":%f,"p50_ms":%f,"p99_ms":%f}\n',
    sender:get("chains") or summary.requests, sender:get("wrong") + lost,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
