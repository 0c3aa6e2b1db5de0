import { randomBytes } from 'node:crypto';
import { appendAuditEntry, systemAuditContext } from '@millrace/core/identity';
import { passwordHash, resetPassword } from '@millrace/platform/auth';
import { fromUuid } from '@millrace/platform/ids';
import { emailOf, CommandError, type Command } from './command.ts';

const PASSWORD_BYTES = 15;

/** For an installation without mail, and for whoever has lost theirs. */
export const userPasswordCommand: Command = {
  name: 'user password',
  summary: 'give a person a new password to sign in with',
  flags: { email: { describe: 'the person, by email address', value: 'ADDRESS', required: true } },
  example: 'millrace-admin user password --email ada@example.com',
  run: async (context, flags) => {
    const db = await context.db();
    const email = emailOf(flags);
    const password = randomBytes(PASSWORD_BYTES).toString('base64url');
    const hash = await passwordHash(password);
    const found = await db.transaction(
      { name: 'reset password', isolation: 'read committed' },
      async (tx) => {
        const userId = await resetPassword(tx, email, hash);
        if (userId === null) return false;
        await appendAuditEntry(tx, null, systemAuditContext('millrace-admin', 'live'), {
          action: 'user.password_reset',
          resource: { kind: 'user', id: fromUuid('usr', userId) },
        });
        return true;
      },
    );
    if (!found) {
      throw new CommandError(
        `Nobody here has the mailbox ${email}.\nMake them: millrace-admin user add --email ${email} --organisation SLUG --role ROLE`,
      );
    }
    context.out(
      `${email} can sign in with this password:\n\n  ${password}\n\n` +
        'It is shown once. Whoever was signed in as this person is signed out. Change it in the console, under account.\n',
    );
  },
};
