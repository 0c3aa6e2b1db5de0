import { z } from 'zod';
import { demoVariable } from './demo.ts';
import { fragment } from './fragment.ts';
import type { ConfigProblem } from './fragment.ts';
import { isLoopback } from '../net/loopback.ts';
import { values } from './values.ts';

const stripeVariables = {
  isDemo: demoVariable,
  secretKey: {
    env: 'MILLRACE_STRIPE_SECRET_KEY',
    schema: z
      .string()
      .regex(/^(sk|rk)_(live|test)_\S+$/, 'it is not a secret or restricted key')
      .nullable()
      .default(null),
    expected: 'a secret or restricted key of your Stripe account; without it users cannot top up by card',
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
    expected: "true to accept Stripe's test cards as payment on an installation that sells nothing, or false",
    example: 'true',
  },
  apiUrl: {
    env: 'MILLRACE_STRIPE_API_URL',
    schema: values.url('http', 'https').default('https://api.stripe.com'),
    expected: 'the URL of the Stripe API; change it only for a proxy, or for a double in tests',
    example: 'https://api.stripe.com',
  },
  consoleUrl: {
    env: 'MILLRACE_CONSOLE_URL',
    schema: values.url('http', 'https').nullable().default(null),
    expected: 'the URL of the console, to which users return after paying',
    example: 'https://console.example.com',
  },
} as const;

interface StripeValues {
  readonly isDemo: boolean;
  readonly secretKey: string | null;
  readonly webhookSecret: string | null;
  readonly testMode: boolean;
  readonly apiUrl: string;
}

/** With only the key, payments would never be credited; with only the webhook secret, none could start. */
function checkStripe(stripe: StripeValues): readonly ConfigProblem[] {
  const { isDemo, secretKey, webhookSecret, testMode, apiUrl } = stripe;
  const problems: ConfigProblem[] = [];
  if ((secretKey === null) !== (webhookSecret === null)) {
    const { env, example } = secretKey === null ? stripeVariables.secretKey : stripeVariables.webhookSecret;
    problems.push({ env, problem: 'is not set; set both the key and the webhook secret', example });
  }
  if (secretKey !== null && /^.k_test_/.test(secretKey) !== testMode) {
    const { env } = stripeVariables.testMode;
    const problem = testMode
      ? 'is true, but the key moves real money'
      : 'is not true, but the key is a test key: anyone could pay with a test card';
    problems.push({ env, problem });
  }
  if (isDemo && secretKey !== null && !testMode) {
    problems.push({
      env: demoVariable.env,
      problem: 'is true, but the Stripe key moves real money; use a test key',
    });
  }
  const { protocol, hostname } = new URL(apiUrl);
  if (protocol === 'http:' && !isLoopback(hostname)) {
    const { env, example } = stripeVariables.apiUrl;
    problems.push({ env, problem: 'would send the secret key unencrypted; use https', example });
  }
  return problems;
}

export const stripeConfig = fragment('stripe', stripeVariables, checkStripe);
