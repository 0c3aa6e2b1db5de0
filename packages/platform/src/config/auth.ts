import { z } from 'zod';
import { fragment } from './fragment.ts';
import { values } from './values.ts';

const SECRET_LENGTH_MIN = 32;

const oidcProvider = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be 1 to 63 small letters, digits and hyphens'),
  name: z.string().min(1).max(100),
  discoveryUrl: z.url({ protocol: /^https?$/ }),
  clientId: z.string().min(1).max(500),
  clientSecret: z.string().min(1).max(2_000),
  scopes: z.array(z.string().min(1)).default(['openid', 'email', 'profile']),
});

/** How people sign in. */
export const authConfig = fragment('auth', {
  name: {
    env: 'MILLRACE_INSTALLATION_NAME',
    schema: values.text.pipe(z.string().max(100)).default('Millrace'),
    expected: 'what people call this installation, up to 100 characters',
    example: 'Example Cloud',
  },
  secret: {
    env: 'MILLRACE_AUTH_SECRET',
    schema: z
      .string()
      .min(SECRET_LENGTH_MIN, `it has fewer than ${SECRET_LENGTH_MIN} characters`)
      .nullable()
      .default(null),
    expected: `a random text of ${SECRET_LENGTH_MIN} characters or more that signs cookies; without it nobody can sign in`,
    example: 'openssl rand -base64 32',
    secret: true,
  },
  signUp: {
    env: 'MILLRACE_SIGN_UP',
    schema: z.enum(['open', 'closed']).nullable().default(null),
    expected:
      'open if anyone may sign up, closed if only who was invited may; open where there is mail unless said',
    example: 'closed',
  },
  oidc: {
    env: 'MILLRACE_OIDC_PROVIDERS',
    schema: values.json(z.array(oidcProvider).max(20)).default([]),
    expected: 'outside providers that people may sign in with, as JSON',
    example:
      '[{"id":"example","name":"Example","discoveryUrl":"https://id.example.com/.well-known/openid-configuration","clientId":"…","clientSecret":"…"}]',
    secret: true,
  },
  addressTries: {
    env: 'MILLRACE_SIGN_IN_ADDRESS_TRIES',
    schema: values.wholeNumber(1, 1_000_000_000).default(100),
    expected: 'how often one address may try to sign in, or have a letter sent, in 15 minutes',
    example: '100',
  },
  inferenceUrl: {
    env: 'MILLRACE_INFERENCE_PUBLIC_URL',
    schema: values.url('http', 'https').nullable().default(null),
    expected: 'where clients reach the inference gateway, for the console to say so',
    example: 'https://inference.example.com',
  },
});
