import { parseArgs } from 'node:util';
import { applyDemoSetting } from '@millrace/core/demo';
import { auditDefaults, formatAuditReport, runAudit } from '@millrace/core/auditor';
import { readEndpoints } from '@millrace/services';
import { createRandom } from '@millrace/testing/random';
import { Client } from 'pg';
import { openCloud } from './cloud.ts';
import { dumpHistory } from './dump.ts';
import { demoHistoryFile } from './index.ts';
import { HISTORY_DAYS, runScenario } from './scenario.ts';
import { openUsageSource } from './usage.ts';
import { openWorker } from './worker.ts';

const DAY_MS = 86_400_000;
/** The end of the history. Loading moves it to now. */
export const HISTORY_END_MS = Date.UTC(2026, 5, 17, 15);
const SEED = 1;
/** The rentals that run at the end start within these days. */
const MIN_DAYS = 8;

const print = (text: string): void =>
  void process.stdout.write(`${(performance.now() / 1_000).toFixed(0).padStart(4)} s  ${text}\n`);

export interface GenerateOptions {
  /** Fewer days are faster, to find differences between two runs: the history then begins later. */
  readonly days: number;
  readonly file: string;
}

/** `--days 8` and `--out FILE`, for comparisons. */
export function readGenerateArgs(words: readonly string[]): GenerateOptions {
  const { values } = parseArgs({
    args: [...words],
    options: { days: { type: 'string', default: String(HISTORY_DAYS) }, out: { type: 'string' } },
  });
  const days = Number(values.days);
  if (!Number.isInteger(days) || days < MIN_DAYS || days > HISTORY_DAYS) {
    throw new Error(`--days must be a whole number from ${MIN_DAYS} to ${HISTORY_DAYS}.`);
  }
  return { days, file: values.out ?? demoHistoryFile };
}

/** Creates the history in a new database. */
export async function generate({ days, file }: GenerateOptions): Promise<void> {
  const endpoints = readEndpoints();
  const name = 'millrace_demo_history';
  const databaseUrl = await recreateDatabase(endpoints.postgresUrl, name);
  const startMs = HISTORY_END_MS - HISTORY_DAYS * DAY_MS;
  const firstDay = HISTORY_DAYS - days;
  await using cloud = await openCloud(endpoints, { databaseUrl, startMs: startMs + firstDay * DAY_MS });
  await applyDemoSetting(cloud.db, true);
  await using worker = await openWorker(cloud, async ({ url }) => {
    const isOld = String(url).includes('old-billing');
    return {
      httpStatus: isOld ? 503 : 200,
      error: isOld ? 'The receiver answered 503.' : null,
      durationMs: isOld ? 1_240 : 87,
    };
  });
  await using usage = await openUsageSource(cloud);
  const silentNode = await runScenario({
    cloud,
    worker,
    usage,
    random: createRandom(SEED),
    startMs,
    firstDay,
    note: print,
  });
  const report = await runAudit(cloud.db, { ...auditDefaults, kind: 'full' });
  if (report !== null) print(formatAuditReport(report));
  const lines = await dumpHistory(databaseUrl, {
    file,
    endedAt: cloud.clock.nowMs(),
    silentNode,
  });
  print(`wrote ${lines} lines`);
}

async function recreateDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(`drop database if exists ${name} with (force)`);
    await client.query(`create database ${name}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.toString();
}
