import { betterAuth } from 'better-auth';
import { hashPassword } from 'better-auth/crypto';
import { getAdapter } from 'better-auth/db/adapter';
import type { Clock } from '../clock/index.ts';
import type { Db } from '../db/index.ts';
import type { HttpServer, Sessions } from '../http/index.ts';
import type { IdSource } from '../ids/index.ts';
import type { GivingLimiter } from '../limiter/index.ts';
import type { Logger } from '../log/index.ts';
import type { Mailer } from '../mail/index.ts';
import { createCookieReader } from './cookie.ts';
import { hashSecretsIn } from './hashed-adapter.ts';
import { mountSignIn } from './mount.ts';
import { authOptions, type SignInSettings } from './options.ts';
import { forgetExpired, isInvited, markVerified } from './people.store.ts';
import { createPost } from './post.ts';

export interface SignInDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Logger;
  /** Null: nobody gets letters. */
  readonly mailer: Mailer | null;
}

/** The sign-in of people, as the rest of the product sees it. */
export interface SignIn {
  readonly settings: Pick<SignInSettings, 'name' | 'publicUrl' | 'signUp'>;
  readonly oidc: readonly { readonly id: string; readonly name: string }[];
  readonly hasMail: boolean;
  /** Where the console is, and how its cookie is read. */
  readonly door: Pick<Sessions, 'origin' | 'tokenIn'>;
  mount(server: HttpServer, limiter: GivingLimiter): void;
  /** Removes what has expired; to be called now and then. */
  sweep(): Promise<void>;
  /** Resolves when no letter is under way. */
  settled(): Promise<void>;
}

export async function createSignIn(settings: SignInSettings, deps: SignInDeps): Promise<SignIn> {
  const { db, clock, ids, log, mailer } = deps;
  const post = mailer === null ? null : createPost({ mailer, clock, log });
  const { origin } = new URL(settings.publicUrl);
  const options = authOptions(
    { ...settings, publicUrl: origin },
    {
      ids,
      post,
      isInvited: (email) => isInvited(db, email, clock.now()),
      markVerified: (userId) => markVerified(db, userId),
      offerPassword: async (email) => {
        if (post !== null) await auth.api.requestPasswordReset({ body: { email } });
      },
    },
  );
  const database = { db: db.kysely, type: 'postgres', transaction: true } as const;
  const adapter = hashSecretsIn(await getAdapter({ ...options, database }));
  const auth = betterAuth({
    ...options,
    database: () => adapter,
    logger: {
      level: 'warn',
      // What went wrong, and never with which values: those are passwords, mailboxes and tokens.
      log: (level, message, ...details) => {
        const [cause] = details.flatMap((each) => (each instanceof Error ? [each.message] : []));
        log[level === 'error' ? 'error' : 'warn']({ said: message, cause }, 'the sign-in complains');
      },
    },
  });
  const { authCookies } = await auth.$context;
  const tokenIn = createCookieReader({ name: authCookies.sessionToken.name, secret: settings.secret });
  return {
    settings: { name: settings.name, publicUrl: settings.publicUrl, signUp: settings.signUp },
    oidc: settings.oidc.map(({ id, name }) => ({ id, name })),
    hasMail: post !== null,
    door: { origin, tokenIn },
    mount: (server, limiter) => mountSignIn({ server, limiter, origin, handle: auth.handler }),
    sweep: () => forgetExpired(db, clock.now()),
    settled: async () => post?.settled(),
  };
}

/** A password as the sign-in keeps it, for whoever makes people without it: a demo, a test. */
export function passwordHash(password: string): Promise<string> {
  return hashPassword(password);
}
