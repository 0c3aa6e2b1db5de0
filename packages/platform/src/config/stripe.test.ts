import { expect, test } from 'vitest';
import { ConfigError, loadConfig, stripeConfig, type Environment } from './index.ts';

function problems(env: Environment): string {
  try {
    loadConfig([stripeConfig], env);
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

const live = {
  MILLRACE_STRIPE_SECRET_KEY: 'rk_live_hunter2',
  MILLRACE_STRIPE_WEBHOOK_SECRET: 'whsec_hunter2',
};

test('stripeConfig disables payments by default and enables them with a key and a webhook secret', () => {
  expect(loadConfig([stripeConfig], {}).stripe).toEqual({
    isDemo: false,
    secretKey: null,
    webhookSecret: null,
    testMode: false,
    apiUrl: 'https://api.stripe.com',
    consoleUrl: null,
  });
  expect(problems(live)).toBe('');
});

test.each<[string, Environment, string]>([
  ['a key alone', { MILLRACE_STRIPE_SECRET_KEY: 'sk_live_hunter2' }, 'MILLRACE_STRIPE_WEBHOOK_SECRET'],
  ['a secret alone', { MILLRACE_STRIPE_WEBHOOK_SECRET: 'whsec_hunter2' }, 'MILLRACE_STRIPE_SECRET_KEY'],
  [
    'a publishable key',
    { ...live, MILLRACE_STRIPE_SECRET_KEY: 'pk_live_hunter2' },
    'MILLRACE_STRIPE_SECRET_KEY',
  ],
  ['test cards by mistake', { ...live, MILLRACE_STRIPE_SECRET_KEY: 'sk_test_hunter2' }, 'anyone could pay'],
  ['real money by mistake', { ...live, MILLRACE_STRIPE_TEST_MODE: 'true' }, 'moves real money'],
  ['real money in a demo', { ...live, MILLRACE_DEMO: 'true' }, 'moves real money'],
  ['an unencrypted key', { ...live, MILLRACE_STRIPE_API_URL: 'http://proxy.example.com' }, 'unencrypted'],
])('stripeConfig refuses %s with a reason that omits the secret', (_what, env, words) => {
  const text = problems(env);
  expect(text).toContain(words);
  expect(text).not.toContain('hunter2');
});

test('stripeConfig accepts test cards in test mode, and a loopback API without TLS', () => {
  const env = {
    ...live,
    MILLRACE_STRIPE_SECRET_KEY: 'sk_test_hunter2',
    MILLRACE_STRIPE_TEST_MODE: 'true',
    MILLRACE_STRIPE_API_URL: 'http://127.0.0.1:1',
  };
  expect(problems(env)).toBe('');
});
