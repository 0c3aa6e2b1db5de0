import { z } from 'zod';
import {
  nanoUsd,
  noContent,
  sessionOperation,
  publicOperation,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';

/** Sessions of users, and the sign-in options of the installation. */

const sessionId = prefixedId('ses', 'a session');

const session = z
  .object({
    id: sessionId,
    current: z.boolean().meta({ description: 'Whether this is the session of this request.' }),
    ip: z.string().nullable().meta({ description: 'The IP address that signed in.' }),
    userAgent: z.string().nullable().meta({ description: 'The name that the browser or program sent.' }),
    createdAt: timestamp,
    lastSeenAt: timestamp.meta({ description: 'Accurate to about a day.' }),
    expiresAt: timestamp,
  })
  .meta({ id: 'Session' });

const supplierTerms = z
  .object({
    feePercentage: z.number().min(0).max(100).nullable().meta({
      description:
        'The operator’s usual share of each charge; the approval states the actual one. Null: not announced.',
    }),
    leastNanoUsdPerGpuHour: nanoUsd.meta({ description: 'The lowest price that suppliers may set.' }),
    mostNanoUsdPerGpuHour: nanoUsd.meta({ description: 'The highest price that suppliers may set.' }),
    payoutHoldSeconds: z.int().nonnegative().meta({
      description: 'The time until earnings can be paid out.',
    }),
  })
  .meta({ id: 'SupplierTerms' });

const installation = z
  .object({
    name: z.string(),
    publicUrl: z.url().nullable().meta({ description: 'The public address of the API.' }),
    inferenceUrl: z.url().nullable().meta({ description: 'The public address of the inference gateway.' }),
    signUp: z.enum(['open', 'closed']).meta({ description: 'Whether anyone can sign up.' }),
    mail: z.boolean().meta({ description: 'Whether the installation can send email.' }),
    passkeys: z.boolean(),
    oidc: z
      .array(z.object({ id: z.string(), name: z.string() }))
      .meta({ description: 'External providers for signing in.' }),
    demo: z.boolean().meta({ description: 'True: machines are simulated, and all amounts are play money.' }),
    topUp: z.boolean().meta({ description: 'Whether users can pay by card.' }),
    supplierTerms: supplierTerms.meta({ description: 'The terms that suppliers see before they apply.' }),
    version: z.string(),
  })
  .meta({ id: 'Installation' });

export const sessionOperations = {
  getInstallation: publicOperation('GET /v2/installation', {
    summary: 'Read the sign-in options of this installation',
    tags: ['identity'],
    response: { status: 200, schema: installation },
  }),
  listMySessions: sessionOperation('GET /v2/me/sessions', {
    summary: 'List your sessions',
    tags: ['identity'],
    response: { status: 200, schema: z.object({ items: z.array(session) }) },
  }),
  endMySession: sessionOperation('DELETE /v2/me/sessions/{sessionId}', {
    summary: 'End one of your sessions',
    description:
      'The session is refused everywhere within a second. You can also end the session of this request.',
    tags: ['identity'],
    params: z.object({ sessionId }),
    response: noContent,
    notFoundReason: 'SESSION_NOT_FOUND',
  }),
} as const;
