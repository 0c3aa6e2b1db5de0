import { expect, test } from 'vitest';
import { loadWorkerConfig } from './config.ts';

const needed = {
  MILLRACE_POSTGRES_URL: 'postgres://u:p@127.0.0.1/millrace',
  MILLRACE_NATS_URLS: 'nats://127.0.0.1:4222',
  MILLRACE_KEY_FEED_KEYS: `feed:${Buffer.alloc(32, 8).toString('base64')}`,
  MILLRACE_RESTATE_INGRESS_URL: 'http://127.0.0.1:8080',
  MILLRACE_RESTATE_ADMIN_URL: 'http://127.0.0.1:9070',
  MILLRACE_RESTATE_IDENTITY_KEYS: 'publickeyv1_abc',
  MILLRACE_SEALING_KEYS: `one:${Buffer.alloc(32, 1).toString('base64')}`,
  MILLRACE_SEALING_KEY_ACTIVE: 'one',
};

test('loadWorkerConfig serves handlers, health and metrics on loopback by default', () => {
  const { restate, health, telemetry } = loadWorkerConfig(needed);
  expect([restate.endpointHost, health.host, telemetry.prometheusHost]).toEqual([
    '127.0.0.1',
    '127.0.0.1',
    '127.0.0.1',
  ]);
  expect([health.token, health.lameDuckMs]).toEqual([null, 0]);
});

test.each(['0.0.0.0', '::'])('loadWorkerConfig needs the URL of handlers that listen on %s', (host) => {
  const env = {
    ...needed,
    MILLRACE_RESTATE_ENDPOINT_HOST: host,
    MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true',
  };
  expect(() => loadWorkerConfig(env)).toThrow(/MILLRACE_RESTATE_ENDPOINT_URL is not set/);
  const endpointUrl = 'https://workers.internal:9080';
  const config = loadWorkerConfig({ ...env, MILLRACE_RESTATE_ENDPOINT_URL: endpointUrl });
  expect(config.restate).toMatchObject({ endpointHost: host, endpointUrl });
});

test.each(['short', 'with a space inside it', 'x'.repeat(513)])(
  'loadWorkerConfig refuses the health token %j without printing it',
  (token) => {
    const read = () => loadWorkerConfig({ ...needed, MILLRACE_HEALTH_TOKEN: token });
    expect(read).toThrow(/MILLRACE_HEALTH_TOKEN is set but wrong/);
    expect(read).not.toThrow(token);
  },
);
