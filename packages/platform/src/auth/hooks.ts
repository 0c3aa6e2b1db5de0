import type { BetterAuthOptions } from 'better-auth';
import { createAuthMiddleware } from 'better-auth/api';
import { rejectClientIdToken } from './plugins.ts';
import { SESSION_SECONDS } from './settings.ts';
import { validateSignUp, requireName, signUpMethodOf, type AssertSignUpAllowed } from './sign-up.ts';

export interface HookOptions {
  readonly requireMaySignUp: AssertSignUpAllowed;
}

/** A program needs its session only to create an API key. */
const DEVICE_SESSION_MS = 3_600_000;
const SESSION_MS = SESSION_SECONDS * 1_000;

/** Hooks that add our rules to the library. */
export function authHooks(options: HookOptions): Pick<BetterAuthOptions, 'hooks' | 'databaseHooks'> {
  const { requireMaySignUp } = options;
  return {
    hooks: {
      before: createAuthMiddleware(async ({ path, body }) => {
        rejectClientIdToken(path, body);
        await validateSignUp(path, body, requireMaySignUp);
      }),
    },
    databaseHooks: {
      session: {
        create: {
          before: async (session, context) => {
            // The library starts a session when a link that changes the address is opened. Expire it at once.
            if (context?.path === '/verify-email') return { data: { ...session, expiresAt: new Date(0) } };
            if (context?.path !== '/device/token') return undefined;
            const expiresAt = new Date(session.expiresAt.getTime() - SESSION_MS + DEVICE_SESSION_MS);
            return { data: { ...session, expiresAt } };
          },
        },
      },
      user: {
        create: {
          before: async (user, context) => {
            requireName(user.name);
            const sent: unknown = context?.body;
            await requireMaySignUp(user.email, signUpMethodOf(context?.path, sent));
            return { data: { ...user, name: user.name.trim() } };
          },
        },
        update: {
          before: async (user) => {
            if (user.name !== undefined) requireName(user.name);
          },
        },
      },
    },
  };
}
