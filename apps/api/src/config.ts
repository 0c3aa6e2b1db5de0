import {
  cellConfig,
  docsConfig,
  fleetConfig,
  fragment,
  httpConfig,
  inferenceConfig,
  loadConfig,
  logConfig,
  natsConfig,
  postgresConfig,
  providersConfig,
  rateLimitConfig,
  secretsConfig,
  stripeConfig,
  telemetryConfig,
  valkeyConfig,
  values,
  type Environment,
} from '@millrace/platform/config';

const drainConfig = fragment('drain', {
  ms: {
    env: 'MILLRACE_DRAIN_MS',
    schema: values.wholeNumber(0, 600_000).default(30_000),
    expected: 'how long a stopping process may take to finish its requests, in milliseconds, 0 to 600000',
    example: '30000',
  },
});

const maintenanceConfig = fragment('maintenance', {
  drainHours: {
    env: 'MILLRACE_MAINTENANCE_DRAIN_HOURS',
    schema: values.wholeNumber(0, 720).default(24),
    expected: 'how long before maintenance nothing new is placed on its nodes, in hours, 0 to 720',
    example: '24',
  },
});

export function loadApiConfig(env?: Environment) {
  return loadConfig(
    [
      cellConfig,
      docsConfig,
      drainConfig,
      fleetConfig,
      httpConfig,
      inferenceConfig,
      logConfig,
      maintenanceConfig,
      natsConfig,
      postgresConfig,
      providersConfig,
      rateLimitConfig,
      secretsConfig,
      stripeConfig,
      telemetryConfig,
      valkeyConfig,
    ],
    ...(env === undefined ? [] : [env]),
  );
}

export type ApiConfig = ReturnType<typeof loadApiConfig>;
