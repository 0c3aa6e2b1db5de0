import {
  cellConfig,
  docsConfig,
  fragment,
  httpConfig,
  inferenceConfig,
  loadConfig,
  logConfig,
  natsConfig,
  postgresConfig,
  providersConfig,
  rateLimitConfig,
  telemetryConfig,
  valkeyConfig,
  values,
  type Environment,
} from '@millrace/platform/config';

/** Lets several installations, and every test, share one NATS server. The worker must be given the same. */
const channelsConfig = fragment('channels', {
  prefix: {
    env: 'MILLRACE_CHANNEL_PREFIX',
    schema: values.text.default(''),
    expected: 'at most 32 small letters and digits put before every NATS subject, or nothing',
    example: 'staging',
  },
});

const drainConfig = fragment('drain', {
  deadlineMs: {
    env: 'MILLRACE_DRAIN_DEADLINE_MS',
    schema: values.wholeNumber(0, 600_000).default(30_000),
    expected: 'how long a stopping process may take to finish its requests, in milliseconds, 0 to 600000',
    example: '30000',
  },
});

export function loadApiConfig(env?: Environment) {
  return loadConfig(
    [
      cellConfig,
      channelsConfig,
      docsConfig,
      drainConfig,
      httpConfig,
      inferenceConfig,
      logConfig,
      natsConfig,
      postgresConfig,
      providersConfig,
      rateLimitConfig,
      telemetryConfig,
      valkeyConfig,
    ],
    ...(env === undefined ? [] : [env]),
  );
}

export type ApiConfig = ReturnType<typeof loadApiConfig>;
