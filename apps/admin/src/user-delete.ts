import { appendAuditEntry, erasePersonalData, systemAuditContext } from '@millrace/core/identity';
import { emailOf, CommandError, type Command } from './command.ts';

/** For users who request the deletion of their data. */
export const userDeleteCommand: Command = {
  name: 'user delete',
  summary: 'delete the personal data of a user who belongs to no organisation',
  flags: { email: { describe: 'email address of the user', value: 'ADDRESS', required: true } },
  example: 'millrace-admin user delete --email ada@example.com',
  run: async (context, flags) => {
    const db = await context.db();
    const email = emailOf(flags);
    const result = await db.transaction(
      { name: 'delete person', isolation: 'read committed' },
      async (tx) => {
        const outcome = await erasePersonalData(tx, email);
        if (outcome.kind === 'forgotten') {
          await appendAuditEntry(tx, null, systemAuditContext('millrace-admin', 'live'), {
            action: 'user.deleted',
            resource: { kind: 'user', id: outcome.userId },
          });
        }
        return outcome;
      },
    );
    switch (result.kind) {
      case 'absent':
        throw new CommandError(`No user has the email address ${email}.`);
      case 'member':
        throw new CommandError(
          `${email} belongs to ${result.organisations.join(', ')}.\nAn owner must remove the user first, which revokes their keys: millrace member remove`,
        );
      case 'operator':
        throw new CommandError(`${email} has a platform role. Remove it first.`);
      case 'forgotten':
        context.out(
          `The personal data of ${email} is deleted: name, email address, passwords, passkeys, SSH keys and sessions. ` +
            `Rentals, payouts and the audit log keep the id ${result.userId}; invitations and the email log keep the address.\n`,
        );
    }
  },
};
