import { z } from 'zod';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { isLoopback } from '../net/loopback.ts';
import { values } from './values.ts';

const stripeVariables = {
  secretKey: {
    env: 'MILLRACE_STRIPE_SECRET_KEY',
    schema: z
      .string()
      .regex(/^(sk|rk)_(live|test)_\S+$/, 'it is not a secret or restricted key')
      .nullable()
      .default(null),
    expected: 'a secret or restricted key of your Stripe account; without one nobody can top up by card',
    example: 'rk_live_…',
    secret: true,
  },
  webhookSecret: {
    env: 'MILLRACE_STRIPE_WEBHOOK_SECRET',
    schema: z
      .string()
      .regex(/^whsec_\S+$/, 'it is not the signing secret of a webhook endpoint')
      .nullable()
      .default(null),
    expected: 'the signing secret of the webhook endpoint in Stripe',
    example: 'whsec_…',
    secret: true,
  },
  testMode: {
    env: 'MILLRACE_STRIPE_TEST_MODE',
    schema: values.boolean.default(false),
    expected: 'true to take the test cards of Stripe for money, where nothing is sold, or false',
    example: 'true',
  },
  apiUrl: {
    env: 'MILLRACE_STRIPE_API_URL',
    schema: values.url('http', 'https').default('https://api.stripe.com'),
    expected: 'where the Stripe API is; another address only for a proxy, or for a double in tests',
    example: 'https://api.stripe.com',
  },
  consoleUrl: {
    env: 'MILLRACE_CONSOLE_URL',
    schema: values.url('http', 'https').nullable().default(null),
    expected: 'the address of the console, where people come back to after paying',
    example: 'https://console.example.com',
  },
} as const;

interface StripeValues {
  readonly secretKey: string | null;
  readonly webhookSecret: string | null;
  readonly testMode: boolean;
  readonly apiUrl: string;
}

/** A key without the other would take money and never learn of it, or learn of it and never take any. */
function checkStripe(stripe: StripeValues): readonly ConfigProblem[] {
  const { secretKey, webhookSecret, testMode, apiUrl } = stripe;
  const problems: ConfigProblem[] = [];
  if ((secretKey === null) !== (webhookSecret === null)) {
    const { env, example } = secretKey === null ? stripeVariables.secretKey : stripeVariables.webhookSecret;
    problems.push({ env, problem: 'is not set; the key and the webhook secret come together', example });
  }
  if (secretKey !== null && /^.k_test_/.test(secretKey) !== testMode) {
    const { env } = stripeVariables.testMode;
    const problem = testMode
      ? 'is true, but the key is one that moves real money'
      : 'is not true, and the key is a test key: anybody could pay with a test card';
    problems.push({ env, problem });
  }
  const { protocol, hostname } = new URL(apiUrl);
  if (protocol === 'http:' && !isLoopback(hostname)) {
    const { env, example } = stripeVariables.apiUrl;
    problems.push({ env, problem: 'would carry the secret key in the clear; use https', example });
  }
  return problems;
}

export const stripeConfig = fragment('stripe', stripeVariables, checkStripe);
