-- The workload "tpcb" for sysbench: the statements and tables that contend uses, prepared, each a round trip of its
-- own. `--select-only` looks accounts up instead; `--branches` is the scale.

sysbench.cmdline.options = {
   branches = {"Branches: ten tellers and 100,000 accounts each", 1},
   select_only = {"Look up accounts instead", false}
}

local INT = sysbench.sql.type.BIGINT

-- A prepared statement with so many numbers, and the places to put them.
local function prepared(con, sql, count)
   local statement, places = con:prepare(sql), {}
   for i = 1, count do
      places[i] = statement:bind_create(INT)
   end
   if count > 0 then
      statement:bind_param(unpack(places))
   end
   return function(...)
      for i = 1, count do
         places[i]:set((select(i, ...)))
      end
      return statement:execute()
   end
end

function thread_init()
   con = sysbench.sql.driver():connect()
   look_up = prepared(con, "SELECT abalance FROM pgbench_accounts WHERE aid = ?", 1)
   if sysbench.opt.select_only then
      return
   end
   begin = prepared(con, "BEGIN", 0)
   commit = prepared(con, "COMMIT", 0)
   account = prepared(con, "UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?", 2)
   teller = prepared(con, "UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?", 2)
   branch = prepared(con, "UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?", 2)
   history = prepared(con, "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) " ..
                           "VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)", 4)
end

local random = sysbench.rand.uniform

function event()
   local branches = sysbench.opt.branches
   local aid = random(1, 100000 * branches)
   if sysbench.opt.select_only then
      look_up(aid)
      return
   end
   local bid, tid, delta = random(1, branches), random(1, 10 * branches), random(0, 10000) - 5000
   begin()
   account(delta, aid)
   look_up(aid)
   teller(delta, tid)
   branch(delta, bid)
   history(tid, bid, aid, delta)
   commit()
end

function thread_done()
   con:disconnect()
end
