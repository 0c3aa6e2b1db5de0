import {
  recordEpochEnd,
  advanceUsageWatermark,
  postUsage,
  type UsageItem,
} from '@millrace/core/credit-leases';
import { readBalance, requireLedgerSuccess } from '@millrace/core/ledger';
import type { Random } from '@millrace/runners';
import { toUuid } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { eventually, insertRequest, TEST_START_MS } from '@millrace/testing';
import { amountFrom } from './commands.ts';
import {
  applyFor,
  ProcessDied,
  deleteSnapshot,
  isPaid,
  payIn,
  waitForPending,
  startGateway,
  streamName,
  type InFlightRequest,
  type Message,
  type LeaseHarness,
  type LeaseTenant,
} from './lease-harness.ts';
import { countOutcome, type LedgerHarness } from './harness.ts';

/** Actions on credit leases. Each waits for the ledger requests that it started. */

type LeaseAction = (harness: LedgerHarness, leases: LeaseHarness, random: Random) => Promise<void>;

const balanceOf = (harness: LedgerHarness, { orgId, mode }: LeaseTenant) =>
  readBalance(harness.db, orgId, mode, harness.clock.now());

/** Epoch and unreserved credit of a lease, read directly from Valkey; null if Valkey has no lease. */
export async function readLease(
  harness: LedgerHarness,
  leases: LeaseHarness,
  { orgId, mode }: LeaseTenant,
): Promise<{ epoch: bigint; remaining: bigint } | null> {
  const { rows } = await harness.client.query<{ namespace: string }>('select namespace from pot_servers');
  const key = `pot:${rows[0]?.namespace}:{${orgId}}:${mode}`;
  const fields = await leases.valkey.client.command([
    ...['HMGET', key, 'epoch', 'granted', 'recalled', 'reserved', 'spent'],
  ]);
  const [epoch, granted, recalled, reserved, spent] = fields as (string | null)[];
  if (epoch == null) return null;
  const whole = (text: string | null | undefined): bigint => BigInt(text ?? '0');
  const remaining = whole(granted) - whole(recalled) - whole(reserved) - whole(spent);
  return { epoch: BigInt(epoch), remaining };
}

/** Mostly a small share of a lease, so that few reservations need the ledger; sometimes more than the lease has. */
function worstCaseFrom(random: Random): NanoUsd {
  const amount = amountFrom(random, 1);
  return nanoUsd((random.chance(0.1) ? amount : amount / 20n) + 1n);
}

/** Rate limits are not simulated. */
const unlimited = { limits: [], tokens: 0 };

export const reserve: LeaseAction = async (harness, leases, random) => {
  const gateway = random.pick(leases.gateways);
  const spender = random.pick(leases.spenders);
  const amount = worstCaseFrom(random);
  const { orgId, mode, budget } = spender;
  const hadFault = leases.fault !== null;
  const got = await gateway.client.reserve({
    orgId,
    mode,
    requestId: harness.ids.next('req'),
    amount,
    budgets: budget === null ? [] : [budget],
    ...unlimited,
  });
  await waitForPending(leases);
  if (!('refused' in got)) {
    if (!isPaid(got)) throw new Error('A request was admitted without a lease.');
    leases.flights.push({ gateway, spender, reservation: got });
    countOutcome(harness, 'requests admitted');
    return;
  }
  countOutcome(harness, `requests turned away: ${got.refused}`);
  if (hadFault) return;
  if (got.refused === 'LEDGER_UNAVAILABLE') {
    if (!leases.ledgerIsUp || (await isMoneyReturning(harness, spender))) return;
    throw new Error(
      'A request was refused with LEDGER_UNAVAILABLE, but the ledger was up and no lease was closing.',
    );
  }
  if (!leases.ledgerIsUp)
    throw new Error(`The ledger was down, but a request was refused with ${got.refused}.`);
  if (got.refused === 'INSUFFICIENT_BALANCE') {
    const { available } = await balanceOf(harness, spender);
    const lease = await readLease(harness, leases, spender);
    // After a rollback, Valkey may show a closed lease whose credit was returned long ago.
    const inLease = lease !== null && (await isOpenIn(harness, spender, lease.epoch)) ? lease.remaining : 0n;
    if (available + inLease >= amount) {
      throw new Error(
        `A request for ${amount} was refused for lack of funds, with ${available} in the ledger and ${inLease} in the lease.`,
      );
    }
  }
};

async function isOpenIn(
  harness: LedgerHarness,
  { orgId, mode }: LeaseTenant,
  epoch: bigint,
): Promise<boolean> {
  const { rowCount } = await harness.client.query(
    `select 1 from pot_leases where org_id = $1 and mode = $2 and epoch = $3 and state = 'open'`,
    [toUuid(orgId), mode, epoch.toString()],
  );
  return rowCount !== 0;
}

async function isMoneyReturning(harness: LedgerHarness, { orgId, mode }: LeaseTenant): Promise<boolean> {
  const { rowCount } = await harness.client.query(
    `select 1 from pot_leases where org_id = $1 and mode = $2 and state = 'closing'`,
    [toUuid(orgId), mode],
  );
  return rowCount !== 0;
}

/** Concurrent requests at all gateways for one lease; they share one ledger request. */
export const reserveConcurrently: LeaseAction = async (harness, leases, random) => {
  const spender = random.pick(leases.spenders);
  const { orgId, mode, budget } = spender;
  await Promise.all(
    Array.from({ length: random.int(4, 12) }, async () => {
      const gateway = random.pick(leases.gateways);
      const got = await gateway.client.reserve({
        orgId,
        mode,
        requestId: harness.ids.next('req'),
        amount: worstCaseFrom(random),
        budgets: budget === null ? [] : [budget],
        ...unlimited,
      });
      if (isPaid(got)) leases.flights.push({ gateway, spender, reservation: got });
      countOutcome(harness, 'refused' in got ? `requests turned away: ${got.refused}` : 'requests admitted');
    }),
  );
  await waitForPending(leases);
};

function usageOf({ reservation, spender }: InFlightRequest, amount: bigint): UsageItem {
  const { requestId, orgId, mode, leaseId, gatewayId, budgets, amount: reserved } = reservation;
  return {
    requestId,
    orgId,
    mode,
    leaseId,
    gatewayId,
    budgets,
    reserved,
    amount,
    priced: amount,
    keyId: spender.keyId,
    product: requestId.endsWith('0') ? 'model-two' : 'model-one',
    usedAtMs: TEST_START_MS,
    quantities: { promptTokens: 1 },
  };
}

function actualOf(random: Random, flight: InFlightRequest): bigint {
  if (random.chance(0.3)) return flight.reservation.amount;
  return (flight.reservation.amount * BigInt(random.int(0, 100))) / 100n;
}

/** Publishes the usage of a finished request, sometimes twice, then settles its reservation. */
export const finish: LeaseAction = async (harness, leases, random) => {
  const [flight] = leases.flights.splice(random.int(0, leases.flights.length - 1), 1);
  if (flight === undefined) return;
  const actual = actualOf(random, flight);
  publish(leases, flight, actual);
  if (random.chance(0.05)) publish(leases, flight, actual);
  await flight.gateway.client.settle(flight.reservation, actual);
  await waitForPending(leases);
  countOutcome(harness, 'requests finished');
};

function publish(leases: LeaseHarness, flight: InFlightRequest, actual: bigint): void {
  leases.stream.push({ usage: usageOf(flight, actual), spender: flight.spender });
}

/** Processes the next messages shuffled, sometimes with an old one among them, then advances the watermark. */
export const sink: LeaseAction = async (harness, leases, random) => {
  const until = Math.min(leases.stream.length, leases.passed + random.int(1, 40));
  const fresh = leases.stream
    .slice(leases.passed, until)
    .map((message, index) => ({ message, seq: leases.passed + index + 1 }));
  const old = leases.passed === 0 || random.chance(0.7) ? [] : [random.int(0, leases.passed - 1)];
  const again = old.map((index) => ({ message: leases.stream[index] as Message, seq: index + 1 }));
  const batch = random.shuffle([...fresh, ...again]);
  const dies = random.chance(0.1);
  try {
    await harness.db.transaction({ name: 'sink', isolation: 'read committed' }, async (tx) => {
      for (const { message, seq } of batch) {
        if ('end' in message) await recordEpochEnd(tx, message.end, { stream: streamName, seq: BigInt(seq) });
      }
      const items = batch.flatMap(({ message }) => ('usage' in message ? [message] : []));
      const posted = await postUsage(
        tx,
        items.map(({ usage }) => usage),
      );
      for (const [index, { outcome, transferId }] of posted.entries()) {
        const item = items[index];
        if (item === undefined || outcome === 'duplicate') continue;
        const { requestId: id, orgId, mode, leaseId, reserved, amount, priced } = item.usage;
        const cost = amount > reserved ? reserved : amount;
        const { keyId } = item.spender;
        const request = { id, orgId, mode, keyId, leaseId, reserved, cost, priced, transferId };
        await insertRequest(tx, { ...request, outcome: outcome });
      }
      await advanceUsageWatermark(tx, streamName, BigInt(until));
      if (dies) throw new SinkCrash('The sink dies before it commits.');
      tx.afterCommit(() => recordSinkResults(harness, leases, items, posted));
    });
    leases.passed = until;
  } catch (error) {
    if (!(error instanceof SinkCrash)) throw error;
    countOutcome(harness, 'sinks that died');
  }
  await requireAllKnown(harness, leases);
};

class SinkCrash extends Error {}

const late: { usage: UsageItem }[] = [];

function recordSinkResults(
  harness: LedgerHarness,
  leases: LeaseHarness,
  items: readonly { readonly usage: UsageItem; readonly spender: LeaseTenant }[],
  posted: readonly { readonly requestId: string; readonly outcome: string }[],
): void {
  items.forEach(({ usage, spender }, index) => {
    const result = posted[index]?.outcome ?? 'none';
    countOutcome(harness, `usage ${result}`);
    const isKnown = leases.known.has(usage.requestId);
    leases.known.add(usage.requestId);
    if (isKnown !== (result === 'duplicate')) wrong.push(`${usage.requestId} got the outcome ${result}`);
    if (result === 'unknown_lease') wrong.push(`the lease of ${usage.requestId} was not known`);
    if (result === 'late') late.push({ usage });
    if (result !== 'charged') return;
    spender.charged += usage.amount;
    harness.oracle.systemAccount('revenue', 'inference', spender.mode).balance += usage.amount;
  });
}

const wrong: string[] = [];

/** Only usage of gateways that were declared dead may arrive too late to be charged. */
async function requireAllKnown(harness: LedgerHarness, leases: LeaseHarness): Promise<void> {
  const violation = wrong.splice(0)[0];
  if (violation !== undefined) throw new Error(violation);
  for (const { usage } of late.splice(0)) {
    const { rows } = await harness.client.query<{ dead: boolean }>(
      `select declared_dead_at is not null as dead from pot_lease_gateways where lease_id = $1 and gateway_id = $2`,
      [toUuid(usage.leaseId), usage.gatewayId],
    );
    if (rows[0]?.dead !== true)
      throw new Error(
        `The usage of a gateway that is not declared dead was not charged: ${usage.requestId}.`,
      );
  }
  void leases;
}

/** Kills a gateway with requests in flight. Some of their usage is stored already, some arrives later, some never. */
export const killGateway: LeaseAction = async (harness, leases, random) => {
  const index = random.int(0, leases.gateways.length - 1);
  const dead = leases.gateways[index];
  leases.gateways[index] = startGateway();
  const lost = leases.flights.filter(({ gateway }) => gateway === dead);
  for (const flight of lost) {
    leases.flights.splice(leases.flights.indexOf(flight), 1);
    if (random.chance(0.4)) publish(leases, flight, actualOf(random, flight));
    else leases.deadRequests.push(flight);
  }
  countOutcome(harness, 'gateways that died');
};

/** Delivers a message of a dead gateway, possibly long after its lease was closed. */
export const deliverLateMessage: LeaseAction = async (_harness, leases, random) => {
  const [deadRequest] = leases.deadRequests.splice(random.int(0, leases.deadRequests.length - 1), 1);
  if (deadRequest !== undefined) publish(leases, deadRequest, actualOf(random, deadRequest));
};

export const maintain: LeaseAction = async (_harness, leases, random) => {
  await random.pick(leases.gateways).client.maintain();
  await waitForPending(leases);
};

export const sweep: LeaseAction = async (_harness, leases, random) => {
  const name = random.pick(['callIn', 'closePassed', 'endDead', 'settleDead'] as const);
  await leases.sweeps[name]().catch((error: unknown) => {
    if (!(error instanceof ProcessDied)) throw error;
  });
};

/** A recall must free exactly the amount that it reports. */
export const recall: LeaseAction = async (harness, leases, random) => {
  const spender = random.pick(leases.spenders);
  const before = await balanceOf(harness, spender);
  const { orgId, mode } = spender;
  const freed = await leases.service
    .recallFor({ orgId, mode, amount: amountFrom(random, 2) })
    .catch((error: unknown) => {
      if (error instanceof ProcessDied) return null;
      throw error;
    });
  const after = await balanceOf(harness, spender);
  if (freed !== null && after.available - before.available !== freed) {
    throw new Error(`A recall reported ${freed} and freed ${after.available - before.available}.`);
  }
};

/** A rental of the same organisation can hold exactly the credit that is not leased. */
export const holdForRental: LeaseAction = async (harness, leases, random) => {
  const spender = random.pick(leases.spenders);
  const { orgId, mode, holds } = spender;
  harness.steps += 1;
  const base = { orgId, mode, cause: { kind: 'rental', id: `r${harness.steps}` }, step: 'hold' } as const;
  const [held] = holds.keys();
  if (held !== undefined && random.chance(0.6)) {
    requireLedgerSuccess(await applyFor(harness, { ...base, do: 'close', holdId: held }));
    holds.delete(held);
    return;
  }
  const amount = amountFrom(random, 3);
  const { available } = await balanceOf(harness, spender);
  const result = await applyFor(harness, { ...base, do: 'hold', amount, demand: 'new' });
  if (result.ok !== available >= amount)
    throw new Error(`A hold of ${amount} with ${available} available returned ok=${result.ok}.`);
  if (result.ok && result.holdId !== null) holds.set(result.holdId, amount);
};

export const fund: LeaseAction = async (harness, leases, random) => {
  const poorest = leases.spenders.toSorted((a, b) => (a.paidIn - a.charged < b.paidIn - b.charged ? -1 : 1));
  await payIn(harness, poorest[0] ?? random.pick(leases.spenders), amountFrom(random, 2) + 1n);
};

async function markTampered(harness: LedgerHarness, leases: LeaseHarness, what: string): Promise<void> {
  const { rows } = await harness.client.query<{ generation: string }>('select generation from pot_servers');
  leases.tamperedIn = BigInt(rows[0]?.generation ?? 0);
  countOutcome(harness, what);
}

export const wipe: LeaseAction = async (harness, leases) => {
  await leases.valkey.client.command(['FLUSHALL']);
  countOutcome(harness, 'Valkeys wiped');
};

export const restartEmpty: LeaseAction = async (harness, leases) => {
  await deleteSnapshot(leases);
  await leases.valkey.restart();
  await markTampered(harness, leases, 'Valkeys restarted empty');
};

export const snapshot: LeaseAction = async (_harness, leases) => {
  // SAVE fails while Valkey still writes a snapshot for a replica.
  await eventually({ what: 'a snapshot', intervalMs: 5 }, async () => {
    await leases.valkey.client.command(['SAVE']);
    return true;
  });
};

export const rollBack: LeaseAction = async (harness, leases) => {
  await leases.valkey.restart();
  await markTampered(harness, leases, 'Valkeys rolled back');
};

const isSynced = async (client: { command(words: readonly string[]): Promise<unknown> }): Promise<boolean> =>
  String(await client.command(['INFO', 'replication'])).includes('master_link_status:up');

/** Replicates once, then disconnects the replica. */
export const copyToReplica: LeaseAction = async (_harness, leases) => {
  const { client } = leases.replica;
  await client.command(['REPLICAOF', '127.0.0.1', String(leases.valkey.port)]);
  await eventually({ what: 'the replica to have a copy', intervalMs: 5 }, () => isSynced(client));
  await client.command(['REPLICAOF', 'NO', 'ONE']);
  leases.replicaHas = true;
};

/** Replaces the master's data by the stale copy. The address and the loaded scripts stay. */
export const promoteStale: LeaseAction = async (harness, leases) => {
  const { client } = leases.valkey;
  await client.command(['REPLICAOF', '127.0.0.1', String(leases.replica.port)]);
  await eventually({ what: 'the stale data to be taken over', intervalMs: 5 }, () => isSynced(client));
  await client.command(['REPLICAOF', 'NO', 'ONE']);
  await markTampered(harness, leases, 'stale replicas promoted');
};

/** Ends all requests and leases. Only holds of rentals may remain. */
export const closeEverything: LeaseAction = async (harness, leases, random) => {
  leases.ledgerIsUp = true;
  leases.fault = null;
  while (leases.flights.length > 0) await finish(harness, leases, random);
  for (const { client } of leases.gateways) await client.close();
  leases.gateways.splice(0, leases.gateways.length, startGateway(), startGateway(), startGateway());
  await harness.clock.advance(24 * 3_600_000);
  for (let round = 0; round < 3; round += 1) {
    await leases.sweeps.callIn();
    await leases.sweeps.endDead();
    while (leases.passed < leases.stream.length) await sink(harness, leases, random);
    await leases.sweeps.settleDead();
    while ((await leases.sweeps.closePassed()) > 0);
  }
  const { rows } = await harness.client.query<{ id: string; state: string }>(
    `select id, state from pot_leases where state <> 'closed'`,
  );
  if (rows.length > 0) throw new Error(`A lease is still ${rows[0]?.state} after everything has ended.`);
  for (const spender of leases.spenders) {
    const { held } = await balanceOf(harness, spender);
    const beside = [...spender.holds.values()].reduce((sum, amount) => sum + amount, 0n);
    if (held !== beside) throw new Error(`${held} is held, but rentals account for only ${beside}.`);
  }
};
