import { readRestoreState } from '@millrace/core/restore';
import { secretsConfig } from '@millrace/platform/config';
import { systemClock } from '@millrace/platform/clock';
import {
  createDb,
  isUnavailable,
  migrationsDirectory,
  readMigrations,
  schemaVersion,
  type Db,
} from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { createSealer, SealedSecretError, type SealingKey } from '@millrace/platform/secrets';
import {
  CommandError,
  optionalText,
  UsageError,
  type Command,
  type CommandContext,
  type FlagValues,
} from '../command.ts';
import { readInstallation, settingsOf } from '../doctor/installation.ts';
import { checkAfterRestore } from './after-restore.ts';
import { checkBeforeRestore } from './before-restore.ts';
import { formatResult, type CheckResult } from './check-result.ts';
import { readRepository } from './pgbackrest-info.ts';
import {
  countLaterRows,
  listSealedSecrets,
  readServerFacts,
  type SealedSecret,
} from './server-facts.store.ts';

const defaultFolder = '/etc/millrace';
const defaultStanza = 'millrace';
const CONNECT_MS = 5_000;
/** Counting the rows after an early target reads much. */
const STATEMENT_MS = 60_000;

export const restoreCheckCommand: Command = {
  name: 'restore-check',
  summary: 'check whether the database can be restored, or whether a restore is complete',
  flags: {
    target: { describe: 'the time to restore to, to check it too', value: 'TIME' },
    restored: { describe: 'after a restore: check that it is complete' },
    stanza: { describe: `stanza of pgBackRest (default: ${defaultStanza})`, value: 'NAME' },
    config: { describe: "configuration of pgBackRest (default: pgBackRest's own)", value: 'FILE' },
    folder: { describe: `folder with the settings (default: ${defaultFolder})`, value: 'FOLDER' },
    json: { describe: 'print one JSON object' },
  },
  example: 'millrace-admin restore-check --target 2026-11-16T03:12:00Z',
  run: async (context, flags) => {
    const target = targetOf(flags);
    if (flags['restored'] === true && target !== null) {
      throw new UsageError('--target is for a check before a restore, and --restored for one after it.');
    }
    const db = openOwner(context);
    try {
      const result =
        flags['restored'] === true ? await checkAfter(db, flags) : await checkBefore(db, flags, target);
      context.out(flags['json'] === true ? `${JSON.stringify(result)}\n` : formatResult(result));
      const count = result.problems.length;
      if (count > 0) throw new CommandError(count === 1 ? '1 problem.' : `${count} problems.`);
      if (flags['json'] !== true) context.out('No problems found.\n');
    } finally {
      await db.close();
    }
  },
};

function targetOf(flags: FlagValues): Date | null {
  const text = optionalText(flags, 'target');
  if (text === undefined) return null;
  const at = new Date(text);
  // Without a zone, the time would be that of this machine.
  if (Number.isNaN(at.getTime()) || !/(?:Z|[+-]\d\d(?::?\d\d)?)$/.test(text)) {
    throw new UsageError('--target must be a time with a zone, such as 2026-11-16T03:12:00Z.');
  }
  return at;
}

/** The owner can read all tables. The checks only read. */
function openOwner({ postgresOwner }: CommandContext): Db {
  return createDb({
    ...postgresOwner(),
    ...{ poolSize: 1, role: null, applicationName: 'millrace-restore-check', guardClock: false },
    ...{ connectTimeoutMs: CONNECT_MS, statementTimeoutMs: STATEMENT_MS },
    ids: createIdSource({ clock: systemClock, cell: 0 }),
    log: createLogger({ name: 'admin', level: 'silent' }),
  });
}

async function checkBefore(db: Db, flags: FlagValues, target: Date | null): Promise<CheckResult> {
  const repository = await readRepository({
    stanza: optionalText(flags, 'stanza') ?? defaultStanza,
    configFile: optionalText(flags, 'config') ?? null,
  });
  // A lost server is the usual reason for a restore.
  const server = await readServerFacts(db).catch((error: unknown) => {
    if (isUnavailable(error)) return null;
    throw error;
  });
  const later = target === null || server === null ? null : await countLaterRows(db, target);
  return checkBeforeRestore({ now: systemClock.now(), repository, server, target, later });
}

async function checkAfter(db: Db, flags: FlagValues): Promise<CheckResult> {
  const server = await readServerFacts(db);
  const needed = (await readMigrations(migrationsDirectory)).length;
  const found = await schemaVersion(db);
  const keys = sealingKeysOf(optionalText(flags, 'folder') ?? defaultFolder);
  const state = found === needed ? await readRestoreState(db) : null;
  const secrets = found === needed ? await listSealedSecrets(db) : [];
  const wrongKeys = keys === null ? null : wrongKeysOf(keys, secrets);
  return checkAfterRestore({ server, schema: { found, needed }, state, wrongKeys });
}

function sealingKeysOf(folder: string): readonly SealingKey[] | null {
  const installation = readInstallation(folder);
  const settings =
    settingsOf([secretsConfig], installation, 'worker') ?? settingsOf([secretsConfig], installation, 'api');
  return settings?.secrets.sealingKeys ?? null;
}

function wrongKeysOf(keys: readonly SealingKey[], secrets: readonly SealedSecret[]): readonly string[] {
  return secrets.flatMap(({ keyId, sealed, context }) => {
    const key = keys.find(({ id }) => id === keyId);
    if (key === undefined) return [keyId];
    try {
      createSealer({ keys: [key], activeId: key.id }).open(sealed, context);
      return [];
    } catch (error) {
      if (error instanceof SealedSecretError) return [keyId];
      throw error;
    }
  });
}
