export { fragment } from './fragment.ts';
export type { ConfigProblem, Fragment, ValuesOf, Variable, Variables } from './fragment.ts';
export { ConfigError, loadConfig } from './load.ts';
export type { Environment } from './load.ts';
export { values } from './values.ts';
export {
  cellConfig,
  catalogConfig,
  docsConfig,
  httpConfig,
  inferenceConfig,
  logConfig,
  rateLimitConfig,
  secretsConfig,
  telemetryConfig,
} from './fragments.ts';
export { authConfig } from './auth.ts';
export { backupConfig } from './backup.ts';
export { consoleConfig } from './console.ts';
export { demoConfig } from './demo.ts';
export { healthConfig } from './health.ts';
export { invoicesConfig } from './invoices.ts';
export { mailConfig } from './mail.ts';
export { marketplaceConfig } from './marketplace.ts';
export { caddyAddress, caddyConfig, namesConfig } from './caddy.ts';
export { defaultStorage, storageConfig, type StorageNodeSetting } from './storage.ts';
export { keyFeedConfig, natsConfig, natsNamesConfig } from './nats.ts';
export { postgresAdministratorConfig, postgresConfig, postgresOwnerConfig } from './postgres.ts';
export { apiFragments, gatewayFragments, healthPorts, workerFragments } from './processes.ts';
export { restateConfig } from './restate.ts';
export { stripeConfig } from './stripe.ts';
export { leaseValkeyConfig, optionalLeaseValkeyConfig, valkeyConfig } from './valkey.ts';
export { webhooksConfig } from './webhooks.ts';
export {
  defaultFleet,
  fleetConfig,
  providersConfig,
  type CertificateSetting,
  type ClusterSetting,
  type CredentialSetting,
  type PasswordSetting,
  type ProviderSetting,
} from './providers.ts';
