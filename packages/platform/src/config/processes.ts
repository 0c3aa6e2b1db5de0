import { authConfig } from './auth.ts';
import { caddyConfig, namesConfig } from './caddy.ts';
import { consoleConfig } from './console.ts';
import { demoConfig } from './demo.ts';
import {
  catalogConfig,
  cellConfig,
  docsConfig,
  httpConfig,
  inferenceConfig,
  logConfig,
  rateLimitConfig,
  secretsConfig,
  telemetryConfig,
} from './fragments.ts';
import { healthConfig, healthProcessesConfig } from './health.ts';
import { invoicesConfig } from './invoices.ts';
import { mailConfig } from './mail.ts';
import { marketplaceConfig } from './marketplace.ts';
import { keyFeedConfig, natsConfig } from './nats.ts';
import { postgresConfig } from './postgres.ts';
import { fleetConfig, providersConfig } from './providers.ts';
import { restateConfig } from './restate.ts';
import { storageConfig } from './storage.ts';
import { stripeConfig } from './stripe.ts';
import { leaseValkeyConfig, optionalLeaseValkeyConfig, valkeyConfig } from './valkey.ts';
import { values } from './values.ts';
import { webhooksConfig } from './webhooks.ts';

/** Settings that a process shares with others, or that `millrace-admin doctor` checks. The rest is in the config.ts of each app. */

const commonFragments = [
  cellConfig,
  demoConfig,
  healthConfig,
  keyFeedConfig,
  logConfig,
  natsConfig,
  rateLimitConfig,
  telemetryConfig,
] as const;

const apiAndWorkerFragments = [
  ...commonFragments,
  fleetConfig,
  invoicesConfig,
  mailConfig,
  marketplaceConfig,
  namesConfig,
  postgresConfig,
  providersConfig,
  secretsConfig,
  stripeConfig,
  webhooksConfig,
] as const;

export const apiFragments = [
  ...apiAndWorkerFragments,
  authConfig,
  catalogConfig,
  consoleConfig,
  docsConfig,
  healthProcessesConfig,
  httpConfig,
  inferenceConfig,
  valkeyConfig,
] as const;

export const workerFragments = [
  ...apiAndWorkerFragments,
  caddyConfig,
  optionalLeaseValkeyConfig,
  restateConfig,
  storageConfig,
] as const;

/** The gateway opens no database. */
export const gatewayFragments = [...commonFragments, httpConfig, inferenceConfig, leaseValkeyConfig] as const;

/** The api has no health port: it serves its health on MILLRACE_HTTP_PORT. */
export const healthPorts = {
  worker: {
    env: 'MILLRACE_WORKER_HEALTH_PORT',
    schema: values.port.default(8081),
    expected: 'the port of health and readiness, 0 to 65535',
    example: '8081',
  },
  gateway: {
    env: 'MILLRACE_GATEWAY_HEALTH_PORT',
    schema: values.port.default(8083),
    expected: 'the port of health and readiness, 0 to 65535',
    example: '8083',
  },
} as const;
