import { expect, it } from 'vitest';
import { ConfigError, loadConfig, providersConfig } from './index.ts';

function report(endpoint: string, more: Readonly<Record<string, string>> = {}): string {
  const cluster = { name: 'metal-1', region: 'us-central-1', offer: 'bare-metal', endpoint };
  const provider = {
    id: 'provider-v1',
    variant: 'V1',
    driver: 'ironic',
    regions: [{ region: 'us-central-1' }],
  };
  const MILLRACE_PROVIDERS = JSON.stringify([{ ...provider, clusters: [cluster] }]);
  try {
    loadConfig([providersConfig], { MILLRACE_PROVIDERS, ...more });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

it.each([
  ['https://ironic.example.com:6385', {}],
  ['http://127.0.0.1:6385', {}],
  ['http://[::1]:6385', {}],
  ['http://10.0.0.1:6385', { MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true' }],
])('providersConfig accepts an Ironic at %s with %j', (endpoint, more) => {
  expect(report(endpoint, more)).toBe('accepted');
});

it.each(['http://10.0.0.1:6385', 'http://ironic.example.com', 'http://0.0.0.0:6385'])(
  'providersConfig refuses an Ironic without TLS at %s',
  (endpoint) => {
    expect(report(endpoint)).toMatch(
      /MILLRACE_PROVIDERS names another machine without TLS; use TLS, or set MILLRACE_ALLOW_PLAINTEXT_ENGINES/,
    );
  },
);
