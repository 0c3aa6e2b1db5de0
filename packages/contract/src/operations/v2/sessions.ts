import { z } from 'zod';
import {
  noContent,
  sessionOperation,
  publicOperation,
  prefixedId,
  timestamp,
} from '../../operation-builders.ts';

/** People who sign in: where they can, and where they are signed in. Their organisations and invitations are beside this. */

const sessionId = prefixedId('ses', 'a session');

const session = z
  .object({
    id: sessionId,
    current: z.boolean().meta({ description: 'Whether this is the session that asks.' }),
    ip: z.string().nullable().meta({ description: 'The address from which it was begun.' }),
    userAgent: z.string().nullable().meta({ description: 'What the browser or program said of itself.' }),
    createdAt: timestamp,
    lastSeenAt: timestamp.meta({ description: 'Kept to about a day.' }),
    expiresAt: timestamp,
  })
  .meta({ id: 'Session' });

const installation = z
  .object({
    name: z.string(),
    publicUrl: z.url().nullable().meta({ description: 'Where clients reach the api.' }),
    inferenceUrl: z.url().nullable().meta({ description: 'Where clients reach the inference gateway.' }),
    signUp: z.enum(['open', 'closed']).meta({ description: 'Whether anyone may sign up by themselves.' }),
    mail: z.boolean().meta({ description: 'Whether the installation can send mail.' }),
    passkeys: z.boolean(),
    oidc: z
      .array(z.object({ id: z.string(), name: z.string() }))
      .meta({ description: 'Outside providers that people may sign in with.' }),
    topUp: z.boolean().meta({ description: 'Whether people can pay by card.' }),
    version: z.string(),
  })
  .meta({ id: 'Installation' });

export const sessionOperations = {
  getInstallation: publicOperation('GET /v2/installation', {
    summary: 'What this installation offers to people who sign in',
    tags: ['identity'],
    response: { status: 200, schema: installation },
  }),
  listMySessions: sessionOperation('GET /v2/me/sessions', {
    summary: 'Where this person is signed in',
    tags: ['identity'],
    response: { status: 200, schema: z.object({ items: z.array(session) }) },
  }),
  endMySession: sessionOperation('DELETE /v2/me/sessions/{sessionId}', {
    summary: 'Sign this person out somewhere',
    description: 'It is refused everywhere within a second. Ending the session that asks signs it out.',
    tags: ['identity'],
    params: z.object({ sessionId }),
    response: noContent,
    notFoundReason: 'SESSION_NOT_FOUND',
  }),
} as const;
