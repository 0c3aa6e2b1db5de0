import { describe, expect, it } from 'vitest';
import {
  ConfigError,
  leaseValkeyConfig,
  loadConfig,
  optionalLeaseValkeyConfig,
  valkeyConfig,
  type Environment,
} from './index.ts';

function report(config: Parameters<typeof loadConfig>[0][number], env: Environment): string {
  try {
    loadConfig([config], env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe.each([
  ['MILLRACE_VALKEY_URL', valkeyConfig],
  ['MILLRACE_POT_VALKEY_URL', leaseValkeyConfig],
  ['MILLRACE_POT_VALKEY_URL', optionalLeaseValkeyConfig],
] as const)('%s', (name, config) => {
  it.each([
    ['redis://127.0.0.1:6379', {}],
    ['redis://u:p@[::1]', {}],
    ['rediss://u:p@valkey.example.com:6379', {}],
    ['redis://u:p@valkey.example.com', { MILLRACE_ALLOW_PLAINTEXT_ENGINES: 'true' }],
  ])('accepts %s with %j', (url, more) => {
    expect(report(config, { [name]: url, ...more })).toBe('accepted');
  });

  it('refuses an address of another machine without TLS, without printing the password', () => {
    const text = report(config, { [name]: 'redis://u:hunter2@valkey.example.com' });
    expect(text).toContain(`${name} names another machine without TLS`);
    expect(text).not.toContain('hunter2');
  });
});

it('MILLRACE_POT_VALKEY_URL is optional for workers only', () => {
  expect(report(optionalLeaseValkeyConfig, {})).toBe('accepted');
  expect(report(leaseValkeyConfig, {})).toContain('MILLRACE_POT_VALKEY_URL is not set');
});
