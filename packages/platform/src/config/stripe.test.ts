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

test('payments are off unless they are set up, and on with a key and the secret of its endpoint', () => {
  expect(loadConfig([stripeConfig], {}).stripe).toEqual({
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
  ['test cards by mistake', { ...live, MILLRACE_STRIPE_SECRET_KEY: 'sk_test_hunter2' }, 'anybody could pay'],
  ['real money by mistake', { ...live, MILLRACE_STRIPE_TEST_MODE: 'true' }, 'moves real money'],
  ['a key in the clear', { ...live, MILLRACE_STRIPE_API_URL: 'http://proxy.example.com' }, 'in the clear'],
])('%s is refused, in words and without the secret', (_what, env, words) => {
  const text = problems(env);
  expect(text).toContain(words);
  expect(text).not.toContain('hunter2');
});

test('test cards are taken where the operator says so, and a double on loopback needs no TLS', () => {
  const env = {
    ...live,
    MILLRACE_STRIPE_SECRET_KEY: 'sk_test_hunter2',
    MILLRACE_STRIPE_TEST_MODE: 'true',
    MILLRACE_STRIPE_API_URL: 'http://127.0.0.1:1',
  };
  expect(problems(env)).toBe('');
});
