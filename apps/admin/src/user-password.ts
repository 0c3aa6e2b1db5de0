import { randomBytes } from 'node:crypto';
import { appendAuditEntry, systemAuditContext } from '@millrace/core/identity';
import { passwordHash, resetPassword } from '@millrace/platform/auth';
import type { Tx } from '@millrace/platform/db';
import { fromUuid } from '@millrace/platform/ids';
import { emailOf, CommandError, type Command } from './command.ts';

const PASSWORD_BYTES = 15;

export async function createPassword(): Promise<{ readonly password: string; readonly hash: string }> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  return { password, hash: await passwordHash(password) };
}

/** Returns false if no user has the email address. */
export async function storePassword(tx: Tx, email: string, hash: string): Promise<boolean> {
  const userId = await resetPassword(tx, email, hash);
  if (userId === null) return false;
  await appendAuditEntry(tx, null, systemAuditContext('millrace-admin', 'live'), {
    action: 'user.password_reset',
    resource: { kind: 'user', id: fromUuid('usr', userId) },
  });
  return true;
}

/** For installations without email, and for users who lost every way to sign in. */
export const userPasswordCommand: Command = {
  name: 'user password',
  summary: 'set a new password for a user',
  flags: { email: { describe: 'email address of the user', value: 'ADDRESS', required: true } },
  example: 'millrace-admin user password --email ada@example.com',
  run: async (context, flags) => {
    const db = await context.db();
    const email = emailOf(flags);
    const { password, hash } = await createPassword();
    const found = await db.transaction({ name: 'reset password', isolation: 'read committed' }, (tx) =>
      storePassword(tx, email, hash),
    );
    if (!found) {
      throw new CommandError(
        `No user has the email address ${email}.\nAdd one: millrace-admin user add --email ${email} --organisation SLUG --role ROLE`,
      );
    }
    context.out(
      `${email} can sign in with this password:\n\n  ${password}\n\n` +
        'It is shown only once. All sessions of this user were signed out. Change it in the console, under Account.\n',
    );
  },
};
