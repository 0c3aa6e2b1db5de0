import { findingsOf, runAudit } from '@millrace/core/auditor';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { fleetInvariantViolations, type TestDatabase } from '@millrace/testing';
import { createRowReader } from '../../stack/supervised-process.ts';
import type { InferenceStack } from '../../stack/inference-stack.ts';
import type { RequestResult } from '../gateway-kill/load.ts';
import { GRANT_NANO_USD, KEY_PREFIX, type Acknowledgement, type WriterLoad } from './writers.ts';

/** Compares the responses that clients got with the rows, the ledger and the machines of the engine. */

export interface CheckedLoad {
  readonly writers: WriterLoad;
  readonly chats: readonly RequestResult[];
  readonly grantedOrganisation: OrgId;
  /** The database of the simulated engine. */
  readonly engine: TestDatabase;
}

export async function checkAfterFailovers(stack: InferenceStack, load: CheckedLoad): Promise<string[]> {
  return [...(await checkEffects(stack, load)), ...(await checkChats(stack, load.chats))];
}

/** All checks but those of chats. */
export async function checkEffects(stack: InferenceStack, load: CheckedLoad): Promise<string[]> {
  return [
    ...load.writers.failures,
    ...(await checkWrites(stack, load)),
    ...(await checkMachines(stack, load.engine)),
    ...(await checkLedger(stack)),
  ];
}

interface IdRow {
  readonly id: string;
}

/** Each acknowledged resource exists, and each request had exactly one effect. */
async function checkWrites(
  stack: InferenceStack,
  { writers, grantedOrganisation }: CheckedLoad,
): Promise<string[]> {
  const failures: string[] = [];
  const acknowledged = (kind: Acknowledgement['kind']): string[] =>
    writers.acknowledged.filter((each) => each.kind === kind).map(({ id }) => id);
  const compare = (what: string, ids: readonly string[], rows: readonly IdRow[]): void => {
    const stored = new Set(rows.map(({ id }) => id));
    const lost = ids.filter((id) => !stored.has(id));
    if (lost.length > 0) failures.push(`${lost.length} acknowledged ${what} are lost, such as ${lost[0]}`);
    if (new Set(ids).size !== ids.length) failures.push(`several requests got one of the ${what}`);
    if (rows.length > ids.length) {
      failures.push(`${ids.length} ${what} were acknowledged, and ${rows.length} exist`);
    }
  };
  const keys = await stack.rows<IdRow>(`select id from api_keys where name like '${KEY_PREFIX}%'`);
  const uuids = (kind: Acknowledgement['kind']): string[] =>
    acknowledged(kind).map((id) => toUuid(id as Parameters<typeof toUuid>[0]));
  compare('API keys', uuids('key'), keys);
  const revoked = await stack.rows<IdRow>(
    `select id from api_keys where name like '${KEY_PREFIX}%' and revoked_at is not null`,
  );
  compare('revocations', uuids('revocation'), revoked);
  const rentals = await stack.rows<IdRow>('select wire_id::text as id from rentals');
  compare('rentals', acknowledged('rental'), rentals);
  const ended = await stack.rows<IdRow>(
    "select wire_id::text as id from rentals where status = 'Terminated'",
  );
  compare('terminations', acknowledged('termination'), ended);
  const [account] = await stack.rows<{ balance: string }>(
    `select balance_nano_usd::text as balance from ledger_accounts
      where org_id = '${toUuid(grantedOrganisation)}' and mode = 'live' and kind = 'credit'`,
  );
  const expected = BigInt(acknowledged('grant').length) * GRANT_NANO_USD;
  if (BigInt(account?.balance ?? 0) !== expected) {
    failures.push(`grants of ${expected} nano-USD were acknowledged, and the balance is ${account?.balance}`);
  }
  return failures;
}

/** A chat either ended and is charged exactly, or was refused with 503 and Retry-After and is free. */
async function checkChats(stack: InferenceStack, chats: readonly RequestResult[]): Promise<string[]> {
  const rows = await stack.rows<{ id: string; cost: string; outcome: string }>(
    'select id, cost_nano_usd::text as cost, outcome from inference_requests',
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return chats.flatMap(({ id, outcome, status, isToComeAgain, costNanoUsd, why }) => {
    const row = id === null ? undefined : byId.get(toUuid(id as Parameters<typeof toUuid>[0]));
    if (outcome === 'left') return [];
    if (outcome === 'refused' && status === 503 && isToComeAgain) {
      return row === undefined || row.cost === '0' ? [] : [`${id} was refused and is charged ${row.cost}`];
    }
    if (outcome !== 'whole') return [`chat ${id} is ${outcome}: ${status} ${why}`];
    const isExact = row?.outcome === 'charged' && row.cost === String(costNanoUsd);
    return isExact ? [] : [`chat ${id} got the cost ${costNanoUsd}; recorded: ${row?.cost} ${row?.outcome}`];
  });
}

/** No machine of the engine is without its rental, and no rental without its machine. */
async function checkMachines(stack: InferenceStack, engine: TestDatabase): Promise<string[]> {
  const machines = await createRowReader(engine)<IdRow>(
    'select external_id as id from mock_machines where machine is not null',
  );
  const known = await stack.rows<IdRow>(
    "select external_id as id from rental_machines where state <> 'gone'",
  );
  const [engines, rows] = [new Set(machines.map(({ id }) => id)), new Set(known.map(({ id }) => id))];
  return [
    ...[...engines].filter((id) => !rows.has(id)).map((id) => `machine ${id} is an orphan`),
    ...[...rows].filter((id) => !engines.has(id)).map((id) => `machine ${id} exists in no engine`),
  ];
}

async function checkLedger(stack: InferenceStack): Promise<string[]> {
  const client = await stack.database.connect();
  const violations = await fleetInvariantViolations(client);
  await client.end();
  const report = await runAudit(stack.database.db, { kind: 'full', whenBusy: 'unrecorded' });
  const findings =
    report === null
      ? ['the audit did not run']
      : findingsOf(report, 'error').map((found) => JSON.stringify(found));
  return [...violations, ...findings];
}
