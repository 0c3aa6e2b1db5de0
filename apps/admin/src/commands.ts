import { roleNames } from '@millrace/contract';
import {
  addMember,
  bootstrapInstallation,
  createOrganisation,
  ensureUser,
  findOrganisationBySlug,
  issueUnrestrictedKey,
  systemAuditContext,
  type Organisation,
} from '@millrace/core/identity';
import { migrate, type Db, type Reader } from '@millrace/platform/db';
import { auditCommand } from './audit.ts';
import { createBackupCommand } from './backup.ts';
import { createInitCommand } from './init/init-command.ts';
import { doctorCommand } from './doctor/doctor.command.ts';
import { natsKeyCommand, natsUsersCommand } from './nats.ts';
import { createUpgradeCommand } from './upgrade/upgrade.command.ts';
import { userDeleteCommand } from './user-delete.ts';
import { userPasswordCommand } from './user-password.ts';
import { valkeyUsersCommand } from './valkey.ts';
import { restoreCheckCommand } from './restore-check/restore-check.command.ts';
import { allowOrphanRemovalCommand, reconcileCommand } from './reconcile.ts';
import { restoreConfirmCommand, restoreDeclareCommand, restoreStatusCommand } from './database-restore.ts';
import {
  emailOf,
  oneOf,
  optionalText,
  CommandError,
  requiredText,
  type Command,
  type CommandContext,
  type FlagValues,
} from './command.ts';

/** Audit actor of all commands, which use the database without a key. */
const cause = systemAuditContext('millrace-admin', 'live');

const email = { describe: 'email address of the user', value: 'ADDRESS', required: true } as const;
const organisation = { describe: 'slug of the organisation', value: 'SLUG', required: true } as const;
const json = { describe: 'print one JSON object' } as const;

const migrateCommand: Command = {
  name: 'migrate',
  summary: 'migrate the database to the schema of this release',
  flags: {},
  example: 'millrace-admin migrate',
  run: async ({ out, postgresOwner }) => {
    const { url, ca = null } = postgresOwner();
    const applied = await migrate(url, { ca });
    for (const { version, name } of applied) out(`applied ${String(version)} ${name}\n`);
    out(applied.length === 0 ? 'The database is up to date.\n' : 'The database is now up to date.\n');
  },
};

const bootstrapCommand: Command = {
  name: 'bootstrap',
  summary: 'create the first operator, an organisation and a key',
  flags: {
    email,
    name: { describe: 'name of the user', value: 'NAME', required: true },
    organisation: { describe: 'name of the organisation', value: 'NAME', required: true },
    slug: { describe: 'its slug (default: derived from the name)', value: 'SLUG' },
    json,
  },
  example: 'millrace-admin bootstrap --email ada@example.com --name "Ada" --organisation "Example"',
  run: async (context, flags) => {
    const db = await context.db();
    const slug = optionalText(flags, 'slug');
    const request = {
      name: requiredText(flags, 'organisation'),
      homeCell: context.cell,
      owner: { email: emailOf(flags), name: requiredText(flags, 'name') },
      ...(slug === undefined ? {} : { slug }),
    };
    const made = await db.transaction({ name: 'bootstrap', isolation: 'serializable' }, (tx) =>
      bootstrapInstallation(tx, cause, request),
    );
    if (made === null) {
      throw new CommandError(
        'This installation already has an operator, so there is nothing to bootstrap.\n' +
          'If you lost the key, create another: millrace-admin key create --organisation SLUG --email ADDRESS',
      );
    }
    printKey(context, flags, {
      what: `Operator ${made.owner.email}, organisation ${made.organisation.slug}.`,
      organisation: made.organisation,
      email: made.owner.email,
      key: made.issued.text,
      keyId: made.issued.key.id,
    });
  },
};

const organisationAddCommand: Command = {
  name: 'organisation add',
  summary: 'create an organisation with its first owner',
  flags: {
    organisation: { describe: 'name of the organisation', value: 'NAME', required: true },
    email,
    slug: { describe: 'its slug (default: derived from the name)', value: 'SLUG' },
  },
  example: 'millrace-admin organisation add --organisation "Example" --email ada@example.com',
  run: async (context, flags) => {
    const db = await context.db();
    const slug = optionalText(flags, 'slug');
    const request = {
      name: requiredText(flags, 'organisation'),
      homeCell: context.cell,
      owner: { email: emailOf(flags) },
      ...(slug === undefined ? {} : { slug }),
    };
    const made = await db.transaction({ name: 'create organisation', isolation: 'read committed' }, (tx) =>
      createOrganisation(tx, cause, request),
    );
    context.out(
      `Organisation ${made.organisation.slug} (${made.organisation.id}), owner ${made.owner.email}.\n`,
    );
  },
};

const userAddCommand: Command = {
  name: 'user add',
  summary: 'add a user to an organisation',
  flags: {
    email,
    organisation,
    role: { describe: `role of the user: ${roleNames.join(', ')}`, value: 'ROLE', required: true },
    name: { describe: 'name of the user', value: 'NAME' },
  },
  example: 'millrace-admin user add --email bob@example.com --organisation example --role member',
  run: async (context, flags) => {
    const db = await context.db();
    const role = oneOf(flags, 'role', roleNames);
    const found = await requireOrganisation(db, requiredText(flags, 'organisation'));
    const name = optionalText(flags, 'name');
    const person = { email: emailOf(flags), role, ...(name === undefined ? {} : { name }) };
    const member = await db.transaction({ name: 'add member', isolation: 'read committed' }, (tx) =>
      addMember(tx, cause, found.id, person),
    );
    context.out(`${member.user.email} is ${member.role} of ${found.slug}.\n`);
  },
};

const keyCreateCommand: Command = {
  name: 'key create',
  summary: 'create a key with all rights of its user',
  flags: {
    organisation,
    email,
    mode: { describe: 'live or test (default: live)', value: 'MODE' },
    name: { describe: 'name of the key', value: 'NAME' },
    'key-only': { describe: 'print only the key, for `millrace login --key-stdin`' },
    json,
  },
  example: 'millrace-admin key create --organisation example --email ada@example.com --mode test',
  run: async (context, flags) => {
    const db = await context.db();
    const mode = flags['mode'] === undefined ? 'live' : oneOf(flags, 'mode', ['live', 'test']);
    const found = await requireOrganisation(db, requiredText(flags, 'organisation'));
    const address = emailOf(flags);
    const name = optionalText(flags, 'name') ?? 'made by millrace-admin';
    const issued = await db.transaction(
      { name: 'create api key', isolation: 'read committed' },
      async (tx) => {
        const user = await ensureUser(tx, { email: address });
        return issueUnrestrictedKey(tx, { ...cause, mode }, { orgId: found.id, user, mode, name });
      },
    );
    if (flags['key-only'] === true) {
      context.out(`${issued.text}\n`);
      return;
    }
    printKey(context, flags, {
      what: `A ${mode} key of ${address} in ${found.slug}.`,
      organisation: found,
      email: address,
      key: issued.text,
      keyId: issued.key.id,
    });
  },
};

export const commands: readonly Command[] = [
  createInitCommand(),
  bootstrapCommand,
  doctorCommand,
  migrateCommand,
  createUpgradeCommand(),
  createBackupCommand(),
  organisationAddCommand,
  userAddCommand,
  userPasswordCommand,
  userDeleteCommand,
  keyCreateCommand,
  auditCommand,
  reconcileCommand,
  allowOrphanRemovalCommand,
  restoreCheckCommand,
  restoreStatusCommand,
  restoreDeclareCommand,
  restoreConfirmCommand,
  natsKeyCommand,
  natsUsersCommand,
  valkeyUsersCommand,
];

async function requireOrganisation(db: Db | Reader, slug: string): Promise<Organisation> {
  const found = await findOrganisationBySlug(db, slug);
  if (found === null)
    throw new CommandError(`There is no organisation with the slug ${JSON.stringify(slug)}.`);
  return found;
}

interface PrintedKey {
  readonly what: string;
  readonly organisation: Organisation;
  readonly email: string;
  readonly key: string;
  readonly keyId: string;
}

function printKey(context: CommandContext, flags: FlagValues, printed: PrintedKey): void {
  const { organisation: of, email: address, key, keyId } = printed;
  if (flags['json'] === true) {
    const fields = { organisationId: of.id, slug: of.slug, email: address, keyId, key };
    context.out(`${JSON.stringify(fields)}\n`);
    return;
  }
  context.out(
    `${printed.what}\n\n  ${key}\n\nThis key is shown only once and cannot be recovered. Keep it like a password.\n` +
      'To test it, keep the key out of command lines, which other users of this machine can read:\n' +
      '  read -rs MILLRACE_API_KEY    # paste the key, then press Enter\n' +
      `  printf 'Authorization: Bearer %s' "$MILLRACE_API_KEY" | curl -H @- http://127.0.0.1:8080/v2/me\n`,
  );
}
