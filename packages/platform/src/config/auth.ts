import { z } from 'zod';
import { fragment } from './fragment.ts';
import { values } from './values.ts';

const SECRET_LENGTH_MIN = 32;

const oidcProvider = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be 1 to 63 lowercase letters, digits and hyphens'),
  name: z.string().min(1).max(100),
  discoveryUrl: z.url({ protocol: /^https?$/ }),
  clientId: z.string().min(1).max(500),
  clientSecret: z.string().min(1).max(2_000),
  scopes: z.array(z.string().min(1)).default(['openid', 'email', 'profile']),
});

export const authConfig = fragment('auth', {
  name: {
    env: 'MILLRACE_INSTALLATION_NAME',
    schema: values.text.pipe(z.string().max(100)).default('Millrace'),
    expected: 'the name of this installation that users see, up to 100 characters',
    example: 'Example Cloud',
  },
  secret: {
    env: 'MILLRACE_AUTH_SECRET',
    schema: z
      .string()
      .min(SECRET_LENGTH_MIN, `it has fewer than ${SECRET_LENGTH_MIN} characters`)
      .nullable()
      .default(null),
    expected: `a random string of ${SECRET_LENGTH_MIN} characters or more that signs cookies; without it users cannot sign in`,
    example: 'openssl rand -base64 32',
    secret: true,
  },
  otherSecrets: {
    env: 'MILLRACE_AUTH_OTHER_SECRETS',
    schema: values.listOf(z.string().min(SECRET_LENGTH_MIN)).default([]),
    expected: `a comma-separated list of further secrets of ${SECRET_LENGTH_MIN} characters or more that are accepted while MILLRACE_AUTH_SECRET is replaced`,
    example: 'openssl rand -base64 32',
    secret: true,
  },
  signUp: {
    env: 'MILLRACE_SIGN_UP',
    schema: z.enum(['open', 'closed']).nullable().default(null),
    expected:
      'open if anyone may sign up, closed if only invited people may; the default is open with email, otherwise closed',
    example: 'closed',
  },
  oidc: {
    env: 'MILLRACE_OIDC_PROVIDERS',
    schema: values.json(z.array(oidcProvider).max(20)).default([]),
    expected: 'OpenID Connect providers that users may sign in with, as JSON',
    example:
      '[{"id":"example","name":"Example","discoveryUrl":"https://id.example.com/.well-known/openid-configuration","clientId":"…","clientSecret":"…"}]',
    secret: true,
  },
  addressTries: {
    env: 'MILLRACE_SIGN_IN_ADDRESS_TRIES',
    schema: values.wholeNumber(1, 1_000_000_000).default(100),
    expected: 'sign-in attempts and sign-in emails of one client address per 15 minutes',
    example: '100',
  },
  inferenceUrl: {
    env: 'MILLRACE_INFERENCE_PUBLIC_URL',
    schema: values.url('http', 'https').nullable().default(null),
    expected: 'the URL of the inference gateway for clients, shown in the console',
    example: 'https://inference.example.com',
  },
});
