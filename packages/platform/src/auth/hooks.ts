import type { BetterAuthOptions } from 'better-auth';
import { createAuthMiddleware } from 'better-auth/api';
import { refuseHandedToken } from './plugins.ts';
import { requireFitSignUp, requireName } from './sign-up.ts';

export interface HookOptions {
  /** There is no mail, so nobody can show that a mailbox is theirs. */
  readonly isEveryMailboxBelieved: boolean;
  /** Throws unless somebody with this mailbox may sign up. */
  readonly requireMaySignUp: (email: string) => Promise<void>;
}

/** Where we have a word in what the library does. */
export function authHooks(options: HookOptions): Pick<BetterAuthOptions, 'hooks' | 'databaseHooks'> {
  const { isEveryMailboxBelieved, requireMaySignUp } = options;
  return {
    hooks: {
      before: createAuthMiddleware(async ({ path, body }) => {
        refuseHandedToken(path, body);
        await requireFitSignUp(path, body, requireMaySignUp);
      }),
    },
    databaseHooks: {
      session: {
        create: {
          // The library signs in whoever opens a letter that changes the mailbox. The session that it wants is over at once.
          before: async (session, context) =>
            context?.path === '/verify-email' ? { data: { ...session, expiresAt: new Date(0) } } : undefined,
        },
      },
      user: {
        create: {
          before: async (user) => {
            requireName(user.name);
            await requireMaySignUp(user.email);
            return {
              data: {
                ...user,
                name: user.name.trim(),
                ...(isEveryMailboxBelieved ? { emailVerified: true } : {}),
              },
            };
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
