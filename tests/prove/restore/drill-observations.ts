import { runAdmin } from '../../../apps/admin/src/app.ts';
import { fromUuid, type RequestId } from '@millrace/platform/ids';
import type { DrillStack } from './drill-stack.ts';

/** Reads the state of the drill from the database, from Valkey and through the operator's CLI. */

export interface ReportJson {
  readonly leases: readonly object[];
  readonly machines: readonly { readonly externalId: string }[];
  readonly payments: readonly { readonly sessionRef: string }[];
  readonly invoices: { readonly last: number; readonly known: readonly { readonly number: string }[] } | null;
  readonly events: readonly { readonly orgId: string; readonly lastSeq: number; readonly count: number }[];
  readonly eventTypes: Readonly<Record<string, number>>;
  readonly usage: {
    readonly requests: number;
    readonly nanoUsd: string;
    readonly first: readonly { readonly requestId: string; readonly nanoUsd: string }[];
  };
  readonly problems: readonly string[];
}

export async function restoreState(
  stack: DrillStack,
): Promise<{ readonly state: string; readonly report: ReportJson | null }> {
  const [row] = await stack.rows<{ state: string; report: ReportJson | null }>(
    'select state, report from restore_state',
  );
  if (row === undefined) throw new Error('The restore state has no row.');
  return row;
}

export async function markCount(stack: DrillStack): Promise<number> {
  const [row] = await stack.rows<{ mark: number }>('select mark::int as mark from restore_state');
  if (row === undefined) throw new Error('The restore state has no row.');
  return row.mark;
}

interface ValkeyLease {
  readonly key: string;
  readonly epoch: string;
  readonly isClosed: boolean;
  readonly leased: bigint;
  /** The amount that can still be reserved. */
  readonly left: bigint;
}

async function readValkeyLeases(stack: DrillStack): Promise<readonly ValkeyLease[]> {
  const keys = (await stack.valkey.client.command(['KEYS', 'pot:*'])) as readonly string[];
  const found: ValkeyLease[] = [];
  for (const key of keys.filter((each) => /\}:(?:live|test)$/.test(each))) {
    const fields = (await stack.valkey.client.command([
      ...['HMGET', key, 'epoch', 'granted', 'recalled', 'reserved', 'spent', 'closed'],
    ])) as readonly (string | null)[];
    const [epoch, granted, recalled, reserved, spent] = fields;
    const leased = BigInt(granted ?? 0) - BigInt(recalled ?? 0);
    const left = leased - BigInt(reserved ?? 0) - BigInt(spent ?? 0);
    found.push({ key, epoch: epoch ?? '', isClosed: fields[5] === '1', leased, left });
  }
  return found;
}

export async function spendableCredit(stack: DrillStack): Promise<bigint> {
  return (await readValkeyLeases(stack)).reduce(
    (sum, { isClosed, left }) => sum + (isClosed ? 0n : left),
    0n,
  );
}

interface Lease {
  readonly epoch: string;
  readonly granted: string;
  readonly held: string;
  readonly settled: string;
}

const openLeases = (stack: DrillStack): Promise<readonly Lease[]> =>
  stack.rows<Lease>(`
    select lease.epoch::text as epoch, (granted_nano_usd - recalled_nano_usd)::text as granted,
           hold.held_nano_usd::text as held, settled_nano_usd::text as settled
      from pot_leases lease join ledger_holds hold on hold.id = lease.hold_id where lease.state = 'open'`);

/** Leases of which more was or can be spent than their hold in the ledger covers. */
export async function leasesExceedingHolds(stack: DrillStack): Promise<readonly string[]> {
  // Leases may change between the reads, so a lease in Valkey may match the rows before or after it was read.
  const before = await openLeases(stack);
  const found = await readValkeyLeases(stack);
  const leases = [...before, ...(await openLeases(stack))];
  const wrong = leases
    .filter(({ granted, held, settled }) => BigInt(held) + BigInt(settled) < BigInt(granted))
    .map(({ epoch }) => `the lease of epoch ${epoch} holds less than it has granted`);
  for (const lease of found.filter(({ isClosed }) => !isClosed)) {
    const most = leases
      .filter(({ epoch }) => epoch === lease.epoch)
      .reduce((sum, { granted }) => (BigInt(granted) > sum ? BigInt(granted) : sum), 0n);
    if (lease.leased > most) wrong.push(`${lease.key} has ${lease.leased}, the ledger has granted ${most}`);
  }
  return [...new Set(wrong)];
}

export async function lastSeqs(stack: DrillStack): Promise<ReadonlyMap<string, number>> {
  const rows = await stack.rows<{ org_id: string; last_seq: string }>(
    'select org_id, last_seq::text as last_seq from event_heads',
  );
  return new Map(rows.map(({ org_id, last_seq }) => [org_id, Number(last_seq)]));
}

export interface ChargedRequest {
  readonly id: string;
  readonly nanoUsd: string;
}

/** The charges of these requests. */
export async function chargesOf(
  stack: DrillStack,
  requestIds: readonly string[],
): Promise<readonly ChargedRequest[]> {
  const rows = await stack.rows<{ id: string; amount: string; outcome: string }>(
    'select request_id::text as id, amount_nano_usd::text as amount, outcome from usage_charges',
  );
  const charges = new Map(
    rows
      .filter(({ outcome }) => outcome === 'charged')
      .map(({ id, amount }) => [fromUuid('req', id), amount]),
  );
  return requestIds.flatMap((id) => {
    const nanoUsd = charges.get(id as RequestId);
    return nanoUsd === undefined ? [] : [{ id, nanoUsd }];
  });
}

/** The positions of the messages that the streams have. */
export async function streamRanges(stack: DrillStack): Promise<readonly string[]> {
  return Promise.all(
    Object.values(stack.streams).map(async (stream) => {
      const state = await stack.nats.streamState(stream);
      return `${stream} begins at ${state?.firstSequence}`;
    }),
  );
}

/** Number of events that are not in the stream yet. Events in the outbox are deleted there when the feed has them. */
export async function unpublished(stack: DrillStack): Promise<number> {
  const [row] = await stack.rows<{ count: number }>(`
    select (select count(*) from outbox where kind = 'event' and parked_at is null)::int
         + (select count(*) from events where published_at is null)::int as count`);
  if (row === undefined) throw new Error('The count of events has no row.');
  return row.count;
}

export async function admin(
  stack: DrillStack,
  words: readonly string[],
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  let [out, err] = ['', ''];
  const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await runAdmin(words, io, { ...stack.env }), out, err };
}
