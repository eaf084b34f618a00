-- One session in Neovim's own client: read diagnostics, apply a quick fix, optimize, save.
-- The scenario is JSON in EDITOR_SCENARIO; what was seen is written as JSON to its "report".

local scenario = vim.json.decode(vim.env.EDITOR_SCENARIO)
local seen = { messages = {}, offered = {} }
local wanted

local function finish(problem)
  seen.problem = problem
  vim.fn.writefile({ vim.json.encode(seen) }, scenario.report)
  for _, client in ipairs(vim.lsp.get_active_clients()) do
    client.stop()
  end
  vim.wait(60000, function() return #vim.lsp.get_active_clients() == 0 end, 50)
  vim.cmd('qall!')
end

local function await(what, milliseconds, holds)
  if not vim.wait(milliseconds, holds, 50) then
    error('waited in vain for ' .. what)
  end
end

-- The keys that a person would press in the menus.
vim.ui.select = function(items, options, choose)
  for _, item in ipairs(items) do
    local title = options.format_item(item)
    table.insert(seen.offered, title)
    if wanted and title:find(wanted, 1, true) then
      wanted = nil
      choose(item)
      return
    end
  end
  choose(nil)
end
vim.fn.inputlist = function(lines)
  table.insert(seen.messages, lines[1])
  return 1
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') .. '\n'
end

local function act(title)
  local before = vim.api.nvim_buf_get_changedtick(0)
  wanted = title
  vim.lsp.buf.code_action()
  return before
end

local function session()
  vim.cmd('edit ' .. vim.fn.fnameescape(scenario.file))
  vim.bo.filetype = 'python'
  local id = vim.lsp.start_client({
    name = 'tilewright',
    cmd = scenario.command,
    root_dir = scenario.folder,
    init_options = scenario.settings,
    handlers = {
      ['tilewright/jobFinished'] = function(_, result)
        seen.finished = result
      end,
    },
  })
  vim.lsp.buf_attach_client(0, id)
  await('diagnostics', 300000, function() return #vim.diagnostic.get(0) > 0 end)
  seen.diagnostics = vim.tbl_map(function(one)
    return { code = one.code, line = one.lnum, message = one.message, source = one.source }
  end, vim.diagnostic.get(0))

  vim.fn.search('\\V' .. scenario.fix.place)
  local before = act(scenario.fix.title)
  await('the quick fix', 300000, function()
    return vim.api.nvim_buf_get_changedtick(0) ~= before
  end)
  seen.fixed = text()
  vim.cmd('write')
  -- The next menu is about the text that the server has read.
  await('diagnostics of the fixed text', 300000, function()
    return not vim.tbl_contains(
      vim.tbl_map(function(one) return one.code end, vim.diagnostic.get(0)),
      scenario.fix.issue
    )
  end)

  vim.fn.search('^def ', 'w')
  act(scenario.optimize.title)
  await('the end of the optimization', scenario.optimize.limit_s * 1000, function()
    return seen.finished ~= nil
  end)
  vim.cmd('write')
  seen.final = text()
end

local ok, problem = pcall(session)
finish(not ok and tostring(problem) or nil)
