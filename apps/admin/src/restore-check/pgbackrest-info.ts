import { z } from 'zod';
import { CommandError } from '../command.ts';
import { ProgramError, runProgram } from '../run-program.ts';

/** Reads what the repository of pgBackRest contains. */

const instant = z.number().transform((seconds) => new Date(seconds * 1_000));

const backupSchema = z.object({
  label: z.string(),
  type: z.string(),
  error: z.boolean().nullish(),
  timestamp: z.object({ start: instant, stop: instant }),
  info: z.object({ size: z.number(), repository: z.object({ delta: z.number() }) }),
});

const stanzaSchema = z.object({
  name: z.string(),
  cipher: z.string(),
  status: z.object({ code: z.number(), message: z.string() }),
  archive: z.array(z.object({ id: z.string(), min: z.string().nullable(), max: z.string().nullable() })),
  backup: z.array(backupSchema),
  db: z.array(z.object({ 'system-id': z.number(), version: z.string() })),
});

export interface StoredBackup {
  readonly label: string;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly bytes: number;
  /** True if pages were damaged when they were read. */
  readonly hasErrors: boolean;
}

export interface Repository {
  readonly isEncrypted: boolean;
  /** Null if the stanza is healthy. */
  readonly problem: string | null;
  /** Oldest first. */
  readonly backups: readonly StoredBackup[];
  /** The name of the newest WAL file; null without any. */
  readonly newestWal: string | null;
}

export interface RepositoryOptions {
  readonly stanza: string;
  /** Null: pgBackRest's own default. */
  readonly configFile: string | null;
}

/** Only the user of the server can read the configuration and the repository. */
const serverUser = 'postgres';

export async function readRepository({ stanza, configFile }: RepositoryOptions): Promise<Repository> {
  const config = configFile === null ? [] : [`--config=${configFile}`];
  const command = [
    'pgbackrest',
    ...config,
    `--stanza=${stanza}`,
    '--output=json',
    '--log-level-console=error',
    'info',
  ];
  const isRoot = process.getuid?.() === 0;
  const [program = '', ...args] = isRoot ? ['runuser', '-u', serverUser, '--', ...command] : command;
  try {
    return parseRepository(await runProgram(program, args), stanza);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const why = error instanceof ProgramError || error instanceof Error ? error.message : String(error);
    throw new CommandError(`The repository of pgBackRest cannot be read: ${why}`, { cause: error });
  }
}

export function parseRepository(text: string, stanza: string): Repository {
  const stanzas = z.array(stanzaSchema).parse(JSON.parse(text));
  const found = stanzas.find(({ name }) => name === stanza);
  if (found === undefined) throw new CommandError(`The repository of pgBackRest has no stanza ${stanza}.`);
  const wal = found.archive.flatMap(({ max }) => max ?? []).toSorted();
  return {
    isEncrypted: found.cipher !== 'none',
    problem: found.status.code === 0 ? null : found.status.message,
    backups: found.backup
      .map(({ label, timestamp, info, error }) => ({
        ...{ label, startedAt: timestamp.start, endedAt: timestamp.stop, bytes: info.size },
        hasErrors: error === true,
      }))
      .toSorted((one, other) => one.endedAt.getTime() - other.endedAt.getTime()),
    newestWal: wal.at(-1) ?? null,
  };
}
