-- Health of a Nova or a NovaCompute for Argo CD. It says what kstatus, and so Flux, says
-- of the same object. It needs no library beyond Lua's base functions.

-- The conditions behind Ready, in the order of a pass: the first that is not True is the
-- one to look at.
local order = {
  Nova = {
    "SecretsReady", "ComputeConfigReady", "DatabaseReady", "ConductorReady", "SchedulerReady",
    "MetadataReady", "ConsoleProxyReady", "DeploymentReady", "DBArchiveReady", "NovaAPIReady",
    "HPAReady", "VPAReady", "NetworkPolicyReady", "HTTPRouteReady", "MetadataHTTPRouteReady",
    "ConsoleHTTPRouteReady",
  },
  NovaCompute = {
    "NovaReady", "NodesReady", "ConfigReady", "DaemonSetReady", "VPAReady", "AggregatesReady",
    "ServicesReady", "TraitsReady",
  },
}

local function health(status, message)
  return {status = status, message = message}
end

local status = obj.status or {}
local conditions = {}
for _, c in ipairs(status.conditions or {}) do
  conditions[c.type] = c
end

local function is_true(c)
  return c ~= nil and c.status == "True"
end

local function say(c)
  local text = c.type .. ": " .. c.reason
  if c.message ~= nil and c.message ~= "" then
    text = text .. ": " .. c.message
  end
  return text
end

-- first returns the first condition behind Ready that is not True, and has the reason
-- when one is given; without one, a name that has no condition yet counts.
local function first(reason)
  for _, name in ipairs(order[obj.kind] or {}) do
    local c = conditions[name]
    if c == nil and reason == nil then
      return {type = name, reason = "not looked at yet"}
    end
    if c ~= nil and not is_true(c) and (reason == nil or c.reason == reason) then
      return c
    end
  end
  return nil
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "is being deleted")
end
if status.observedGeneration == nil or status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "the operator has not seen this generation yet")
end
local stalled = conditions.Stalled
if is_true(stalled) then
  return health("Degraded", say(first(stalled.reason) or stalled))
end
if is_true(conditions.Ready) then
  return health("Healthy", "Ready")
end
local waiting = first(nil) or conditions.Ready
if waiting == nil then
  return health("Progressing", "the operator has not looked at it yet")
end
return health("Progressing", say(waiting))
