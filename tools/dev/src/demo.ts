import { demoSettings, prepareHistory } from './history.ts';
import type { Demo } from './demo-file.ts';
import { seedDemo } from './seed.ts';

export interface PreparedDemo {
  readonly demo: Demo;
  /** Whether the database has the history and simulated machines for live keys. */
  readonly isDemo: boolean;
  /** Settings of all processes. */
  readonly settings: Readonly<Record<string, string>>;
}

interface DemoFiles {
  /** Stores the credentials of the demo. */
  readonly demoFile: string;
  readonly sealingFile: string;
  readonly print: (text: string) => void;
}

/** Creates the demo in a migrated database, or finds it. */
export async function prepareDemo(
  postgresUrl: string,
  { demoFile, sealingFile, print }: DemoFiles,
): Promise<PreparedDemo> {
  const isDemo = await prepareHistory(postgresUrl, { sealingFile, print });
  const demo = await seedDemo(postgresUrl, { file: demoFile, withCredit: !isDemo });
  return { demo, isDemo, settings: isDemo ? await demoSettings() : {} };
}

/** Says what `migrate` did. */
export function migrationText(applied: readonly object[]): string {
  if (applied.length === 0) return 'The database is up to date.\n';
  return `Applied ${applied.length === 1 ? '1 migration' : `${String(applied.length)} migrations`}.\n`;
}
