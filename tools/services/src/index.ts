export { down, ensureUp, killNode, replaceCertificate, startNode, stopNode, up } from './commands.ts';
export type { DownOptions, EngineNote, EngineOutcome, SiteCommandOptions, UpOptions } from './commands.ts';
export { readEndpoints } from './endpoints.ts';
export type {
  CaddyEndpoints,
  Endpoints,
  IncusClusterEndpoints,
  IncusEndpoints,
  IncusHostEndpoints,
  IncusMember,
  IronicEndpoints,
  LlamaEndpoints,
  MediaEndpoints,
  RestateEndpoints,
} from './endpoints.ts';
export type { Topology } from './engine.ts';
export { resetIncusHost } from './engines/incus-standalone.ts';
export { caddyCommand, caddyFile, type CaddyCommand, type CaddyOptions } from './engines/caddy-command.ts';
export { haproxyFile } from './engines/programs.ts';
export { restateProxyCommand, type RestateProxyOptions } from './secure/restate-proxy.ts';
export { renderRestateToml, restateCommand } from './engines/restate.ts';
export { ensureIdentityKey, identityPublicKey } from './identity-key.ts';
export { natsCommand } from './engines/nats-command.ts';
export { postgresCommand, postgresOwner, postgresProgram } from './engines/postgres-command.ts';
export { ironicCommand, type IronicCommand } from './engines/ironic-command.ts';
export type { IronicConf, IronicSettings } from './engines/ironic-conf.ts';
export {
  chatModel,
  isLlamaInstalled,
  llamaCommand,
  type LlamaCommand,
  type LlamaOptions,
} from './engines/inference/llama-command.ts';
export { mediaCommand, mediaModels, type MediaServer } from './engines/inference/media-command.ts';
export { Failure } from './failure.ts';
export { debianSources } from './install/install.ts';
export { withLock } from './lock.ts';
export { plainPng } from './media/png.ts';
export { makeAuthority, type Authority, type CertificateRequest } from './secure/authority.ts';
export { natsPermissionsFor } from './secure/nats-permissions.ts';
export { issueNatsCredentials } from './secure/nats-tokens.ts';
export type { Role, SecureEndpoints } from './secure/secure-endpoints.ts';
export { isPortFree, portHolder } from './ports.ts';
export { defaultCacheDir } from './site.ts';
export { status } from './status.ts';
export type { NodeState, NodeStatus } from './status.ts';
